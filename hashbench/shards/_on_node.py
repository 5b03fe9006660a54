"""What a node of a cluster does with a shard: it brings the files that it lacks, counts, and leaves no shard behind."""

import hashlib
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree

from hashbench.codes.files import files_of, parted
from hashbench.foundation import provenance
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import locked
from hashbench.foundation.provenance import Code
from hashbench.grid.node import DriverFile, Reader, bring, require_same_code, work_folder
from hashbench.shards._shard import Place, Shard
from hashbench.shards._task import Count, Counts, Seen, Source

Named = tuple[Path, DriverFile]  # a file, by the name that the driver has for it


@dataclass(frozen=True)
class Sent:
    """A shard that is to be counted, with the files that it takes; ``code`` is that of the driver's machine."""

    count: Count
    of_queries: Sequence[Named]
    of_shard: Sequence[Named]
    code: Code


def sent(source: Source, shards: Sequence[Shard], seen: Sequence[Seen]) -> list[Sent]:
    """The tasks that count ``shards`` of this machine; ``seen`` has the checksums of their files."""
    source = _in_files(source)
    said = [parted(place)[0] for place in _said(source).values()]
    queries = [(path, DriverFile.at(path)) for path in dict.fromkeys([*source.files, *said])]
    code = provenance.code()
    return [
        Sent(Count(source, shard), queries, _files_of_shard(shard, one), code)
        for shard, one in zip(shards, seen, strict=True)
    ]


def _files_of_shard(shard: Shard, seen: Seen) -> list[Named]:
    return [
        (path, DriverFile(path.resolve(), path.stat().st_size, sha256))
        for path, sha256 in zip(shard.paths, seen.sha256, strict=True)
    ]


def _in_files(source: Source) -> Source:
    """The same source, where folders are given by their files, and arrays by the paths of these and keys."""
    files = tuple(path for each in source.files for path in files_of(each))
    said = {role: _joined(*parted(place)) for role, place in _said(source).items()}
    return replace(source, files=files, explicit=replace(source.explicit, **said))  # type: ignore[arg-type]


def _said(source: Source) -> dict[str, str]:
    """Where the arrays of the queries are, as far as the user said it."""
    said = {role: getattr(source.explicit, role) for role in ("query_codes", "query_labels")}
    return {role: place for role, place in said.items() if place is not None}


def _joined(path: Path, key: str | None) -> str:
    return str(Place(path, key))


def do(task: Sent, read: Reader) -> Counts:
    """Counts the shard on this machine; notes and errors name the files as the driver does."""
    with ExitStack() as reserved:
        with _said_where(task.count.shard):
            require_same_code(task.code)
            folder = work_folder()
            places = _brought(task.of_queries, folder / "queries", read)
            own = reserved.enter_context(_reserved(folder / "shards", task.of_shard))
            places |= _brought(task.of_shard, own, read)
        return _counted(task.count, places)


@contextmanager
def _said_where(shard: Shard) -> Iterator[None]:
    """Errors in the block, which are about this machine, name it and the shard."""
    try:
        yield
    except HashbenchError as error:
        raise HashbenchError(f"{shard}: on {platform.node()}: {error}") from None


def _brought(files: Sequence[Named], folder: Path, read: Reader) -> dict[Path, Path]:
    """Where each file is now, by its name."""
    places = {name: folder / file.sha256 / name.name for name, file in files}
    for name, file in files:
        bring(file, places[name], [file.path], read)  # its own path: the machines may share a disk
    return places


@contextmanager
def _reserved(folder: Path, files: Sequence[Named]) -> Iterator[Path]:
    """A folder for the files of one shard, removed after the block; who counts the same shard here waits.

    What a killed task has left there is found and removed by the next one.
    """
    lock = shard_lock(folder, files)
    with locked(lock, wait=True, instead="TMPDIR"):
        try:
            yield lock.with_suffix("")
        finally:
            rmtree(lock.with_suffix(""), ignore_errors=True)


def shard_lock(folder: Path, files: Sequence[Named]) -> Path:
    """The file in ``folder`` that is locked while the shard of these files is counted; it is named by their content."""
    return folder / f"{hashlib.sha256(' '.join(file.sha256 for _, file in files).encode()).hexdigest()}.lock"


def _counted(count: Count, places: Mapping[Path, Path]) -> Counts:
    """What ``count`` counts in the files of this machine, in ``places`` by their names; texts have the names."""
    try:
        found = _moved(count, places)()
    except HashbenchError as error:
        raise HashbenchError(_named(str(error), places)) from None
    return replace(found, notes=tuple(_named(note, places) for note in found.notes))


def _named(text: str, places: Mapping[Path, Path]) -> str:
    for name, place in places.items():
        text = text.replace(str(place), str(name))
    return text


def _moved(count: Count, places: Mapping[Path, Path]) -> Count:
    """The same task for the files in their ``places``."""
    source, shard = count.source, count.shard
    said = {role: _place(place, places) for role, place in _said(source).items()}
    return Count(
        replace(
            source,
            files=tuple(places[path] for path in source.files),
            explicit=replace(source.explicit, **said),  # type: ignore[arg-type]
        ),
        Shard(*(replace(place, path=places[place.path]) for place in (shard.codes, shard.labels))),
    )


def _place(said: str, places: Mapping[Path, Path]) -> str:
    """FILE or FILE:KEY with the place of the file; whether a colon is part of its name, only the driver can see."""
    name = max((path for path in places if f"{said}:".startswith(f"{path}:")), key=lambda path: len(str(path)))
    return f"{places[name]}{said.removeprefix(str(name))}"
