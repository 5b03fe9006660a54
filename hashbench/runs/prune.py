"""What of a results folder is of no use: failed rows, damaged rows, and folders of runs without a row."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import is_locked
from hashbench.runs.line import Line
from hashbench.runs.lock import HOLDER, LOCK
from hashbench.runs.row import OtherSchema
from hashbench.runs.store import Store

CONFIG = "config.json"  # the first file that a run writes into its folder


class Kind(StrEnum):
    """Why something is of no use."""

    failed = "failed"
    damaged = "damaged"
    folder = "folder"


@dataclass(frozen=True)
class Useless:
    """A row, or the folder of a run, that can be removed; of a row, ``path`` is its file."""

    kind: Kind
    path: Path
    why: str
    line: Line | None = None

    def remove(self, store: Store) -> bool:
        """Removes it if it is still of no use; returns whether it was."""
        if self.line is None:
            rows = {line.name: line for line in store.lines(damaged=lambda _: None)}
            if found := list(_folder(self.path, rows)):
                shutil.rmtree(self.path)
            return bool(found)
        if not list(_row(self.line, store)):
            return False
        with store.changing(self.path) as lines:
            before = len(lines)
            lines[:] = [line for line in lines if line.text != self.line.text]
            return len(lines) < before


def useless(store: Store) -> Iterator[Useless]:
    """What can be removed from ``store``: never a good row, a row of another schema version, or a run in progress."""
    rows = {}
    for line in store.lines(damaged=lambda _: None):
        rows[line.name] = line
        yield from _row(line, store)
    runs = store.folder / "runs"
    for folder in sorted(runs.iterdir()) if runs.is_dir() else ():
        yield from _folder(folder, rows)


def _row(line: Line, store: Store) -> Iterator[Useless]:
    """The row, if it failed and is not run again at the moment, or if it is damaged."""
    try:
        row = line.row()
    except OtherSchema:
        return
    except HashbenchError as error:
        yield Useless(Kind.damaged, line.path, str(error).removeprefix(f"{line.place}: "), line)
        return
    if row.status == "failed" and not is_locked(store.run_folder(row.run) / LOCK):
        yield Useless(Kind.failed, line.path, row.reason or "no reason given", line)


def _folder(folder: Path, rows: Mapping[str, Line]) -> Iterator[Useless]:
    """The folder of a run, if no row but a failed one is there and it is not run at the moment.

    A folder without the configuration of a run is somebody else's.
    """
    if folder.is_symlink() or not folder.is_dir() or is_locked(folder / LOCK):
        return
    line = rows.get(folder.name)
    names = {path.name for path in folder.iterdir()}
    if (line is None or _failed(line)) and (CONFIG in names or names <= {LOCK, HOLDER}):
        why = "no row: its run did not end, and would continue from here" if line is None else "its run failed"
        yield Useless(Kind.folder, folder, why)


def _failed(line: Line) -> bool:
    """Whether the row is that of a failed run; a row that cannot be read is not known to be."""
    try:
        return line.row().status == "failed"
    except HashbenchError:
        return False
