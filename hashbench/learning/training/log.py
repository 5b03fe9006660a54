"""The log of a training run: one line for each epoch, a tracker if one is asked for, and a plot at the end."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import atomic, reported, write_text
from hashbench.learning.training.trackers import TRACKERS

FILE = "metrics.jsonl"
PICTURE = "training.png"
# in the lines of epochs after which --eval-every scored items
HELD_OUT_AP = "held_out_ap"
TRAIN_AP = "train_ap"
TITLES = {
    "loss": "loss",
    HELD_OUT_AP: "held-out AP",
    TRAIN_AP: "AP of training items",
    "lr": "learning rate",
    "alpha": "alpha of tanh",
}
_OF_EVERY_LINE = ("epoch", "seconds", "alpha")  # of those that are read
_OF_TRAINING = {*TITLES, "epoch", "step", "images_per_s", "seconds"}


class Log:
    """Writes metrics.jsonl in the folder of a run, one JSON object for each epoch, and tells the tracker ``track``."""

    def __init__(
        self, folder: Path, epochs_done: int, track: str | None = None, config: Mapping[str, Any] | None = None
    ) -> None:
        self.folder = folder
        # a killed run trains the epochs after its checkpoint again
        lines = read(folder) if epochs_done else []
        kept = [line for line in lines if line["epoch"] < epochs_done]
        write_text(folder / FILE, "".join(json.dumps(line) + "\n" for line in kept))
        self._tracker = None
        if track is not None:
            self._tracker = TRACKERS[track](folder, config or {}, epochs_done)

    def write(self, values: Mapping[str, float]) -> None:
        """Adds the line of an epoch; ``values`` must hold ``epoch``."""
        path = self.folder / FILE
        with reported(path), path.open("a") as file:
            file.write(json.dumps(dict(values)) + "\n")
        if self._tracker is not None:
            tracked = {name: value for name, value in values.items() if name not in ("epoch", "step")}
            self._tracker.write(tracked, int(values["epoch"]))

    def close(self) -> None:
        """Writes the plot, and ends the tracking."""
        if self._tracker is not None:
            self._tracker.close()
        draw(self.folder)


def read(folder: Path) -> list[dict[str, float]]:
    """The lines of metrics.jsonl; a last line that a killed process did not finish is left out.

    HashbenchError where the file holds something else.
    """
    path = folder / FILE
    lines = list[dict[str, float]]()
    if not path.exists():
        return lines
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            if line.startswith("{"):
                break
            values = None
        if not isinstance(values, dict) or not all(isinstance(values.get(key), int | float) for key in _OF_EVERY_LINE):
            remedy = "remove it to go on from the checkpoint, without the seconds of the epochs before"
            raise HashbenchError(f"{path}:{number}: damaged, not the line of an epoch: {remedy}")
        lines.append(values)
    return lines


def seconds(folder: Path) -> float:
    """The seconds that all epochs in metrics.jsonl took together, before and after a restart; 0 without epochs."""
    return sum(line["seconds"] for line in read(folder))


def of_objective(folder: Path) -> dict[str, float] | None:
    """What the objective says in the last line, such as the distances of its centres; None if it says nothing."""
    last = read(folder)[-1:]
    return {key: value for line in last for key, value in line.items() if key not in _OF_TRAINING} or None


def draw(folder: Path) -> None:
    """Writes training.png, a panel for each of ``TITLES`` that was measured (alpha of tanh only if it changes)."""
    lines = read(folder)
    if not lines:
        return
    from matplotlib.figure import Figure

    names = [name for name in TITLES if any(name in line for line in lines)]
    if len({line["alpha"] for line in lines}) == 1:
        names.remove("alpha")
    figure = Figure(figsize=(6.4, 1.2 + 1.6 * len(names)), layout="constrained")
    for axes, name in zip(figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0], names, strict=True):
        there = [line for line in lines if name in line]
        marker = ""  # a curve of one point is invisible without a marker
        if len(there) < max(3, len(lines)):
            marker = "o"
        axes.plot([line["epoch"] + 1 for line in there], [line[name] for line in there], marker=marker, markersize=4)
        axes.set_ylabel(TITLES[name])
        axes.grid(visible=True, alpha=0.3)
        if name == "lr":
            axes.set_ylim(bottom=0)
    axes.set_xlabel("epochs")
    axes.xaxis.get_major_locator().set_params(integer=True)
    with atomic(folder / PICTURE) as temporary:
        figure.savefig(temporary, format="png", dpi=100)
