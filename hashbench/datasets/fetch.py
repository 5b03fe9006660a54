"""Downloads of the files of sources from their mirrors into a folder: resumed after a cut, verified, written whole."""

import errno
import os
import time
from collections.abc import Sequence
from concurrent.futures import wait
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from threading import Event, Semaphore
from urllib.parse import urlsplit

from pydantic import ValidationError

from hashbench.datasets import mirror
from hashbench.datasets.card import Source
from hashbench.datasets.members import verify_file
from hashbench.datasets.mirror import MirrorError, Origin, Reply, StaleError, TemporaryError, ask
from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.foundation.files import locked, require_writable, write_text
from hashbench.foundation.parallel import in_daemon_thread
from hashbench.foundation.progress import Bar, note
from hashbench.foundation.progress import bar as progress_bar

AT_ONCE = 4  # files
TRIES = 3  # in a row without a new byte, or with so few that it would be no download
BACKOFF_S = 1.0  # before the second try; doubled with each
LONGEST_WAIT_S = 60.0  # even if the server asks for more
MOST_BYTES = 64 << 30  # of a file of unknown size
SPARE_BYTES = 16 << 20


class PartialFile:
    """The bytes of ``path`` downloaded so far, in <path>.part; <path>.part.json holds their :class:`Origin`."""

    def __init__(self, path: Path):
        self.path = path.with_name(f"{path.name}.part")
        self._origin_path = path.with_name(f"{path.name}.part.json")

    @property
    def size_bytes(self) -> int:
        """The number of bytes so far; 0 if their origin is unknown."""
        if self.path.is_file() and self.origin is not None:
            return self.path.stat().st_size
        return 0

    @property
    def origin(self) -> Origin | None:
        """The origin of the bytes; None if it is unknown."""
        try:
            return Origin.model_validate_json(self._origin_path.read_bytes())
        except (OSError, ValidationError):
            return None

    def begin(self, origin: Origin) -> None:
        """Starts again with no bytes; the old ones are deleted before the new origin is written."""
        self.discard()
        write_text(self._origin_path, origin.model_dump_json())

    def discard(self) -> None:
        """Deletes the bytes and their origin."""
        self.path.unlink(missing_ok=True)
        self._origin_path.unlink(missing_ok=True)

    def finish(self, path: Path) -> None:
        """Moves the complete and verified file to ``path``."""
        with self.path.open("rb") as file:
            os.fsync(file.fileno())
        self.path.replace(path)
        self._origin_path.unlink(missing_ok=True)


def folder_lock(folder: Path) -> AbstractContextManager[None]:
    """A context in which no other process that uses this lock works in ``folder``; it waits for the others."""
    busy = f"{folder}: another process is at work in it; waiting for it to end"
    return locked(folder / ".lock", wait=True, busy=busy, instead="--data")


def fetch(sources: Sequence[Source], folder: Path) -> list[Path]:
    """The paths of the sources' files in ``folder``, after they were downloaded and verified.

    A right file is not downloaded again, and a cut download continues from its last byte, now or in the next call.
    Raises HashbenchError if a file could not be downloaded; the others are downloaded all the same, old files kept.
    """
    missing = [source for source in sources if not (folder / source.file).is_file()]
    for source in missing:
        if not source.urls:
            raise HashbenchError(f"{source.file}: no address serves it; to get it, {_by_hand(source)}")
    left = sum(max(0, (source.size_bytes or 0) - PartialFile(folder / source.file).size_bytes) for source in missing)
    require_writable(folder, left + SPARE_BYTES, instead="--data")
    with folder_lock(folder):
        results = _in_threads(sources, folder)
    if errors := [str(error) for error in results if error is not None]:
        raise HashbenchError("; ".join(errors))
    return [folder / source.file for source in sources]


def _in_threads(sources: Sequence[Source], folder: Path) -> list[HashbenchError | None]:
    """The result of ``_fetched`` for each source; no thread keeps the process alive where a server sends nothing."""
    stop = Event()
    turn = Semaphore(AT_ONCE)

    def fetched(source: Source) -> HashbenchError | None:
        with turn:
            return _fetched(source, folder, stop)

    results = [in_daemon_thread(partial(fetched, source)) for source in sources]
    try:
        wait(results)
    finally:
        stop.set()
    return [result.result() for result in results]


def _by_hand(source: Source) -> str:
    steps = "; ".join(step.rstrip(".") for step in source.manual) or "fetch it by other means"
    if "--from-dir" in steps:
        return steps
    return f"{steps} and name its folder with --from-dir"


def _fetched(source: Source, folder: Path, stop: Event) -> HashbenchError | None:
    """The error that says why the file could not be downloaded; None if it is in place."""
    path = folder / source.file
    reasons = []
    try:
        verify_file(path, source)
    except HashbenchError as error:
        if not source.urls:
            return HashbenchError(f"{error}; to get it, {_by_hand(source)}")
    else:
        return None
    with progress_bar(source.file, "B", source.size_bytes, scaled=True) as bar:
        for url in source.urls:
            try:
                _Download(source, path, bar, stop).download_from(url)
            except MirrorError as error:
                reasons.append(f"{url}: not downloaded ({error})")
            except HashbenchError as error:
                return error
            except OSError as error:  # if the disk fails, another mirror does not help
                return _disk_error(source, path, error)
            else:
                note(f"{path.name}: {bar.format_sizeof(path.stat().st_size, 'B')} from {urlsplit(url).hostname}")
                return None
    return HashbenchError(f"{'; '.join(reasons)}: {_by_hand(source)}")


