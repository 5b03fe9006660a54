"""Mirrors: one address asked for a file, from any byte on, over HTTP or FTP.

Nothing is written here. What goes wrong is one of three errors: the next mirror may do better (:class:`MirrorError`),
the same one may in a moment (:class:`PassingError`), or what has come already is not of this file
(:class:`StaleError`).

Requests speaks HTTP and the standard library FTP (two data sets are served by FTP alone). Pooch stands on the same two,
but a downloader of pooch can neither go on from a byte nor look at the head of a reply before its body.
"""

import ftplib
import re
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from hashbench import __version__
from hashbench.datasets.sources.resume import Origin
from hashbench.errors import one_line

if TYPE_CHECKING:
    import requests

CONNECT_S = 20.0  # until an address answers at all
STALL_S = 60.0  # without a byte
PIECE = 1 << 16
MAX_REDIRECTS = 10
HEAD_BYTES = 512  # of a file, looked at for the beginning of a web page
PAGE = re.compile(rb"\s*(<!--.*?-->\s*|<\?xml.*?\?>\s*)*<(!doctype html|html)", re.IGNORECASE | re.DOTALL)
WEB_PAGE = "a web page came in place of the file"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
COMPRESSED = {".gz", ".tgz", ".bz2", ".xz", ".zip", ".Z"}
HUNG_UP = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, HTTPException)
REASONS = {403: "Forbidden", 404: "Not Found", 410: "Gone", 429: "Too Many Requests", 503: "Service Unavailable"}


class MirrorError(Exception):
    """Why this mirror does not give the file; the next one may."""


class PassingError(MirrorError):
    """What may pass: a cut, a stall, a busy server. ``wait_s`` is how long the server asks us to wait."""

    def __init__(self, reason: str, wait_s: float | None = None):
        super().__init__(reason)
        self.wait_s = wait_s


class StaleError(PassingError):
    """The part at hand is not of the file that the server has: to be asked again at once, from the first byte."""

    def __init__(self, reason: str):
        super().__init__(reason, wait_s=0.0)


@dataclass(frozen=True)
class Reply:
    """What a mirror sends: of which file, from which byte on, and the bytes as they come.

    Iterating over ``pieces`` raises MirrorError and its kinds only.
    """

    origin: Origin
    start: int
    pieces: Iterator[bytes]


def ask(url: str, start: int = 0, *, checked: bool = True) -> AbstractContextManager[Reply]:
    """A reply that gives the file at ``url`` from byte ``start`` on, or from its first byte if the server cannot.

    Args:
        url: An address of HTTP, HTTPS or FTP. Proxies are those of the usual environment variables (HTTP only).
        start: Bytes that are at hand already.
        checked: Whether a checksum will tell a wrong file: without one, https does not lead to http.

    Raises:
        MirrorError: the server has no such file, or sends a web page in its place.
    """
    scheme = _scheme(url)
    if scheme == "ftp":
        return _ask_ftp(url, start)
    if scheme in {"http", "https"}:
        return _ask_http(url, start, checked)
    raise MirrorError("only http, https and ftp are spoken")


def _scheme(url: str) -> str:
    try:
        return urlsplit(url).scheme
    except ValueError as error:
        raise MirrorError(f"no address ({_printable(error)})") from None


@contextmanager
def _ask_http(url: str, start: int, checked: bool) -> Iterator[Reply]:
    import requests

    with requests.Session() as session:
        session.get_redirect_target = lambda resp: None  # type: ignore[method-assign]  # noqa: ARG005
        session.headers.update({"User-Agent": f"hashbench/{__version__}", "Accept-Encoding": "identity"})
        if start:
            session.headers["Range"] = f"bytes={start}-"
        with _follow(session, url, checked) as response:
            _require_served(response)
            _require_plain(response, url)
            begins, total = _extent(response, start)
            etag, modified = (response.headers.get(name) for name in ("ETag", "Last-Modified"))
            body = _body(response) if begins else _no_page(_body(response), url)
            yield Reply(Origin(url=url, etag=etag, modified=modified, total=total), begins, body)


def _follow(session: "requests.Session", url: str, checked: bool) -> "requests.Response":
    """Redirects are followed here: requests would ask http for what https has, and read whatever body comes with it.

    It reads that body even where it is told not to follow, unless the session sees no redirect.
    """
    for _ in range(MAX_REDIRECTS):
        response = _get(session, url)
        if not response.is_redirect:  # a status that redirects, and a Location
            return response
        response.close()
        url = redirected(url, response.headers["Location"], checked=checked)
    raise MirrorError(f"more than {MAX_REDIRECTS} redirects")


def redirected(url: str, target: str, *, checked: bool) -> str:
    """The address that ``url`` leads to; raises MirrorError for one that is not to be followed.

    >>> redirected("https://a/x", "y", checked=False)
    'https://a/y'
    """
    try:
        new = urljoin(url, target)
    except ValueError as error:
        raise MirrorError(f"redirects to no address ({_printable(error)})") from None
    if _scheme(new) not in {"http", "https"}:
        raise MirrorError("redirects to something that is neither http nor https")
    if (_scheme(url), _scheme(new)) == ("https", "http") and not checked:
        raise MirrorError("redirects from https to http, and no checksum would tell a forged file")
    return new


