"""Mirrors: one request for a file at one address, over HTTP or FTP, from any byte on. No file is written here."""

import ftplib
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from http.client import HTTPException, responses
from itertools import chain
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

import requests
from urllib3.exceptions import HTTPError, InvalidHeader
from urllib3.util import Retry

from hashbench.foundation import __version__
from hashbench.foundation.config import Strict
from hashbench.foundation.errors import one_line
from hashbench.foundation.parallel import in_daemon_thread

CONNECT_S = 20.0  # until the server answers
STALL_S = 60.0  # without a byte
ANSWER_S = 90.0  # until the headers are there, redirects included
SLOWEST_BYTES_S = 1000.0  # a mirror that sends less than this
CRAWL_S = 30.0  # for so long is given up
PIECE = 1 << 16
MAX_REDIRECTS = 10
ANSWER_LINES = 1000  # of an FTP server, in all
HEAD_BYTES = 512  # of a file, in which a web page is recognised
# (?>...) matches each comment once; otherwise a page with many comments would take for ever to match
PAGE = re.compile(rb"(\xef\xbb\xbf)?\s*(?>(<!--.*?-->|<\?xml.*?\?>)\s*)*+<(!doctype html|html)", re.I | re.S)
WEB_PAGE = "a web page came in place of the file"
COMPRESSED = {".gz", ".tgz", ".bz2", ".xz", ".zip", ".Z"}
HUNG_UP = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, HTTPException, EOFError)


class MirrorError(Exception):
    """This mirror does not give the file; another one may."""


class TemporaryError(MirrorError):
    """The connection was cut or stalled, or the server is busy. ``wait_s`` is how long the server asks us to wait."""

    wait_s: float | None = None


class StaleError(TemporaryError):
    """The bytes downloaded before are not of the server's file: download again at once, from the first byte."""

    wait_s = 0.0


class Origin(Strict):
    """The address of a file, and its version (ETag and date) and length in bytes as the server states them."""

    url: str
    etag: str | None = None
    modified: str | None = None
    total: int | None = None

    def is_same_file(self, now: "Origin", *, checked: bool) -> bool:
        """True where a download that began here can continue with ``now``; ``checked``: it has a checksum."""
        if self.total is None or self.total != now.total:
            return False
        if self.url != now.url:
            return checked
        is_marked = bool(self.etag or self.modified)
        return (self.etag, self.modified) == (now.etag, now.modified) and (checked or is_marked)


class Reply(NamedTuple):
    """The reply of a mirror: the origin of the file, the first byte that is sent, and an iterator over the bytes."""

    origin: Origin
    start: int
    pieces: Iterator[bytes]


@contextmanager
def ask(url: str, start: int = 0, *, checked: bool = True) -> Iterator[Reply]:
    """The reply with the file at ``url`` from byte ``start`` on, or from its first byte if the server cannot do that.

    Without a checksum (``checked``), no redirect from https to http is followed. It raises nothing but MirrorErrors.
    """
    with ExitStack() as stack:
        with _network_errors():
            scheme = urlsplit(url).scheme
            if scheme not in {"http", "https", "ftp"}:
                raise MirrorError("only http, https and ftp are supported")
            if scheme == "ftp":
                answer = in_daemon_thread(partial(_ask_ftp, url, start, stack))
            else:
                answer = in_daemon_thread(partial(_ask_http, url, start, checked, stack))
            if not wait([answer], ANSWER_S).done:  # a server may send its headers byte by byte
                raise MirrorError(f"no answer within {ANSWER_S:g} s")
            reply = answer.result()
        head = b""  # a web page or a stall is noticed here, before anything is written
        while len(head) < HEAD_BYTES and (piece := next(reply.pieces, b"")):
            head += piece
        if not reply.start and PAGE.match(head[:HEAD_BYTES]) and not _is_page(url):
            raise MirrorError(WEB_PAGE)
        yield reply._replace(pieces=chain([head], reply.pieces))


def _pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """The bytes, each piece as soon as ``read`` has any; raises MirrorError if they come too slowly for ``CRAWL_S``."""
    waited_s = 0.0
    size_bytes = 0
    began = time.monotonic()
    with _network_errors(begun=True):
        while piece := read(PIECE):
            waited_s += time.monotonic() - began
            size_bytes += len(piece)
            if waited_s >= CRAWL_S:
                if size_bytes < SLOWEST_BYTES_S * waited_s:
                    raise MirrorError(f"it came at less than {SLOWEST_BYTES_S:,g} bytes a second for {CRAWL_S:g} s")
                waited_s = 0.0
                size_bytes = 0
            yield piece
            began = time.monotonic()


def _is_page(url: str) -> bool:
    return urlsplit(url).path.endswith((".html", ".htm"))