def _disk_error(source: Source, path: Path, error: OSError) -> HashbenchError:
    part = PartialFile(path)
    total = source.size_bytes
    if total is None and part.origin is not None:
        total = part.origin.total
    reason = f"{error.strerror or one_line(error)} after {part.size_bytes:,} bytes"
    if total:
        reason += f", {total - part.size_bytes:,} more are needed"
    advice = "check the disk"
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        advice = "make room or name another folder with --data"
    return HashbenchError(f"{path}: {reason}: {advice}")


class _Download:
    """The download of the file of one source to ``path``."""

    def __init__(self, source: Source, path: Path, bar: Bar, stop: Event):
        self.source = source
        self.path = path
        self.bar = bar
        self.stop = stop
        self.part = PartialFile(path)
        self.checked = bool(source.checksums)

    def download_from(self, url: str) -> None:
        """Downloads the file at ``url``; raises MirrorError after ``TRIES`` fruitless attempts in a row."""
        reached = self.part.size_bytes
        fruitless = 0
        while True:
            began = time.monotonic()
            try:
                return self._try(url)
            except TemporaryError as error:
                if isinstance(error, StaleError):
                    self.part.discard()
                gained = self.part.size_bytes - reached  # a byte before each stall would keep it going for ever
                fruitless += 1
                if gained > 0 and gained >= mirror.SLOWEST_BYTES_S * (time.monotonic() - began):
                    fruitless = 0
                reached = max(reached, self.part.size_bytes)
                if fruitless == TRIES:
                    raise MirrorError(f"{error}, {TRIES} times in a row") from None
                wait_s = error.wait_s
                if wait_s is None:
                    wait_s = BACKOFF_S * 2**fruitless
                self.stop.wait(min(wait_s, LONGEST_WAIT_S))

    def _try(self, url: str) -> None:
        """Makes one request, unless all bytes are there already, and then verifies the file and moves it into place."""
        begun = self.part.origin
        start = self.part.size_bytes
        if begun is None or begun.total != start or not start:
            with ask(url, start, checked=self.checked) as reply:
                self._receive(reply)
        try:
            verify_file(self.part.path, self.source)
        except HashbenchError as error:  # if the file came in several attempts, bytes of the earlier ones may be wrong
            self.part.discard()
            fault = str(error).removeprefix(f"{self.part.path}: ")
            if start:
                raise StaleError(fault) from None
            raise MirrorError(fault) from None
        self.part.finish(self.path)

    def _receive(self, reply: Reply) -> None:
        """Appends the reply to the partial file, if it has the expected size and is of the same file."""
        begun = self.part.origin
        refused = MirrorError
        # the server that sent the first bytes may be wrong about ranges alone, and right from the first byte on
        if reply.start and begun is not None and begun.url == reply.origin.url:
            refused = StaleError
        self._require_size(reply.origin.total, refused)
        if not reply.start:
            self.part.begin(reply.origin)
        elif begun is None or not begun.is_same_file(reply.origin, checked=self.checked):
            raise StaleError("the file on the server is another one than before")
        total = self.source.size_bytes or reply.origin.total
        require_writable(self.path.parent, (total or 0) - reply.start + SPARE_BYTES, instead="--data")
        self.bar.reset(total)
        self.bar.initial = self.bar.n = reply.start
        self._append(reply, total, refused)

    @property
    def _most_bytes(self) -> int:
        return self.source.size_bytes or self.source.most_bytes or MOST_BYTES

    def _require_size(self, stated: int | None, refused: type[MirrorError]) -> None:
        """Raises ``refused``, or MirrorError, where the server states another size than the file can have."""
        if stated is None:
            return
        if self.source.size_bytes not in (None, stated):
            raise refused(f"announces {stated:,} bytes; it should have {self.source.size_bytes:,}")
        if stated > self._most_bytes:
            raise MirrorError(f"announces {stated:,} bytes; {self._most_bytes:,} are taken at most")

    def _append(self, reply: Reply, total: int | None, refused: type[MirrorError]) -> None:
        """Appends the bytes; raises ``refused`` where there are more than ``total``, TemporaryError where fewer."""
        size_bytes = reply.start
        limit = total or self._most_bytes
        with self.part.path.open("ab") as file:
            for piece in reply.pieces:
                if self.stop.is_set():
                    raise HashbenchError(f"{self.path}: interrupted")
                size_bytes += len(piece)
                if size_bytes > limit:
                    self.part.discard()
                    raise refused(f"sends more than the {limit:,} bytes it should have")
                file.write(piece)
                self.bar.update(len(piece))
                if size_bytes == total and self.checked:  # what a server sends behind it may never end
                    break
        if total is not None and size_bytes < total:
            raise TemporaryError(f"it ended after {size_bytes:,} of {total:,} bytes")
