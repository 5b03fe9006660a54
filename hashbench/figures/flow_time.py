"""The time of the minimum cost flow of a batch: published, and measured by benchmarks/flow.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from hashbench.figures._declared import FigureFile, FigureSpec, Kind
from hashbench.figures._drawing import WIDTHS_IN, Drawing, explain
from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.runs.row import Row
from hashbench.runs.store import Store

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SERIES = {  # label, line, and one of Okabe and Ito's colours
    "published_s": ("published", "o:", "#000000"),
    "full_network_s": ("n_c arcs a bucket, here", "s--", "#D55E00"),
    "ours_s": ("ours, here", "D-", "#0072B2"),
}
SECONDS = (0.001, 0.01, 0.1, 1.0)  # of the scale
HEIGHT_IN = 2.4


class FlowFile(FigureFile):
    """The keys of such a figure: the problems, and the published seconds by the number of classes, over the buckets."""

    k: int
    lam: float
    sizes: list[int]  # of classes n_c, and of buckets d
    published_s: dict[str, list[float]]


class _Point(BaseModel):
    """The seconds of one size of problem; the record of the benchmark holds more."""

    model_config = ConfigDict(frozen=True)

    n_c: int
    d: int
    ours_s: float
    full_network_s: float


class _Record(BaseModel):
    """What the figure needs of the record that the benchmark writes."""

    model_config = ConfigDict(frozen=True)

    utc: str
    machine: dict[str, Any]
    ortools: str
    repetitions: int
    points: list[_Point]


@dataclass(frozen=True)
class _Times:
    """The panels, one for each number of classes."""

    file: FlowFile
    record: _Record | None

    def draw(self, figure: "Figure") -> None:
        axes = figure.subplots(1, len(self.file.sizes), sharey=True)
        for ax, n_c in zip(axes, self.file.sizes, strict=True):
            self._panel(ax, n_c)
        axes[0].set_ylabel("seconds a batch")
        named = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
        figure.legend(list(named.values()), list(named), loc="outside upper left", ncols=3, frameon=False)
        explain(figure, self._explanation())

    def _panel(self, ax: "Axes", n_c: int) -> None:
        sizes = self.file.sizes
        for name, (label, style, colour) in SERIES.items():
            seconds = [of_point[name] for of_point in _points(self.file, self.record) if of_point["n_c"] == n_c]
            if None not in seconds:
                face = "white" if name == "published_s" else colour
                ax.plot(
                    sizes, seconds, style, color=colour, label=label, markersize=3, markerfacecolor=face, linewidth=1
                )
        ax.set(xscale="log", yscale="log", xlabel="buckets d")
        ax.set_title(f"{n_c} classes", loc="left")
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.set_yticks(SECONDS, [f"{seconds:g}" for seconds in SECONDS])
        ax.minorticks_off()
        ax.grid(axis="y")

    def _explanation(self) -> str:
        published = f"Published: {self.file.source}."
        if self.record is None:
            return published
        here = f"Here: median of {self.record.repetitions}, one core of {self.record.machine['cpu']}"
        return f"{here}, OR-Tools {self.record.ortools}.\n{published}"


def fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:  # noqa: ARG001  (no run is needed)
    """The figure with the times that benchmarks/flow.py wrote to the folder of results, those of the last machine."""
    assert isinstance(figure.file, FlowFile)
    record = _last(store.folder / "benchmarks")
    found = _points(figure.file, record)
    n_measured = 0 if record is None else sum(point["ours_s"] is not None for point in found)
    return Drawing(
        points=found,
        size_in=(WIDTHS_IN[figure.file.width], HEIGHT_IN),
        draw=_Times(figure.file, record).draw,
        n_measured=n_measured,
        missing=None
        if n_measured
        else "nothing is measured (python benchmarks/flow.py does that); drawn: the published values",
    )


def check(figure: FigureSpec) -> None:
    """Raises HashbenchError unless each number of classes has a published value for each number of buckets."""
    assert isinstance(figure.file, FlowFile)
    sizes, published = figure.file.sizes, figure.file.published_s
    if [int(n_c) for n_c in published if n_c.isdigit()] != sizes or any(
        len(s) != len(sizes) for s in published.values()
    ):
        raise figure.error(f"published_s: {len(sizes)} values for each of the sizes {sizes} are expected")


def _points(file: FlowFile, record: _Record | None) -> list[dict[str, Any]]:
    """A point for each number of classes and buckets; the measured seconds are None where there are none."""
    measured = {} if record is None else {(point.n_c, point.d): point for point in record.points}
    found = []
    for n_c in file.sizes:
        for d, published in zip(file.sizes, file.published_s[str(n_c)], strict=True):
            here = measured.get((n_c, d))
            times = {"ours_s": here and here.ours_s, "full_network_s": here and here.full_network_s}
            found.append({"n_c": n_c, "d": d, "k": file.k, "lam": file.lam, "published_s": published, **times})
    return found


def _last(folder: Path) -> _Record | None:
    """The newest record of the benchmark; None if there is none."""
    records = [_read(path) for path in sorted(folder.glob("flow-*.json"))]
    return max(records, key=lambda record: record.utc, default=None)


def _read(path: Path) -> _Record:
    try:
        return _Record.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, ValidationError) as error:
        raise HashbenchError(f"{path}: not a record of benchmarks/flow.py: {one_line(error)}") from None


KIND = Kind("seconds of the minimum cost flow of a batch, over its size", FlowFile, fill, check)