def _ask_http(url: str, start: int, checked: bool, stack: ExitStack) -> Reply:
    session = stack.enter_context(requests.Session())
    # requests itself would read the whole body of each redirect, and follow one from https to http
    session.get_redirect_target = lambda resp: None  # type: ignore[method-assign]  # noqa: ARG005
    session.headers.update({"User-Agent": f"hashbench/{__version__}", "Accept-Encoding": "identity"})
    if start:
        session.headers["Range"] = f"bytes={start}-"
    at = url
    timeout = (CONNECT_S, STALL_S)
    for _ in range(MAX_REDIRECTS):
        response = stack.enter_context(session.get(at, stream=True, timeout=timeout, allow_redirects=False))
        if not response.is_redirect:
            break
        at = redirected(at, response.headers["Location"], checked=checked)
    else:
        raise MirrorError(f"more than {MAX_REDIRECTS} redirects")
    _require_file(response, url)
    begins, total = _extent(response, start)
    etag, modified = (response.headers.get(name) for name in ("ETag", "Last-Modified"))
    origin = Origin(url=url, etag=etag, modified=modified, total=total)
    return Reply(origin, begins, _pieces(partial(response.raw.read1, decode_content=False)))


def redirected(url: str, target: str, *, checked: bool) -> str:
    """The absolute address of a redirect from ``url``; raises MirrorError if it must not be followed."""
    try:
        new = urljoin(url, target)
        schemes = urlsplit(url).scheme, urlsplit(new).scheme
    except ValueError as error:
        raise MirrorError(f"redirects to no address ({_printable(error)})") from None
    if schemes[1] not in {"http", "https"}:
        raise MirrorError("redirects to something that is neither http nor https")
    if schemes == ("https", "http") and not checked:
        raise MirrorError("redirects from https to http, and no checksum would tell a forged file")
    return new


def _require_file(response: requests.Response, url: str) -> None:
    """Raises MirrorError for an error, for a web page, and for a body compressed in transfer, whose bytes differ."""
    status = response.status_code
    headers = response.headers
    if status == 416:
        raise StaleError("its file is no longer than the part already downloaded")
    if status not in {200, 206}:
        text = f"{status} {responses.get(status, '')}".rstrip()
        if status not in {408, 425, 429} and status < 500:
            raise MirrorError(text)
        error = TemporaryError(text)
        with suppress(InvalidHeader):
            error.wait_s = Retry().get_retry_after(response.raw)  # seconds, or a date
        raise error
    if headers.get("Content-Type", "").lower().startswith("text/html") and not _is_page(url):
        raise MirrorError(WEB_PAGE)
    encoded = headers.get("Content-Encoding", "identity").lower() != "identity"
    if encoded and PurePosixPath(urlsplit(url).path).suffix not in COMPRESSED:
        raise MirrorError("the server compressed it on the way, although the request forbids that")


def _extent(response: requests.Response, start: int) -> tuple[int, int | None]:
    """The position of the first byte sent, and the length of the whole file; None if the server does not state it."""
    if response.status_code == 200:
        return 0, response.raw.length_remaining
    stated = response.headers.get("Content-Range", "")
    content_range = re.fullmatch(r"bytes ([0-9]{1,18})-[0-9]+/([0-9]{1,18}|\*)", stated)
    if content_range is None or int(content_range[1]) != start:
        raise StaleError("sends another range than the request names")
    total = None if content_range[2] == "*" else int(content_range[2])
    return start, total


class _Ftp(ftplib.FTP):
    """A connection to an FTP server, which may answer with ``ANSWER_LINES`` lines; ftplib would keep any number."""

    n_lines = 0

    def getline(self) -> str:
        self.n_lines += 1
        if self.n_lines > ANSWER_LINES:
            raise MirrorError(f"answers with more than {ANSWER_LINES:,} lines")
        return super().getline()


def _ask_ftp(url: str, start: int, stack: ExitStack) -> Reply:
    address = urlsplit(url)
    path = unquote(address.path)
    total = None
    modified = None
    server = stack.enter_context(closing(_Ftp(timeout=STALL_S)))  # the files are public
    server.connect(address.hostname or "", address.port or ftplib.FTP_PORT)
    server.login()
    server.voidcmd("TYPE I")
    with suppress(ftplib.error_perm):  # old servers know neither command
        total = server.size(path)
        modified = server.sendcmd(f"MDTM {path}")
    try:
        connection = stack.enter_context(server.transfercmd(f"RETR {path}", start or None))
    except ftplib.error_perm:
        if not start:
            raise
        raise StaleError("cannot continue from a byte") from None
    return Reply(Origin(url=url, modified=modified, total=total), start, _pieces(connection.recv))


@contextmanager
def _network_errors(*, begun: bool = False) -> Iterator[None]:
    """Turns any network error into one of this module; ``begun``: the server had already started to send the file."""
    try:
        yield
    except requests.ConnectTimeout:
        raise MirrorError(f"no connection within {CONNECT_S:g} s") from None
    except (HTTPError, HTTPException, ftplib.Error, OSError, EOFError, ValueError) as error:
        cause: BaseException = error  # the error of the system, which up to three libraries have wrapped
        while (inner := cause.__cause__ or cause.__context__) is not None:
            cause = inner
        if isinstance(cause, TimeoutError):
            raise TemporaryError(f"no byte for {STALL_S:g} s") from None
        if begun or isinstance(cause, HUNG_UP):
            raise TemporaryError("the connection was cut") from None
        if isinstance(cause, ValueError):
            raise MirrorError(f"no address ({_printable(cause)})") from None
        if isinstance(cause, ftplib.Error) and not isinstance(cause, ftplib.error_perm):
            raise TemporaryError(_printable(cause)) from None
        raise MirrorError(_printable(cause)) from None


def _printable(error: BaseException) -> str:
    """The message without control characters, since it may come from a server."""
    return "".join(letter for letter in one_line(error) if letter.isprintable())
