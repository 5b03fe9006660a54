"""The time of the minimum cost flow of a batch: published, and measured by benchmarks/flow.py."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from hashbench.foundation.errors import retold
from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.showing.figures._declared import FigureFile, FigureSpec, Kind
from hashbench.showing.figures._drawing import WIDTHS_IN, Drawing, Figure, explain

SERIES = {  # label, line, and one of Okabe and Ito's colours
    "published_s": ("published", "o:", "#000000"),
    "full_network_s": ("n_c arcs a bucket, here", "s--", "#D55E00"),
    "ours_s": ("ours, here", "D-", "#0072B2"),
}
SECONDS = (0.001, 0.01, 0.1, 1.0)  # of the scale
HEIGHT_IN = 2.4
NOT_MEASURED = "nothing is measured (python benchmarks/flow.py does that); drawn: the published values"


class FlowFile(FigureFile):
    """The keys of such a figure: the problems, and the published seconds by the number of classes, over the buckets."""

    k: int
    lam: float
    sizes: list[int]  # of classes n_c, and of buckets d
    published_s: dict[str, list[float]]


class _Point(BaseModel):
    """The seconds of one size of problem; the record of the benchmark holds more."""

    n_c: int
    d: int
    ours_s: float
    full_network_s: float


class _Record(BaseModel):
    """What the figure needs of the record that the benchmark writes."""

    utc: str
    machine: dict[str, Any]
    ortools: str
    repetitions: int
    points: list[_Point]


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:  # noqa: ARG001  (no run is needed)
    """The figure with the times that benchmarks/flow.py wrote to the folder of results, those of the last machine."""
    file: FlowFile = figure.file
    records = map(_read, sorted((store.folder / "benchmarks").glob("flow-*.json")))
    record = max(records, key=lambda record: record.utc, default=None)
    points = _points(file, record)
    text = f"Published: {file.source}."
    if record is not None:
        here = f"Here: median of {record.repetitions}, one core of {record.machine['cpu']}"
        text = f"{here}, OR-Tools {record.ortools}.\n{text}"
    n_measured = sum(point["ours_s"] is not None for point in points)
    size = (WIDTHS_IN[file.width], HEIGHT_IN)
    draw = partial(_draw, file.sizes, points, text)
    return Drawing(points, size, draw, n_measured, missing=None if n_measured else NOT_MEASURED)


def _check(figure: FigureSpec) -> None:
    sizes = figure.file.sizes
    published = figure.file.published_s
    is_whole = all(len(seconds) == len(sizes) for seconds in published.values())
    if not is_whole or [int(n_c) for n_c in published if n_c.isdigit()] != sizes:
        raise figure.error(f"published_s: {len(sizes)} values for each of the sizes {sizes} are expected")


def _points(file: FlowFile, record: _Record | None) -> list[dict[str, Any]]:
    measured = {}
    if record is not None:
        measured = {(point.n_c, point.d): point for point in record.points}
    points = []
    for n_c in file.sizes:
        for d, published in zip(file.sizes, file.published_s[str(n_c)], strict=True):
            times = {name: getattr(measured.get((n_c, d)), name, None) for name in ("ours_s", "full_network_s")}
            points.append({"n_c": n_c, "d": d, "k": file.k, "lam": file.lam, "published_s": published, **times})
    return points


def _read(path: Path) -> _Record:
    with retold(lambda cause: f"{path}: not a record of benchmarks/flow.py: {cause}", OSError, ValueError):
        return _Record.model_validate_json(path.read_text(encoding="utf-8"))


def _draw(sizes: list[int], points: list[dict[str, Any]], text: str, figure: Figure) -> None:
    axes = figure.subplots(1, len(sizes), sharey=True)
    for ax, n_c in zip(axes, sizes, strict=True):
        for name, (label, style, colour) in SERIES.items():
            seconds = [point[name] for point in points if point["n_c"] == n_c]
            if None not in seconds:
                face = "white" if name == "published_s" else colour
                ax.plot(
                    sizes, seconds, style, color=colour, label=label, linewidth=1, markersize=3, markerfacecolor=face
                )
        ax.set(xscale="log", yscale="log", xlabel="buckets d")
        ax.set_title(f"{n_c} classes", loc="left")
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.set_yticks(SECONDS, [f"{seconds:g}" for seconds in SECONDS])
        ax.minorticks_off()
        ax.grid(axis="y")
    axes[0].set_ylabel("seconds a batch")
    named = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    figure.legend(list(named.values()), list(named), loc="outside upper left", ncols=3, frameon=False)
    explain(figure, text)


KIND = Kind("seconds of the minimum cost flow of a batch, over its size", FlowFile, _fill, _check)
