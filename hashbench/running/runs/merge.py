"""Rows of other results folders, such as those of other machines, copied into this one; none is ever lost."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import with_bar
from hashbench.foundation.registry import each_usable
from hashbench.running.runs.diff import says_nothing_new
from hashbench.running.runs.row import Row, to_line
from hashbench.running.runs.store import Damaged, Line, Store, read_lines, repeat_name


class MergeOutcome(StrEnum):
    """What becomes of a row that is merged."""

    copied = "copied"
    replaced = "copied in place of a failed row"
    extended = "copied in place of the same row with fewer searches"
    beside = "kept beside the row here, which has other values or fewer"
    equal = "already here"
    same_values = "left out: the row here has the same values"
    failed = "left out: it failed, and there is a row of this run here"


WRITTEN = {MergeOutcome.copied, MergeOutcome.replaced, MergeOutcome.extended, MergeOutcome.beside}


@dataclass(frozen=True)
class Merged:
    """One row that is merged: what becomes of it, its file and name here."""

    outcome: MergeOutcome
    row: Row
    path: Path
    name: str


def merge(
    sources: Iterable[Store],
    into: Store,
    damaged: Damaged,
    *,
    dry_run: bool = False,
    verify: Callable[[Row, Store], Row] = lambda row, _source: row,
) -> list[Merged]:
    """What becomes of the rows of ``sources``, written ``into`` a store unless ``dry_run``; ``damaged`` gets errors.

    ``verify`` gets each successful row that is not here, with its source, and returns the row to be written; a row
    where it raises HashbenchError is left out.
    """

    def verified(row: Row, source: Store) -> Row:
        if row.status == "ok" and into.find(row.dataset, row.protocol, row.run) != row:
            return verify(row, source)
        return row

    rows: list[Row] = []
    for source in sources:
        if source.folder.resolve() == into.folder.resolve():
            raise HashbenchError(f"{source.folder}: the folder that rows are merged into: name another one")
        read = with_bar(list(source.rows(damaged)), "verify", "row")
        rows += [row for _, row in each_usable(read, partial(verified, source=source), damaged)]
    rows_by_file: dict[Path, list[Row]] = {}
    for row in rows:
        rows_by_file.setdefault(into.rows_path(row.dataset, row.protocol), []).append(row)
    unchanged = nullcontext({path: read_lines(path) for path in rows_by_file})
    merged: list[Merged] = []
    with unchanged if dry_run else into.changing_all(rows_by_file) as lines:
        for path, rows_of_file in rows_by_file.items():
            for row in rows_of_file:
                merged += _merged(row, path, lines[path], damaged)
    return merged


def _merged(row: Row, path: Path, lines: list[Line], damaged: Damaged) -> Iterator[Merged]:
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
    if outcome in WRITTEN:
        lines[:] = [*(line for line in lines if line.name != new.name), new]
    yield Merged(outcome, row, path, new.name)


def _outcome(row: Row, known: dict[str, Row]) -> MergeOutcome:
    if row in known.values():
        return MergeOutcome.equal
    if any(says_nothing_new(row, other) for other in known.values()):
        return MergeOutcome.same_values
    if row.run not in known:
        return MergeOutcome.copied
    if row.status == "failed":
        return MergeOutcome.failed
    here = known[row.run]
    if here == row.model_copy(update={"searches": {search: row.searches.get(search) for search in here.searches}}):
        return MergeOutcome.extended
    return MergeOutcome.replaced if here.status == "failed" else MergeOutcome.beside
