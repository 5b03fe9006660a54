"""What of a results folder is of no use: failed rows, damaged rows, and folders of runs without a row."""

import glob
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import is_locked
from hashbench.runs.lock import HOLDER, LOCK
from hashbench.runs.store import OtherSchema, Store, read

CONFIG = "config.json"  # the first file that a run writes into its folder


class Kind(StrEnum):
    """Why something is of no use."""

    failed = "failed"
    damaged = "damaged"
    folder = "folder"


@dataclass(frozen=True)
class Useless:
    """A file of a row, or the folder of a run, that can be removed."""

    kind: Kind
    path: Path
    why: str

    def remove(self, store: Store) -> bool:
        """Removes it if it is still of no use; returns whether it was."""
        again = next((each for each in _one(self.kind, self.path, store) if each.kind is self.kind), None)
        if again is None:
            return False
        if self.kind is Kind.folder:
            shutil.rmtree(self.path)
        else:
            self.path.unlink()
        return True


def useless(store: Store) -> Iterator[Useless]:
    """What can be removed from ``store``: never a good row, a row of another schema version, or a run in progress."""
    for path in store.paths():
        yield from _row(path, store)
    runs = store.folder / "runs"
    for folder in sorted(runs.iterdir()) if runs.is_dir() else ():
        yield from _folder(folder, store)


def _one(kind: Kind, path: Path, store: Store) -> Iterator[Useless]:
    return _folder(path, store) if kind is Kind.folder else _row(path, store)


def _row(path: Path, store: Store) -> Iterator[Useless]:
    """The row in ``path``, if it failed and is not run again at the moment, or if it is damaged."""
    try:
        row = read(path)
    except OtherSchema:
        return
    except HashbenchError as error:
        if not path.is_dir() or path.is_symlink():
            yield Useless(Kind.damaged, path, str(error).removeprefix(f"{path}: "))
        return
    if row.status == "failed" and not is_locked(store.run_folder(row.run) / LOCK):
        yield Useless(Kind.failed, path, row.reason or "no reason given")


def _folder(folder: Path, store: Store) -> Iterator[Useless]:
    """The folder of a run, if no row but a failed one is there and it is not run at the moment.

    A folder without the configuration of a run is somebody else's.
    """
    if folder.is_symlink() or not folder.is_dir() or is_locked(folder / LOCK):
        return
    rows = list((store.folder / "rows").glob(f"*/{glob.escape(folder.name)}.json"))
    names = {path.name for path in folder.iterdir()}
    if all(map(_failed, rows)) and (CONFIG in names or names <= {LOCK, HOLDER}):
        why = "its run failed" if rows else "no row: its run did not end, and would continue from here"
        yield Useless(Kind.folder, folder, why)


def _failed(path: Path) -> bool:
    """Whether the row in ``path`` is that of a failed run; a row that cannot be read is not known to be."""
    try:
        return read(path).status == "failed"
    except HashbenchError:
        return False
