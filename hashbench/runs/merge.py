"""Rows of other results folders, such as those of other machines, copied into this one; none is ever lost."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.registry import each_usable
from hashbench.runs.diff import says_nothing_new
from hashbench.runs.row import Row, from_line, read_schema_1, to_line
from hashbench.runs.store import Damaged, Line, Store, read_lines, repeat_name


class MergeOutcome(StrEnum):
    """What becomes of a row that is merged."""

    copied = "copied"
    replaced = "copied in place of a failed row"
    extended = "copied in place of the same row with fewer searches"
    beside = "kept beside the row here, which has other values or fewer"
    equal = "already here"
    same_values = "left out: the row here has the same values"
    failed = "left out: it failed, and there is a row of this run here"


@dataclass(frozen=True)
class Merged:
    """One row that is merged: what becomes of it, its file and name here; ``loose`` is its own file of schema 1."""

    outcome: MergeOutcome
    row: Row
    path: Path
    name: str
    loose: Path | None = None


def merge(sources: Iterable[Store], into: Store, damaged: Damaged, *, dry_run: bool = False) -> list[Merged]:
    """What becomes of the rows of ``sources``, written ``into`` a store unless ``dry_run``; ``damaged`` gets errors."""
    own = into.folder.resolve()
    rows = [each for source in sources for each in _rows_of(source, source.folder.resolve() == own, damaged)]
    found = merge_rows(rows, into, damaged, dry_run=dry_run)
    for each in () if dry_run else found:
        if each.loose is not None and each.outcome not in (MergeOutcome.same_values, MergeOutcome.failed):
            each.loose.unlink()
    return found


def merge_rows(
    rows: Iterable[tuple[Row, Path | None]],
    into: Store,
    damaged: Damaged,
    *,
    dry_run: bool = False,
    check: Callable[[Merged], object] = lambda _: None,
) -> list[Merged]:
    """As :func:`merge`, of rows, each with its ``loose`` file; nothing is written where ``check`` raises an error."""
    by_file: dict[Path, list[tuple[Row, Path | None]]] = {}
    for row, loose in rows:
        by_file.setdefault(into.rows_path(row.dataset, row.protocol), []).append((row, loose))
    found: list[Merged] = []
    with nullcontext({path: read_lines(path) for path in by_file}) if dry_run else into.changing_all(by_file) as lines:
        for path, own in by_file.items():
            for each in (each for row, loose in own for each in _merged(row, loose, path, lines[path], damaged)):
                check(each)
                found.append(each)
    return found


def _rows_of(source: Store, is_own: bool, damaged: Damaged) -> Iterator[tuple[Row, Path | None]]:
    """The rows of a folder, read without being trusted; a run's own row comes before those that are beside it."""
    files = sorted(source.rows_folder.glob("*/*.json"))  # of schema 1
    if is_own and not files:
        raise HashbenchError(f"{source.folder}: the folder that rows are merged into: name another one")
    lines = () if is_own else source.lines(damaged)
    reads: list[tuple[Callable[[], Row], Path | None]] = []
    reads += [(partial(from_line, line.text, line.place, strict=True), None) for line in lines]
    reads += [(partial(read_schema_1, path), path if is_own else None) for path in files]
    yield from ((row, loose) for (_, loose), row in each_usable(reads, lambda each: each[0](), damaged))


def _merged(row: Row, loose: Path | None, path: Path, lines: list[Line], damaged: Damaged) -> Iterator[Merged]:
    """What becomes of a row; if it is to be written it is put among the ``lines`` of its file."""
    try:
        known = {line.name: line.row() for line in lines if line.run == row.run}
    except HashbenchError as error:
        damaged(error)
        return
    new = Line(path, 0, row.run, to_line(row))
    outcome = _outcome(row, known)
    if outcome is MergeOutcome.beside:
        new = replace(new, name=repeat_name(row.run, new.text))
    if outcome in (MergeOutcome.copied, MergeOutcome.replaced, MergeOutcome.extended, MergeOutcome.beside):
        lines[:] = [*(line for line in lines if line.name != new.name), new]
    yield Merged(outcome, row, path, new.name, loose)


def _outcome(row: Row, known: dict[str, Row]) -> MergeOutcome:
    if row in known.values():
        return MergeOutcome.equal
    if any(says_nothing_new(row, each) for each in known.values()):
        return MergeOutcome.same_values
    if row.run not in known:
        return MergeOutcome.copied
    if row.status == "failed":
        return MergeOutcome.failed
    here = known[row.run]
    if here == row.model_copy(update={"searches": {of: row.searches.get(of) for of in here.searches}}):
        return MergeOutcome.extended
    return MergeOutcome.replaced if here.status == "failed" else MergeOutcome.beside
