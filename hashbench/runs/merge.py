"""Rows of another results folder, such as that of another machine, copied into this one; none is ever lost."""

import glob
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import write_text
from hashbench.runs.diff import says_nothing_new
from hashbench.runs.store import REPEAT, Row, Store, file_text, read, read_with_content, repeat_name


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
    """One row that is merged: what becomes of it, its file here, and the file's text if it is written."""

    outcome: Outcome
    row: Row
    path: Path
    text: str | None = None

    def write(self) -> None:
        """Writes the row, if it is to be written."""
        if self.text is not None:
            write_text(self.path, self.text)


@dataclass(frozen=True)
class Merge:
    """Decides what becomes of rows that are merged into ``store``; it remembers them, so nothing need be written."""

    store: Store
    _known: dict[Path, dict[str, Row]] = field(default_factory=dict)  # path of a run -> its rows, by name

    def of(self, source: Store, damaged: Callable[[HashbenchError], None]) -> Iterator[Merged]:
        """What becomes of each row of ``source``; ``damaged`` is told of rows that cannot be read, here or there."""
        if source.folder.resolve() == self.store.folder.resolve():
            raise HashbenchError(f"{source.folder}: the folder that rows are merged into: name another one")
        for path in source.paths():  # a run's own file comes before those that are kept beside it
            try:
                yield self._one(*read_with_content(path))
            except HashbenchError as error:
                damaged(error)

    def _one(self, row: Row, content: dict[str, Any]) -> Merged:
        place = self.store.row_path(row.dataset, row.protocol, row.run)
        known = self._rows_at(place)
        outcome, name = _decide(row, content, known)
        if name is None:
            return Merged(outcome, row, place)
        known[name] = row
        return Merged(outcome, row, place.with_name(f"{name}.json"), file_text(content))

    def _rows_at(self, place: Path) -> dict[str, Row]:
        """The rows that are here of a run, by name; raises HashbenchError if one of them cannot be read."""
        if place not in self._known:
            beside = sorted(place.parent.glob(f"{glob.escape(place.stem)}{REPEAT}*.json"))
            paths = [place, *beside] if place.exists() else beside
            self._known[place] = {path.stem: read(path) for path in paths}
        return self._known[place]


def _decide(row: Row, content: dict[str, Any], known: dict[str, Row]) -> tuple[Outcome, str | None]:
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
    return Outcome.beside, repeat_name(row.run, content)
