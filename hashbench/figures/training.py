"""The training of networks: how much of the fall of the loss is left after each epoch, and the learning rate."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hashbench.figures import _of_runs
from hashbench.figures._declared import CellsFile, FigureSpec, Kind
from hashbench.figures._drawing import Drawing
from hashbench.figures._panels import Look
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.tables.render_csv import Value
from hashbench.training import log

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_MARKS = 8  # on a line
AXES = (
    {"xlabel": "epochs", "ylabel": "fall of the loss still left"},
    {"xlabel": "epochs", "ylabel": "learning rate", "ylim": (0, None)},
)
EXPLANATION = (
    "{cell}; means over {runs}{spread}. The losses of methods have different units: each goes from 1 after the first "
    "epoch to 0 after the last."
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Training:
    """The runs of one method, epoch by epoch: the loss of each run, shape (runs, epochs), and the learning rate."""

    loss: Floats
    lr: Floats

    @property
    def n_runs(self) -> int:
        return len(self.loss)

    @property
    def left(self) -> Floats:
        """The part of each run's loss that has still to fall: 1 after the first epoch, 0 after the last.

        Shape (runs, epochs). The losses of methods have different units and signs and cannot be compared; how fast each
        one falls can. A loss that ends where it was after the first epoch gives nan.
        """
        first, last = self.loss[:, :1], self.loss[:, -1:]
        return (self.loss - last) / np.where(first == last, np.nan, first - last)

    def lines(self, label: str) -> Iterator[dict[str, Value]]:
        """The lines of the CSV, one for each epoch; ``loss`` is the mean of the runs."""
        for epoch, (losses, left, lr) in enumerate(zip(self.loss.T, self.left.T, self.lr, strict=True), start=1):
            means: dict[str, Value] = {"series": label, "epoch": epoch, "loss": float(losses.mean())}
            spread = {"left": left.mean(), "least": left.min(), "most": left.max()}
            known = {name: None if np.isnan(value) else float(value) for name, value in spread.items()}
            yield {**means, **known, "lr": float(lr), "n_runs": self.n_runs}

    def draw(self, left: "Axes", right: "Axes", look: Look) -> None:
        """Draws the losses, their spread over the runs shaded, and the learning rate."""
        epochs, of_loss = np.arange(1, len(self.lr) + 1), self.left
        every = max(1, len(epochs) // N_MARKS)
        _of_runs.draw_line(left, epochs, of_loss.mean(axis=0), look, every)
        left.fill_between(epochs, of_loss.min(axis=0), of_loss.max(axis=0), color=look.color, alpha=0.2, linewidth=0)
        _of_runs.draw_line(right, epochs, self.lr, look, every)
        for ax in (left, right):
            ax.locator_params(axis="x", integer=True)


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure of all runs whose logs are here; where a cell has none, nothing is drawn or removed."""

    def read(row: Row) -> Sequence[Mapping[str, float]] | None:
        return log.read(store.run_folder(row.run)) or None

    return _of_runs.fill(figure, rows, store, read=read, mean=_together, axes=AXES, explanation=EXPLANATION)


def _together(logs: Sequence[Sequence[Mapping[str, float]]]) -> _Training:
    """The logs of the runs of one cell; they have as many epochs, for these are part of the cell's settings."""
    n_epochs = min(map(len, logs))
    loss = np.array([[line["loss"] for line in lines[:n_epochs]] for lines in logs])
    return _Training(loss, np.array([line["lr"] for line in logs[0][:n_epochs]]))


KIND = Kind(
    "the fall of the loss and the learning rate by epoch, from the logs of runs", CellsFile, _fill, _of_runs.check
)
