"""The runs that were interrupted: folders of results/runs without a row, which the command that made them continues."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hashbench.foundation.config import json_object
from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.learning.training import checkpoint_files
from hashbench.learning.training.checkpoint_files import FILE
from hashbench.running.runs.command import PROGRAM, train_command
from hashbench.running.runs.execute import FITTED
from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store

CONFIG = "config.json"
DAMAGES = OSError, ValueError, KeyError, TypeError  # of a configuration that was cut off, or is none
_SPLIT = re.compile(r"-split(\d+)-s\d+-[0-9a-f]+$")  # the end of the name of a run on another split


@dataclass(frozen=True)
class Interrupted:
    """A run that did not end, the share of its epochs that need not be trained again, and the command to continue."""

    run: str
    dataset: str
    method: str
    share: float
    command: str

    @property
    def line(self) -> str:
        """What a list says of it; it is never wrapped, for the command is to be copied."""
        return f"interrupted at {self.share:.0%}: {self.command} continues"


def interrupted(store: Store, program: Sequence[str] = PROGRAM) -> Iterator[Interrupted]:
    """The runs in ``store`` that were interrupted and that a command of today continues, sorted by their names."""
    with_row = {line.name for line in store.lines(damaged=lambda _: None)}
    for folder in store.run_folders():
        if folder.name not in with_row and (run := interrupted_in(folder, store, program)) is not None:
            yield run


def interrupted_in(folder: Path, store: Store, program: Sequence[str] = PROGRAM) -> Interrupted | None:
    """The run of a folder that has no row; None if a process executes it now, or if no command of today continues it.

    The latter is so where its data, its split or the settings of its method have changed since.
    """
    if folder.is_symlink() or not (folder / CONFIG).is_file() or store.is_executed(folder.name):
        return None
    try:
        row = row_without_results(folder)
        command = train_command(row, program)
        epochs = int(row.config["settings"].get("epochs", 0))
    except (HashbenchError, *DAMAGES, AttributeError):
        return None  # cut off, of another version, or somebody else's
    share = 1.0 if (folder / FITTED).is_file() else 0.0
    with suppress(HashbenchError):  # a damaged checkpoint: the command that continues says so
        share = max(share, min(1.0, epochs_done(folder) / max(epochs, 1)))
    return Interrupted(folder.name, row.dataset, row.method, share, command)


def epochs_done(folder: Path) -> int:
    """The epochs before the last whole checkpoint of a run, 0 without any; HashbenchError where none can be read."""
    with retold(lambda cause: f"{folder / FILE}: a damaged checkpoint: {printable(cause, 100)}"):
        last = checkpoint_files.last_whole(folder)
        return 0 if last is None else checkpoint_files.epochs_done(last)


def row_without_results(folder: Path) -> Row:
    """A row that has the names and the configuration of the run in ``folder``, and nothing else.

    Raises one of ``DAMAGES`` where ``CONFIG`` cannot be read.
    """
    config = json_object((folder / CONFIG).read_text(encoding="utf-8"))
    split = _SPLIT.search(folder.name)
    seed = config.pop("seed")
    names = {key: config[key] for key in ("dataset", "protocol", "method", "budget", "settings")}
    split_seed = None if split is None else int(split[1])
    return Row.model_construct(run=folder.name, config=config, seed=seed, split_seed=split_seed, **names)
