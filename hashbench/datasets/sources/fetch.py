"""Fetching: the files of sources from their mirrors into a folder, resumed, verified, put in place whole.

What comes is kept beside its place (:class:`hashbench.datasets.sources.resume.Part`) until it is the whole file and
all that is known of it holds; only then does it take the place of what lay there. Processes that fetch into one folder
take turns.
"""

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from multiprocessing.pool import ThreadPool
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

from tqdm import tqdm

from hashbench.datasets.card import Source
from hashbench.datasets.sources.members import verify_file
from hashbench.datasets.sources.mirror import MirrorError, PassingError, Reply, StaleError, ask
from hashbench.datasets.sources.resume import Part
from hashbench.errors import HashbenchError, one_line
from hashbench.files import locked, require_writable

AT_ONCE = 4  # files
TRIES = 5  # in a row that bring no byte beyond what was reached before
BACKOFF_S = 1.0  # before the second try; doubled with each
LONGEST_WAIT_S = 60.0  # however long a server asks us to wait
MOST_BYTES = 64 << 30  # of a file whose size nobody states
SPARE_BYTES = 16 << 20


def alone(folder: Path, *, progress: bool = True) -> AbstractContextManager[None]:
    """No other process that asks for this works in ``folder`` meanwhile; one that does is waited for."""
    busy = f"{folder}: another process is at work in it; waiting for it to end" if progress else ""
    return locked(folder / ".lock", wait=True, busy=busy, instead="--data")


def fetch(sources: Sequence[Source], folder: Path, *, progress: bool = True) -> list[Path]:
    """Where each source's file now lies in ``folder``, verified.

    A file that is there and right is left alone. The mirrors of a source are asked in order; a cut connection is
    resumed, at once and by the next call. Files come ``AT_ONCE`` at a time. With ``progress``, each has a line on
    stderr, and a bar while it comes if that is a terminal.

    Raises:
        HashbenchError: a file could not be had; the line says why of each mirror, and what a person can do. The other
            files are in place then, and what lay in the place of this one still does.
    """
    missing = [source for source in sources if not (folder / source.file).is_file()]
    for source in missing:
        if not source.urls:
            raise HashbenchError(f"{source.file}: no address serves it; to get it, {_by_hand(source)}")
    left = sum(max(0, (source.size_bytes or 0) - Part(folder / source.file).size_bytes) for source in missing)
    require_writable(folder, left + SPARE_BYTES, instead="--data")
    stop = Event()
    with alone(folder, progress=progress), ThreadPool(AT_ONCE) as pool:  # its threads die with the process
        jobs = [pool.apply_async(_fetched, (source, folder, stop, progress)) for source in sources]
        try:
            found = [job.get() for job in jobs]  # all come to their end before what failed is raised
        finally:
            stop.set()
    if errors := [str(error) for error in found if isinstance(error, HashbenchError)]:
        raise HashbenchError("; ".join(errors))
    return [folder / source.file for source in sources]


def _by_hand(source: Source) -> str:
    steps = "; ".join(step.rstrip(".") for step in source.manual) or "fetch it by other means"
    return steps if "--from-dir" in steps else f"{steps} and name its folder with --from-dir"


def _fetched(source: Source, folder: Path, stop: Event, progress: bool) -> HashbenchError | None:
    """Why the file could not be had; None where it is in place."""
    path, reasons = folder / source.file, []
    try:
        verify_file(path, source)
    except HashbenchError as error:
        if not source.urls:
            return HashbenchError(f"{error}; to get it, {_by_hand(source)}")
    else:
        return None
    shown = None if progress else True  # None: on a terminal
    with tqdm(total=source.size_bytes, desc=source.file, unit="B", unit_scale=True, leave=False, disable=shown) as bar:
        for url in source.urls:
            try:
                _Download(source, path, bar, stop).bring(url)
            except MirrorError as error:
                reasons.append(f"{url}: not downloaded ({error})")
            except HashbenchError as error:
                return error
            except OSError as error:  # a disk that fails is not a mirror that fails: the next one does not mend it
                return _disk_error(error, path, source)
            else:
                if progress:
                    size = tqdm.format_sizeof(path.stat().st_size, "B")
                    tqdm.write(f"{path.name}: {size} from {urlsplit(url).hostname}", file=sys.stderr)
                return None
    return HashbenchError(f"{'; '.join(reasons)}: {_by_hand(source)}")


