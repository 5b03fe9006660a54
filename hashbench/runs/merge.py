"""Rows of other results folders, such as those of other machines, copied into this one; none is ever lost."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.runs import schema_1
from hashbench.runs.diff import says_nothing_new
from hashbench.runs.line import Line, repeat_name
from hashbench.runs.row import Row, from_line, to_line
from hashbench.runs.store import Damaged, Store, read_lines


class Outcome(StrEnum):
    """What becomes of a row that is merged."""

    copied = "copied"
    replaced = "copied in place of a failed row"
    beside = "kept beside the row here, which has other values or fewer"
    equal = "already here"
    same_values = "left out: the row here has the same values"
    failed = "left out: it failed, and there is a row of this run here"


@dataclass(frozen=True)
class Merged:
    """One row that is merged: what becomes of it, and its file and its name here."""

    outcome: Outcome
    row: Row
    path: Path
    name: str


@dataclass(frozen=True)
class _Incoming:
    """A row of another folder, and the file of schema 1 that held it, if one did."""

    row: Row
    file: Path | None = None


def merge(sources: Iterable[Store], into: Store, damaged: Damaged, *, dry_run: bool = False) -> list[Merged]:
    """What becomes of each row of ``sources``, which are written into the store ``into`` unless it is a ``dry_run``.

    Sources may hold rows of schema 1, a file each. If ``into`` itself is a source, its own rows of schema 1 are moved
    into its files of rows. ``damaged`` is called with the error of each row that cannot be read, here or there.
    """
    by_file: dict[Path, list[_Incoming]] = {}
    for source in sources:
        for new in _rows_of(source, source.folder.resolve() == into.folder.resolve(), damaged):
            by_file.setdefault(into.rows_path(new.row.dataset, new.row.protocol), []).append(new)
    found: list[Merged] = []
    for path, rows in by_file.items():
        with nullcontext(read_lines(path)) if dry_run else into.changing(path) as lines:
            merged = list(_merged(rows, path, lines, damaged))
        found += [each for each, _ in merged]
        if not dry_run:
            for each, file in merged:
                if file is not None and each.outcome not in (Outcome.same_values, Outcome.failed):
                    file.unlink()
    return found


def _rows_of(source: Store, is_own: bool, damaged: Damaged) -> Iterator[_Incoming]:
    """The rows of a folder, read without being trusted; a run's own row comes before those that are beside it."""
    files = schema_1.files(source.rows_folder)
    if is_own and not files:
        raise HashbenchError(f"{source.folder}: the folder that rows are merged into: name another one")

    def usable(read: Callable[[], Row]) -> Iterator[Row]:
        try:
            yield read()
        except HashbenchError as error:
            damaged(error)

    for line in () if is_own else source.lines(damaged):
        yield from map(_Incoming, usable(partial(from_line, line.text, line.place, strict=True)))
    for path in files:
        for row in usable(partial(schema_1.read, path)):
            yield _Incoming(row, path if is_own else None)


def _merged(
    rows: list[_Incoming], path: Path, lines: list[Line], damaged: Damaged
) -> Iterator[tuple[Merged, Path | None]]:
    """What becomes of each row; those that are to be written are put among the ``lines`` of their file."""
    for each in rows:
        row = each.row
        try:
            known = {line.name: line.row() for line in lines if line.run == row.run}
        except HashbenchError as error:
            damaged(error)
            continue
        new = Line(path, 0, row.run, to_line(row))
        outcome, name = _decide(new, row, known)
        if name is not None:
            lines[:] = [line for line in lines if line.name != name]
            lines.append(Line(path, 0, name, new.text))
        yield Merged(outcome, row, path, name or row.run), each.file


def _decide(line: Line, row: Row, known: dict[str, Row]) -> tuple[Outcome, str | None]:
    """What becomes of a row of a run of which the rows ``known`` are here; and the name under which it is written."""
    if row in known.values():
        return Outcome.equal, None
    if any(says_nothing_new(row, each) for each in known.values()):
        return Outcome.same_values, None
    if row.run not in known:
        return Outcome.copied, row.run
    if row.status == "failed":
        return Outcome.failed, None
    if known[row.run].status == "failed":
        return Outcome.replaced, row.run
    return Outcome.beside, repeat_name(row.run, line.text)