def _get(session: "requests.Session", url: str) -> "requests.Response":
    import requests
    from urllib3.exceptions import HTTPError

    try:
        return session.get(url, stream=True, timeout=(CONNECT_S, STALL_S), allow_redirects=False)
    except requests.ConnectTimeout:
        raise MirrorError(f"no connection within {CONNECT_S:g} s") from None
    except requests.ReadTimeout:
        raise PassingError(_stalled()) from None
    except (requests.RequestException, HTTPError, OSError, ValueError) as error:  # ValueError: an address that is none
        cause = _innermost(error)
        kind = PassingError if isinstance(cause, HUNG_UP) else MirrorError
        raise kind(_printable(cause)) from None


def _stalled() -> str:
    return f"no byte for {STALL_S:g} s"


def _innermost(error: BaseException) -> BaseException:
    """What the system said, without the three libraries that wrapped it."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return error


def _require_served(response: "requests.Response") -> None:
    status = response.status_code
    said = f"{status} {REASONS[status]}" if status in REASONS else f"status {status}"
    if status == 416:
        raise StaleError("its file is no longer than the part at hand")
    if status in {408, 425, 429} or status >= 500:
        raise PassingError(said, _retry_after(response))
    if status not in {200, 206}:
        raise MirrorError(said)


def _retry_after(response: "requests.Response") -> float | None:
    from urllib3.exceptions import InvalidHeader
    from urllib3.util import Retry

    try:
        return Retry().get_retry_after(response.raw)  # seconds, or a date
    except InvalidHeader:
        return None


def _require_plain(response: "requests.Response", url: str) -> None:
    """Neither a web page nor compressed on the way: the checksums are of the file as it lies on the server."""
    if response.headers.get("Content-Type", "").lower().startswith("text/html") and not _is_page(url):
        raise MirrorError(WEB_PAGE)
    encoding = response.headers.get("Content-Encoding", "identity").lower()
    if encoding != "identity" and PurePosixPath(urlsplit(url).path).suffix not in COMPRESSED:
        raise MirrorError("it was compressed on the way, which was not asked for")


def _is_page(url: str) -> bool:
    return urlsplit(url).path.endswith((".html", ".htm"))


def _extent(response: "requests.Response", start: int) -> tuple[int, int | None]:
    """The first byte that comes, and the length of the whole file, if the server states it."""
    if response.status_code == 200:
        length = re.fullmatch("[0-9]{1,18}", response.headers.get("Content-Length", ""))
        return 0, int(length[0]) if length and "Transfer-Encoding" not in response.headers else None
    found = re.fullmatch(r"bytes ([0-9]{1,18})-[0-9]+/([0-9]{1,18}|\*)", response.headers.get("Content-Range", ""))
    if found is None or int(found[1]) != start:
        raise StaleError("sends another range than was asked for")
    return start, None if found[2] == "*" else int(found[2])


def _body(response: "requests.Response") -> Iterator[bytes]:
    from urllib3.exceptions import HTTPError, ReadTimeoutError

    try:
        yield from response.raw.stream(PIECE, decode_content=False)
    except ReadTimeoutError:
        raise PassingError(_stalled()) from None
    except (HTTPError, OSError):
        raise PassingError("the connection was cut") from None


def _no_page(pieces: Iterator[bytes], url: str) -> Iterator[bytes]:
    """The pieces, unless a web page begins with them; the first is long enough to tell."""
    head = b""
    while len(head) < HEAD_BYTES and (piece := next(pieces, b"")):
        head += piece
    if PAGE.match(head.removeprefix(BYTE_ORDER_MARK)) and not _is_page(url):
        raise MirrorError(WEB_PAGE)
    yield head
    yield from pieces


@contextmanager
def _ask_ftp(url: str, start: int) -> Iterator[Reply]:
    address = urlsplit(url)
    with closing(ftplib.FTP(timeout=STALL_S)) as server:  # noqa: S321  (what is public needs no secrecy)
        with _ftp_errors():
            server.connect(address.hostname or "", address.port or ftplib.FTP_PORT)
            server.login()
            origin, begins, connection = _retrieve(server, url, start)
        with connection:
            yield Reply(origin, begins, _received(connection))


def _retrieve(server: ftplib.FTP, url: str, start: int) -> tuple[Origin, int, socket.socket]:
    path = unquote(urlsplit(url).path)
    server.voidcmd("TYPE I")
    total = modified = None
    with suppress(ftplib.error_perm):  # neither is in the first standard
        total = server.size(path)
        modified = server.sendcmd(f"MDTM {path}")
    try:
        connection = server.transfercmd(f"RETR {path}", start or None)
    except ftplib.error_perm:
        if not start:
            raise
        raise StaleError("cannot go on from a byte") from None
    return Origin(url=url, modified=modified, total=total), start, connection


def _received(connection: socket.socket) -> Iterator[bytes]:
    with _ftp_errors():
        yield from iter(lambda: connection.recv(PIECE), b"")


@contextmanager
def _ftp_errors() -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise PassingError(_stalled()) from None
    except (ftplib.error_perm, socket.gaierror, ConnectionRefusedError, ValueError) as error:
        raise MirrorError(_printable(error)) from None
    except (ftplib.Error, OSError, EOFError) as error:
        raise PassingError(_printable(error)) from None


def _printable(error: BaseException) -> str:
    """What was said, without what would move a terminal's cursor: a server may say anything."""
    return "".join(letter for letter in one_line(error) if letter.isprintable())