def _disk_error(error: OSError, path: Path, source: Source) -> HashbenchError:
    part = Part(path)
    total = source.size_bytes or (part.origin.total if part.origin is not None else None)
    needed = f", {total - part.size_bytes:,} more are needed" if total else ""
    full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    mend = "make room or name another folder with --data" if full else "see to the disk"
    return HashbenchError(
        f"{path}: {error.strerror or one_line(error)} after {part.size_bytes:,} bytes{needed}: {mend}"
    )


class _Download:
    """The file of one source on its way to ``path``."""

    def __init__(self, source: Source, path: Path, bar: "tqdm[None]", stop: Event):
        self.source, self.path, self.bar, self.stop = source, path, bar, stop
        self.part, self.checked = Part(path), bool(source.checksums)

    def bring(self, url: str) -> None:
        """Puts the file at ``url`` in place, or raises MirrorError when patience has come to its end."""
        reached, fruitless = self.part.size_bytes, 0
        while True:
            try:
                return self._try(url)
            except PassingError as error:
                if isinstance(error, StaleError):
                    self.part.discard()
                fruitless = 0 if self.part.size_bytes > reached else fruitless + 1
                reached = max(reached, self.part.size_bytes)
                if fruitless == TRIES:
                    raise MirrorError(f"{error}, {TRIES} times in a row") from None
                wait_s = BACKOFF_S * 2**fruitless if error.wait_s is None else error.wait_s
                self.stop.wait(min(wait_s, LONGEST_WAIT_S))

    def _try(self, url: str) -> None:
        """One request, unless all has come already; then what has come is verified and put in place."""
        begun, start = self.part.origin, self.part.size_bytes
        if begun is None or begun.total != start or not start:
            with ask(url, start, checked=self.checked) as reply:
                self._receive(reply)
        try:
            verify_file(self.part.path, self.source)
        except HashbenchError as error:  # where it came in several tries, the bytes of the earlier ones may be wrong
            self.part.discard()
            raise (StaleError if start else MirrorError)(str(error).removeprefix(f"{self.part.path}: ")) from None
        with self.part.path.open("rb") as file:
            os.fsync(file.fileno())
        self.part.finish(self.path)

    def _receive(self, reply: Reply) -> None:
        """Adds what comes to the part, so long as it is what was promised, and of the same file."""
        total, expected, begun = reply.origin.total, self.source.size_bytes, self.part.origin
        if total is not None and expected not in (None, total):
            raise MirrorError(f"announces {total:,} bytes; it should have {expected:,}")
        if total is not None and total > MOST_BYTES:
            raise MirrorError(f"announces {total:,} bytes; {MOST_BYTES:,} are taken at most")
        if reply.start and not (begun and begun.goes_on(reply.origin, checked=self.checked)):
            raise StaleError("the file on the server is another one than before")
        if not reply.start:
            self.part.begin(reply.origin)
        self._append(reply, expected or total)

    def _append(self, reply: Reply, total: int | None) -> None:
        size_bytes, limit = reply.start, total or MOST_BYTES
        require_writable(self.path.parent, (total or 0) - size_bytes + SPARE_BYTES, instead="--data")
        self.bar.reset(total)
        self.bar.initial = self.bar.n = size_bytes
        with self.part.path.open("ab") as file:
            for piece in reply.pieces:
                if self.stop.is_set():
                    raise HashbenchError(f"{self.path}: interrupted")
                size_bytes += len(piece)
                if size_bytes > limit:
                    self.part.discard()
                    raise MirrorError(f"sends more than the {limit:,} bytes it should have")
                file.write(piece)
                self.bar.update(len(piece))
        if total is not None and size_bytes < total:
            raise PassingError(f"it ended after {size_bytes:,} of {total:,} bytes")
