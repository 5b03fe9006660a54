"""The training of networks: how much of the fall of the loss is left after each epoch, and the learning rate."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hashbench.figures import _of_runs
from hashbench.figures._declared import CellsFile, FigureSpec, Kind
from hashbench.figures._drawing import Drawing
from hashbench.figures._of_runs import Curve, Series
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.training import log

N_MARKS = 8  # on a line
AXES = (
    {"xlabel": "epochs", "ylabel": "fall of the loss still left"},
    {"xlabel": "epochs", "ylabel": "learning rate", "ylim": (0, None)},
)
EXPLANATION = (
    "{cell}; means over {runs}{spread}. The losses of methods have different units: each goes from 1 after the first "
    "epoch to 0 after the last."
)


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure of all runs whose logs are here; where a cell has none, nothing is drawn or removed."""

    def read(row: Row) -> Sequence[Mapping[str, float]] | None:
        return log.read(store.run_folder(row.run)) or None

    return _of_runs.fill(figure, rows, store, read=read, mean=_mean, axes=AXES, explanation=EXPLANATION)


def _mean(label: str, logs: Sequence[Sequence[Mapping[str, float]]]) -> Series:
    """The logs of the runs of one cell; they have as many epochs, for these are part of the cell's settings."""
    n_epochs = min(map(len, logs))
    loss = np.array([[line["loss"] for line in lines[:n_epochs]] for lines in logs])
    lr = np.array([line["lr"] for line in logs[0][:n_epochs]])
    # losses of methods have other units and signs: compared is the part that has still to fall, from 1 to 0
    first, last = loss[:, :1], loss[:, -1:]
    left = (loss - last) / np.where(first == last, np.nan, first - last)  # nan if it ends where it was
    epochs, every = np.arange(1, n_epochs + 1), max(1, n_epochs // N_MARKS)
    mean, least, most = left.mean(axis=0), left.min(axis=0), left.max(axis=0)
    columns = {"loss": loss.mean(axis=0), "left": mean, "least": least, "most": most, "lr": lr}
    points = []
    for place in range(n_epochs):
        values: dict[str, Any] = {key: float(of[place]) for key, of in columns.items()}
        known = {key: None if np.isnan(value) else value for key, value in values.items()}
        points.append({"series": label, "epoch": place + 1, **known, "n_runs": len(logs)})
    curves = Curve(epochs, mean, every, (least, most), is_whole=True), Curve(epochs, lr, every, is_whole=True)
    return Series(curves, points, len(logs))


KIND = Kind(
    "the fall of the loss and the learning rate by epoch, from the logs of runs", CellsFile, _fill, _of_runs.check
)
