"""The parts of a results folder that are of no use: failed rows, damaged rows, folders that no run continues from."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hashbench.datasets.card import cards
from hashbench.foundation.config import json_object
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.registry import refuse
from hashbench.methods import METHODS
from hashbench.runs.interrupted import CONFIG, interrupted_in
from hashbench.runs.row import OtherSchema
from hashbench.runs.store import HOLDER, LOCK, Damaged, Line, Store


@dataclass(frozen=True)
class Useless:
    """A row, or the folder of a run, that can be removed; of a row, ``path`` is its file."""

    kind: Literal["failed", "damaged", "folder"]  # why it is of no use
    path: Path
    why: str
    line: Line | None = None

    def remove(self, store: Store) -> bool:
        """Removes it if it is still of no use; returns whether it was."""
        if self.line is None:
            lines_now = {line.name: line for line in store.lines(damaged=lambda _: None)}
            is_useless = _folder(self.path, lines_now, store) is not None
            if is_useless:
                shutil.rmtree(self.path)
            return is_useless
        if _row(self.line, store) is None:
            return False
        with store.changing(self.path) as lines:
            before = len(lines)
            lines[:] = [line for line in lines if line.text != self.line.text]
            return len(lines) < before


def useless(store: Store, unreadable: Damaged = refuse) -> Iterator[Useless]:
    """What can be removed from ``store``: no good row, no row of another schema version, no run that goes on or can.

    ``unreadable`` is called with the error of each file of rows that cannot be read; it stays.
    """
    rows = list(store.lines(unreadable))
    lines = {line.name: line for line in rows}
    parts = [_row(line, store) for line in rows]
    parts += [_folder(folder, lines, store) for folder in store.run_folders()]
    return (part for part in parts if part is not None)


def _row(line: Line, store: Store) -> Useless | None:
    """The row, if it failed and is not run again at the moment, or if it is damaged."""
    try:
        row = line.row()
    except OtherSchema:
        return None
    except HashbenchError as error:
        return Useless("damaged", line.path, str(error).removeprefix(f"{line.place}: "), line)
    if row.status != "failed" or store.is_executed(row.run):
        return None
    return Useless("failed", line.path, row.reason or "no reason given", line)


def _folder(folder: Path, lines: Mapping[str, Line], store: Store) -> Useless | None:
    """A run's folder, not in use, of a failed run or with nothing to continue; without config.json somebody else's."""
    if folder.is_symlink() or not folder.is_dir() or store.is_executed(folder.name):
        return None
    names = {path.name for path in folder.iterdir()}
    if CONFIG not in names and not names <= {LOCK, HOLDER}:
        return None
    if (line := lines.get(folder.name)) is None:
        if interrupted_in(folder, store) is None and _names_known(folder):
            return Useless("folder", folder, "no row, and no command of today continues its run")
        return None
    with suppress(HashbenchError):  # a row that cannot be read is not known to have failed
        if line.row().status == "failed":
            return Useless("folder", folder, "its run failed")
    return None


def _names_known(folder: Path) -> bool:
    """Whether data set and method of a run are known, or its file is damaged; others may be of another root or data."""
    try:
        config = json_object((folder / CONFIG).read_text(encoding="utf-8"))
        return config["method"] in METHODS and config["dataset"] in cards()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return True
