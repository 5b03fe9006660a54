"""The training of networks: how much of the fall of the loss is left after each epoch, and the learning rate."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hashbench.figures import _legend, _of_runs, _two_panels
from hashbench.figures._drawing import Drawing, explain
from hashbench.figures._file import CellsFile
from hashbench.figures._kind import FigureSpec, Kind
from hashbench.runs.store import Row, Store
from hashbench.tables.cell import Cell
from hashbench.tables.csv_field import Value
from hashbench.tables.render_png import styles
from hashbench.training import log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_MARKS = 8  # on a line

Floats = NDArray[np.float64]


class TrainingFile(CellsFile):
    """The keys of such a figure: one cell for each row."""


@dataclass(frozen=True, eq=False)
class _Training:
    """The runs of one method, epoch by epoch: the loss of each run, shape (runs, epochs), and the learning rate."""

    loss: Floats
    lr: Floats

    @property
    def left(self) -> Floats:
        """What each run's loss has still to fall: 1 after the first epoch, 0 after the last; shape (runs, epochs).

        The losses of methods have different units and signs and cannot be compared; how fast each one falls can. A
        loss that ends where it was after the first epoch gives nan.
        """
        first, last = self.loss[:, :1], self.loss[:, -1:]
        fall = np.where(first == last, np.nan, first - last)
        return (self.loss - last) / fall


@dataclass(frozen=True)
class _Panels:
    """The two panels, whose lines have one legend."""

    trained: Mapping[str, _Training]
    explanation: str

    def draw(self, figure: "Figure") -> None:
        looks = styles(self.trained)
        losses, rates = figure.subplots(1, 2)
        for label, of in self.trained.items():
            look, epochs = looks[label], np.arange(1, len(of.lr) + 1)
            every = max(1, len(epochs) // N_MARKS)
            _two_panels.line(losses, epochs, of.left.mean(axis=0), look, every)
            least, most = of.left.min(axis=0), of.left.max(axis=0)
            losses.fill_between(epochs, least, most, color=look.colour, alpha=0.2, linewidth=0)
            _two_panels.line(rates, epochs, of.lr, look, every)
        losses.set(xlabel="epochs", ylabel="fall of the loss still left")
        rates.set(xlabel="epochs", ylabel="learning rate", ylim=(0, None))
        for ax in (losses, rates):
            ax.grid(axis="y")
            ax.xaxis.get_major_locator().set_params(integer=True)
        _legend.draw(figure, dict(zip(looks, losses.get_lines(), strict=True)))
        explain(figure, self.explanation)


def fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure of all runs whose logs are here; where a cell has none, nothing is drawn or removed."""
    return _of_runs.unless_not_here(lambda: _filled(figure, rows, store))


def _filled(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing | None:
    found = _of_runs.found(figure, rows, store, lambda row: log.read(store.run_folder(row.run)) or None)
    trained = {label: _together(logs) for label, logs in found}
    if not trained:
        return None
    panels = _Panels(trained, _explanation(_of_runs.cells_of(figure)[0], trained))
    return _two_panels.drawing(figure, trained, _lines, panels.draw)


def _together(logs: Sequence[Sequence[Mapping[str, float]]]) -> _Training:
    """The logs of the runs of one cell; they have as many epochs, for these are part of the cell's settings."""
    n_epochs = min(map(len, logs))
    loss = np.array([[line["loss"] for line in lines[:n_epochs]] for lines in logs])
    return _Training(loss, np.array([line["lr"] for line in logs[0][:n_epochs]]))


def _lines(label: str, of: _Training) -> Iterator[dict[str, Value]]:
    """The lines of the CSV, one for each epoch; ``loss`` is the mean of the runs."""
    for epoch, (losses, left, lr) in enumerate(zip(of.loss.T, of.left.T, of.lr, strict=True), start=1):
        yield {
            "series": label,
            "epoch": epoch,
            "loss": float(losses.mean()),
            "left": _known(left.mean()),
            "least": _known(left.min()),
            "most": _known(left.max()),
            "lr": float(lr),
            "n_runs": len(losses),
        }


def _known(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def _explanation(cell: Cell, trained: Mapping[str, _Training]) -> str:
    counts = [len(of.loss) for of in trained.values()]
    spread = "; shaded: least to most of them" if max(counts) > 1 else ""
    return (
        f"{cell.dataset} {cell.protocol}, {cell.column}; means over {_of_runs.how_many(counts)}{spread}. The losses of "
        "methods have different units: each goes from 1 after the first epoch to 0 after the last."
    )


KIND = Kind(
    "the fall of the loss and the learning rate by epoch, from the logs of runs", TrainingFile, fill, _of_runs.check
)
