"""Fetching: the files of sources from their mirrors into a folder, resumed, verified, put in place whole.

What comes is kept beside its place (:class:`hashbench.datasets.sources.resume.Part`) until it is the whole file and
all that is known of it holds; only then does it take the place of what lay there. Processes that fetch into one folder
take turns.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Event, Semaphore, Thread
from typing import Any
from urllib.parse import urlsplit

from hashbench.datasets.card import Source
from hashbench.datasets.sources.members import verify_file
from hashbench.datasets.sources.mirror import MirrorError, PassingError, Reply, StaleError, ask
from hashbench.datasets.sources.resume import Part
from hashbench.errors import HashbenchError, one_line
from hashbench.files import require_writable

AT_ONCE = 4  # files
TRIES = 5  # in a row that bring no byte beyond what was reached before
BACKOFF_S = 1.0  # before the second try; doubled with each
LONGEST_WAIT_S = 60.0  # however long a server asks us to wait
MOST_BYTES = 64 << 30  # of a file whose size nobody states
SPARE_BYTES = 16 << 20


def fetch(sources: Sequence[Source], folder: Path, *, progress: bool = True) -> list[Path]:
    """Where each source's file now lies in ``folder``, verified.

    A file that is there and right is left alone. The mirrors of a source are asked in order; a cut connection is
    resumed, at once and by the next call. Files come ``AT_ONCE`` at a time. With ``progress``, each has a line on
    stderr, and a bar while it comes if that is a terminal.

    Raises:
        HashbenchError: a file could not be had; the line says why of each mirror, and what a person can do. The other
            files are in place then, and what lay in the place of this one still does.
    """
    for source in sources:
        if not source.urls and not (folder / source.file).is_file():
            raise HashbenchError(f"{source.file}: no address serves it; to get it, {_by_hand(source)}")
    require_writable(folder, sum(_missing_bytes(source, folder) for source in sources) + SPARE_BYTES, instead="--data")
    with alone(folder, progress=progress):
        stop = Event()
        return _in_parallel([partial(_fetch, source, folder, stop, progress) for source in sources], stop)


def _missing_bytes(source: Source, folder: Path) -> int:
    path = folder / source.file
    return 0 if path.is_file() else max(0, (source.size_bytes or 0) - Part(path).size_bytes)


def _by_hand(source: Source) -> str:
    steps = "; ".join(step.rstrip(".") for step in source.manual) or "fetch it by other means"
    return steps if "--from-dir" in steps else f"{steps} and name its folder with --from-dir"


@contextmanager
def alone(folder: Path, *, progress: bool = True) -> Iterator[None]:
    """No other process that asks for this works in ``folder`` meanwhile; one that dies holds nothing up.

    Raises HashbenchError where ``folder`` takes no lock.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / ".lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            _say(f"{folder}: another process is at work in it; waiting for it to end", progress)
            lock.acquire(poll_interval=0.1)
    except (OSError, NotImplementedError) as error:
        raise HashbenchError(
            f"{lock.lock_file}: cannot be locked ({one_line(error)}): name another with --data"
        ) from None
    try:
        yield
    finally:
        lock.release()


def _say(line: str, progress: bool) -> None:
    from tqdm import tqdm

    if progress:
        tqdm.write(line, file=sys.stderr)  # above the bars


def _in_parallel(jobs: Sequence[Callable[[], Path]], stop: Event) -> list[Path]:
    """The results of the jobs; all are brought to their end before what failed is raised.

    Their threads die with the process: an interrupted download must not wait for a server that says nothing.
    """
    slots = Semaphore(AT_ONCE)
    futures: list[Future[Path]] = [Future() for _ in jobs]
    for job, future in zip(jobs, futures, strict=True):
        Thread(target=_settle, args=(job, future, slots, stop), daemon=True).start()
    try:
        wait(futures)
    finally:
        stop.set()
    errors = [error for future in futures if (error := future.exception()) is not None]
    if len(errors) > 1 and all(isinstance(error, HashbenchError) for error in errors):
        raise HashbenchError("; ".join(str(error) for error in errors))
    return [future.result() for future in futures]


def _settle(job: Callable[[], Path], future: Future[Path], slots: Semaphore, stop: Event) -> None:
    try:
        with slots:
            _require_wanted(stop)
            future.set_result(job())
    except BaseException as error:
        future.set_exception(error)


def _require_wanted(stop: Event) -> None:
    if stop.is_set():
        raise KeyboardInterrupt


def _fetch(source: Source, folder: Path, stop: Event, progress: bool) -> Path:
    path = folder / source.file
    fault = _fault(path, source)
    if fault is None:
        return path
    if not source.urls:
        raise HashbenchError(f"{path}: {fault}; to get it, {_by_hand(source)}")
    with _disk_errors(path, source), _bar(source, progress) as bar:
        reasons = []
        for url in source.urls:
            try:
                _bring(url, source, path, bar, stop)
            except MirrorError as error:
                reasons.append(f"{url}: not downloaded ({error})")
            else:
                size = bar.format_sizeof(path.stat().st_size, "B")
                _say(f"{path.name}: {size} from {urlsplit(url).hostname}", progress)
                return path
    raise HashbenchError(f"{'; '.join(reasons)}: {_by_hand(source)}")


