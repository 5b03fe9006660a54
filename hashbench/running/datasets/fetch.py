"""Downloads of the files of sources from their mirrors into a folder: resumed after a cut, verified, written whole."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import urlopen

import requests
from urllib3.exceptions import HTTPError

from hashbench.foundation import __version__
from hashbench.foundation.errors import HashbenchError, one_line, printable
from hashbench.foundation.files import require_writable
from hashbench.foundation.progress import bar, note
from hashbench.running.datasets.card import Source
from hashbench.running.datasets.members import verify_file
from hashbench.running.datasets.status import readable

CONNECT_S = 20.0  # until the server answers
STALL_S = 60.0  # without a byte
TRIES = 3  # of one mirror, in a row with less than a piece
BACKOFF_S = 1.0  # before the second try; doubled with each
PIECE = 1 << 16
SPARE_BYTES = 16 << 20
BUSY = (408, 425, 429)


class MirrorError(Exception):
    """This mirror does not give the file; another one may."""


class CutError(MirrorError):
    """The connection was cut or stalled, or the server is busy: the same mirror is asked again, for the rest."""


class Reply(NamedTuple):
    """What a mirror sends: the bytes from ``start`` on, and the length of the whole file, if it is stated."""

    start: int
    total: int | None
    pieces: Iterator[bytes]


def fetch(sources: Sequence[Source], folder: Path) -> list[Path]:
    """The paths of the sources' files in ``folder``, after they were downloaded and verified.

    A right file is not downloaded again. A cut download of a file with a checksum continues from its last byte, now or
    in the next call. Raises HashbenchError if a file could not be downloaded; the others are downloaded all the same,
    old files kept. The caller holds a lock of the folder.
    """
    missing = [source for source in sources if not (folder / source.file).is_file()]
    for source in missing:
        if not source.urls:
            raise HashbenchError(f"{source.file}: no address serves it; to get it, {_by_hand(source)}")
    left = sum(max(0, (source.size_bytes or 0) - _size(_part(folder / source.file))) for source in missing)
    require_writable(folder, left + SPARE_BYTES, instead="--data")
    errors = [_error_of(source, folder / source.file) for source in sources]
    if any(errors):
        raise HashbenchError("; ".join(filter(None, errors)))
    return [folder / source.file for source in sources]


def _by_hand(source: Source) -> str:
    steps = "; ".join(step.rstrip(".") for step in source.manual) or "fetch it by other means"
    if "--from-dir" in steps:
        return steps
    return f"{steps} and name its folder with --from-dir"


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return 0


def _error_of(source: Source, path: Path) -> str | None:
    """Downloads the file unless the right one is in place; the error that says why it could not be, else None."""
    try:
        verify_file(path, source)
    except HashbenchError as error:
        if not source.urls:
            return f"{error}; to get it, {_by_hand(source)}"
    else:
        return None
    reasons = []
    for url in source.urls:
        try:
            _download(source, url, path)
        except MirrorError as error:
            reasons.append(f"{url}: not downloaded ({error})")
        except OSError as error:  # if the disk fails, another mirror does not help
            cause = error.strerror or one_line(error)
            come = _size(_part(path))
            return f"{path}: {cause} after {come:,} bytes: make room or name another folder with --data"
        else:
            note(f"{path.name}: {readable(_size(path))} from {urlsplit(url).hostname}")
            return None
    return f"{'; '.join(reasons)}: {_by_hand(source)}"


def _download(source: Source, url: str, path: Path) -> None:
    """Downloads the file at ``url``; raises MirrorError after ``TRIES`` fruitless attempts in a row."""
    part = _part(path)
    fruitless = 0
    furthest = _size(part)  # a mirror that cuts a wrong file again and again gives nothing new
    while True:
        start = _size(part)
        try:
            _receive(source, url, part)
            _verify(source, part, is_resumed=start > 0)
        except CutError as error:
            fruitless += 1
            if _size(part) >= furthest + PIECE:
                furthest = _size(part)
                fruitless = 0
            if fruitless == TRIES:
                raise MirrorError(f"{error}, {TRIES} times in a row") from None
            time.sleep(BACKOFF_S * 2**fruitless)
        else:
            part.replace(path)
            return


def _verify(source: Source, part: Path, *, is_resumed: bool) -> None:
    """Brings the right file to the disk; a wrong one is deleted, and its first bytes may be of another version."""
    try:
        verify_file(part, source)
    except HashbenchError as error:
        part.unlink()
        fault = str(error).removeprefix(f"{part}: ")
        raise (CutError if is_resumed else MirrorError)(fault) from None
    with part.open("rb") as file:
        os.fsync(file.fileno())


def _receive(source: Source, url: str, part: Path) -> None:
    """Appends what the mirror sends; a part is continued only if a checksum proves that it is of the same file."""
    start = _size(part) if source.checksums else 0
    if start and start == source.size_bytes:
        return
    with ExitStack() as stack:
        with _network_errors():
            reply = _ask_ftp(url, stack) if url.startswith("ftp:") else _ask_http(url, start, stack)
        if reply.total is not None and source.size_bytes not in (None, reply.total):
            raise MirrorError(f"announces {reply.total:,} bytes; it should have {source.size_bytes:,}")
        require_writable(part.parent, (reply.total or 0) - reply.start + SPARE_BYTES, instead="--data")
        file = stack.enter_context(part.open("ab"))
        file.truncate(reply.start)
        size_bytes = reply.start
        total = reply.total or source.size_bytes
        done = stack.enter_context(bar(source.file, "B", total, scaled=True, done=reply.start))
        for piece in reply.pieces:
            size_bytes += len(piece)
            if source.size_bytes is not None and size_bytes > source.size_bytes:
                part.unlink()
                kind = CutError if reply.start else MirrorError
                raise kind(f"sends more than the {source.size_bytes:,} bytes it should have")
            file.write(piece)
            done.update(len(piece))
    if reply.total is not None and size_bytes < reply.total:
        raise CutError(f"it ended after {size_bytes:,} of {reply.total:,} bytes")


def _ask_http(url: str, start: int, stack: ExitStack) -> Reply:
    headers = {"User-Agent": f"hashbench/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    response = stack.enter_context(requests.get(url, headers=headers, stream=True, timeout=(CONNECT_S, STALL_S)))
    status = response.status_code
    text = f"{status} {printable(response.reason or '')}".rstrip()
    if status in BUSY or status >= 500:
        raise CutError(text)
    is_of_range = response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
    if status == 416 or (status == 206 and not is_of_range):
        return Reply(0, None, iter(()))  # nothing, so that the download begins anew
    if status not in (200, 206):
        raise MirrorError(text)
    if response.headers.get("Content-Type", "").startswith("text/html") and not url.endswith((".html", ".htm")):
        raise MirrorError("a web page came in place of the file")
    first_byte = start if status == 206 else 0
    left = response.raw.length_remaining
    total = None if left is None else first_byte + left
    return Reply(first_byte, total, _pieces(partial(response.raw.read1, decode_content=False)))


def _ask_ftp(url: str, stack: ExitStack) -> Reply:
    """FTP begins anew after a cut."""
    response = stack.enter_context(urlopen(url, timeout=STALL_S))  # noqa: S310  (the scheme is ftp)
    length = response.headers.get("Content-Length")
    return Reply(0, None if length is None else int(length), _pieces(response.read1))


def _pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    with _network_errors():
        while piece := read(PIECE):
            yield piece


@contextmanager
def _network_errors() -> Iterator[None]:
    """Turns any error of the network into a CutError, and one of the address into a MirrorError."""
    try:
        yield
    except (requests.RequestException, HTTPError, HTTPException, OSError, EOFError, ValueError) as error:
        cause: BaseException = error  # the error of the system, which up to three libraries have wrapped
        while (inner := cause.__cause__ or cause.__context__) is not None:
            cause = inner
        kind = MirrorError if isinstance(error, ValueError) else CutError
        raise kind(printable(one_line(cause), 200)) from None
