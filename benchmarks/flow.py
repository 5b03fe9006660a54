"""Figure 1 of the sparse-hash paper, measured on this machine: the time to find the codes of a batch.

Run `python benchmarks/flow.py`; figures are medians of 5 on one core (the published ones are means of 20). Problems are
drawn as the authors drew them: class means uniform in [0, 1), k = 4, lambda = 1. Our graph is compared with that of the
paper, which has n_c arcs for each bucket, in the same solver. Writes results/benchmarks/flow-MACHINE.json, flow.csv and
flow.png.
"""

import csv
import io
import os
import statistics
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import _record
import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hashbench import paths
from hashbench.config import Strict, parse, read_toml
from hashbench.files import atomic, write_text
from hashbench.sparse.flow import optimum

REPETITIONS = 5
SERIES = {  # label and its height beside the last point, line, and one of Okabe and Ito's colours
    "published_s": ("published", 0, "o:", "#000000"),
    "full_network_s": ("n_c arcs a\nbucket, here", 9, "s--", "#D55E00"),
    "ours_s": ("ours, here", -5, "o-", "#0072B2"),
}


class Declared(Strict):
    """The settings of the figure and the published times."""

    title: str
    paper: str
    source: str
    k: int
    lam: float
    sizes: list[int]
    published_s: dict[str, list[float]]  # by n_c, over d


FILE = paths.root() / "experiments" / "figures" / "sparse_hash_figure1.toml"
DECLARED = parse(Declared, read_toml(FILE), str(FILE))
SIZES, K, LAM, SOURCE = DECLARED.sizes, DECLARED.k, DECLARED.lam, DECLARED.source
SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # of the scale


@dataclass(frozen=True)
class Point:
    """The median seconds to build and solve one batch, wall-clock and processor time, ours and the alternatives."""

    n_c: int
    d: int
    k: int
    lam: float
    ours_s: float
    full_network_s: float
    published_s: float
    ours_cpu_s: float
    full_network_cpu_s: float


def seconds(batches: list[np.ndarray], start: int | None) -> tuple[float, float]:
    """Medians, wall-clock and of the processor; ``start`` arcs a bucket, or as many as we begin with."""
    found = []
    for means in batches:
        started = time.perf_counter(), time.process_time()
        solved = optimum(means, K, LAM, start=start)
        found.append((time.perf_counter() - started[0], time.process_time() - started[1]))
        assert (solved.codes.sum(axis=1) == K).all()
    wall_s, cpu_s = zip(*found, strict=True)
    return statistics.median(wall_s), statistics.median(cpu_s)


def measure(n_c: int, d: int, published_s: float) -> Point:
    rng = np.random.default_rng(n_c * d)
    batches = [rng.random((n_c, d)) for _ in range(REPETITIONS)]
    seconds(batches[:1], None)  # loads the libraries
    (ours, ours_cpu), (full, full_cpu) = seconds(batches, None), seconds(batches, n_c)
    print(
        f"n_c {n_c:>3}  d {d:>3}  ours {ours:.4f} s (processor {ours_cpu:.4f} s)  "
        f"n_c arcs a bucket {full:.4f} s ({full_cpu:.4f} s)  published {published_s:.4f} s",
        flush=True,
    )
    return Point(n_c, d, K, LAM, ours, full, published_s, ours_cpu, full_cpu)


def as_csv(points: list[Point]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*asdict(points[0]), "published_source"])
    for point in points:
        row = (f"{value:.6f}" if name.endswith("_s") else value for name, value in asdict(point).items())
        writer.writerow([*row, SOURCE])
    return text.getvalue()


def draw(points: list[Point], machine: str, path: Path) -> None:
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
        figure = Figure(figsize=(9.4, 4.2), dpi=150, layout="constrained")
        axes = figure.subplots(1, len(SIZES), sharey=True)
        for ax, n_c in zip(axes, SIZES, strict=True):
            panel(ax, [point for point in points if point.n_c == n_c])
            ax.set_title(f"n_c = {n_c} classes", loc="left", fontsize=9)
        axes[0].set_ylabel("seconds a batch, log scale")
        title = f"{DECLARED.title} (k = {K}, lambda = {LAM:g})"
        figure.suptitle(title, fontsize=11, x=0.01, ha="left")
        here = f"Here: median of {REPETITIONS}, one core of {machine}, OR-Tools {version('ortools')}."
        figure.supxlabel(f"{here}\nPublished: {SOURCE}.", fontsize=8, color="0.35", x=0.01, ha="left")
        with atomic(path) as temporary:
            figure.savefig(temporary, format="png", metadata={"Software": None})


def panel(ax: Axes, points: list[Point]) -> None:
    """Draws the three times over d; the last panel names the lines at their ends."""
    for name, (label, height, style, colour) in SERIES.items():
        line = [(point.d, getattr(point, name)) for point in points]
        face = "white" if name == "published_s" else colour
        ax.plot(*zip(*line, strict=True), style, color=colour, markersize=4.5, markerfacecolor=face, linewidth=1.2)
        if points[0].n_c == SIZES[-1]:
            ax.annotate(
                label,
                line[-1],
                (7, height),
                textcoords="offset points",
                color=colour,
                va="center",
                annotation_clip=False,
            )
    ax.set(xscale="log", yscale="log", xlabel="buckets d")
    ax.set_xticks(SIZES, [str(size) for size in SIZES])
    ax.set_yticks(SECONDS, [f"{seconds:g}" for seconds in SECONDS])
    ax.minorticks_off()
    ax.grid(axis="y", color="0.9", linewidth=0.6)


def main() -> None:
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if cores:
        os.sched_setaffinity(0, {min(cores)})  # the solver has one thread, which must not move between cores
    points = [measure(n_c, d, DECLARED.published_s[str(n_c)][at]) for n_c in SIZES for at, d in enumerate(SIZES)]
    if cores:
        os.sched_setaffinity(0, cores)
    figures = {
        "ortools": version("ortools"),
        "repetitions": REPETITIONS,
        "published_source": SOURCE,
        "points": [asdict(point) for point in points],
    }
    _record.write("flow", figures)
    write_text(_record.FOLDER / "flow.csv", as_csv(points))
    draw(points, str(_record.machine()["cpu"]), _record.FOLDER / "flow.png")


if __name__ == "__main__":
    main()