def _fault(path: Path, source: Source) -> str | None:
    """What is wrong with the file at ``path``; None where nothing is."""
    try:
        verify_file(path, source)
    except HashbenchError as error:
        return str(error).removeprefix(f"{path}: ")
    return None


@contextmanager
def _disk_errors(path: Path, source: Source) -> Iterator[None]:
    """A disk that fails is not a mirror that fails: there is no use in asking the next one."""
    part = Part(path)
    try:
        yield
    except OSError as error:
        here = part.size_bytes
        total = source.size_bytes or (part.origin.total if part.origin is not None else None)
        needed = f", {total - here:,} more are needed" if total else ""
        room = "make room or name another folder with --data" if error.errno in {errno.ENOSPC, errno.EDQUOT} else ""
        said = error.strerror or one_line(error)
        raise HashbenchError(f"{path}: {said} after {here:,} bytes{needed}: {room or 'see to the disk'}") from None


@contextmanager
def _bar(source: Source, progress: bool) -> Iterator[Any]:
    from tqdm import tqdm

    shown = {"desc": source.file, "unit": "B", "unit_scale": True, "leave": False}
    with tqdm(total=source.size_bytes, disable=None if progress else True, **shown) as bar:
        yield bar


def _bring(url: str, source: Source, path: Path, bar: Any, stop: Event) -> None:
    """Puts the file at ``url`` in place, or raises MirrorError when patience has come to its end."""
    part = Part(path)
    reached, fruitless = part.size_bytes, 0
    while True:
        try:
            return _try(url, source, path, bar, stop)
        except PassingError as error:
            if isinstance(error, StaleError):
                part.discard()
            fruitless = 0 if part.size_bytes > reached else fruitless + 1
            reached = max(reached, part.size_bytes)
            if fruitless == TRIES:
                raise MirrorError(f"{error}, {TRIES} times in a row") from None
            asked = BACKOFF_S * 2**fruitless if error.wait_s is None else error.wait_s
            if stop.wait(min(asked, LONGEST_WAIT_S)):
                raise KeyboardInterrupt from None


def _try(url: str, source: Source, path: Path, bar: Any, stop: Event) -> None:
    """One request, unless all has come already."""
    part = Part(path)
    begun, start = part.origin, part.size_bytes
    if begun is None or begun.total != start or not start:
        with ask(url, start, checked=bool(source.checksums)) as reply:
            first = next(reply.pieces, b"")  # a page or a stall shows here, and leaves the part as it was
            _require_promised(reply, source)
            if reply.start and not (begun and begun.goes_on(reply.origin, checked=bool(source.checksums))):
                raise StaleError("the file on the server is another one than before")
            if not reply.start:
                part.begin(reply.origin)
            _append(reply, chain([first], reply.pieces), source, part, bar, stop)
    _require_wanted(stop)
    _place(part, path, source, spliced=start > 0)


def _require_promised(reply: Reply, source: Source) -> None:
    """Raises MirrorError, before gigabytes come, unless the length that is announced is the one that is expected."""
    total = reply.origin.total
    if total is not None and source.size_bytes not in (None, total):
        raise MirrorError(f"announces {total:,} bytes; it should have {source.size_bytes:,}")
    if total is not None and total > MOST_BYTES:
        raise MirrorError(f"announces {total:,} bytes; {MOST_BYTES:,} are taken at most")


def _append(reply: Reply, pieces: Iterable[bytes], source: Source, part: Part, bar: Any, stop: Event) -> None:
    total = source.size_bytes or reply.origin.total
    size_bytes = reply.start
    require_writable(part.path.parent, (total or 0) - size_bytes + SPARE_BYTES, instead="--data")
    bar.reset(total)
    bar.initial = bar.n = size_bytes
    with part.path.open("ab") as file:
        for piece in pieces:
            _require_wanted(stop)
            size_bytes += len(piece)
            if size_bytes > (total or MOST_BYTES):
                part.discard()
                raise MirrorError(f"sends more than the {total or MOST_BYTES:,} bytes it should have")
            file.write(piece)
            bar.update(len(piece))
    if total is not None and size_bytes < total:
        raise PassingError(f"it ended after {size_bytes:,} of {total:,} bytes")


def _place(part: Part, path: Path, source: Source, *, spliced: bool) -> None:
    """Moves the part into place if it is right; one of several tries that is wrong may be so for its older bytes."""
    fault = _fault(part.path, source)
    if fault is not None:
        part.discard()
        raise StaleError(fault) if spliced else MirrorError(fault)
    with part.path.open("rb") as file:
        os.fsync(file.fileno())
    part.finish(path)
