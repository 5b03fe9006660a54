"""The report for programs: one JSON object, CSV with a line per metric or per query, and curves as CSV and pictures."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hashbench.evaluation.conventions import CONVENTIONS
from hashbench.evaluation.diagnostics import CodeDiagnostics
from hashbench.evaluation.report._text import Evaluation
from hashbench.evaluation.scores import Scores
from hashbench.foundation.files import atomic, write_text
from hashbench.histogram import Histogram, curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("metric", "ties", "mean", "std", "worst", "best", "n_queries", "n_empty")
COLOUR = "#0072B2"
SIZE_IN, DPI = (4.8, 3.6), 150
MARKED = 130  # a curve with more points has no markers


def as_json(*found: Evaluation) -> str:
    """The report as one JSON object; a missing value is null, never NaN. Several reports are a list, ``files``."""
    reports = [_report(each) for each in found]
    return json.dumps(reports[0] if len(found) == 1 else {"files": reports}, allow_nan=False, default=asdict)


def _report(found: Evaluation) -> dict[str, Any]:
    queries, evidence = found.queries, found.evidence
    known = {name: CONVENTIONS.get(name) for name in found.conventions}
    about = {name: {"source": convention.source, "summary": convention.summary} for name, convention in known.items()}
    return {
        "file": found.source,
        **found.scores.to_dict(),
        "as": {name: {**about[name], "figures": figures} for name, figures in found.conventions.items()},
        "queries": {name: getattr(queries, name) for name in ("without_relevant", "empty_balls", "radius")},
        "without_class": dict(zip(("queries", "database"), evidence.without_class, strict=True)),
        "excluded_self": evidence.n_excluded,
        "query_codes": _codes(found.query_codes),
        "database_codes": _codes(found.database_codes),
        "leak": {
            "ids_in_database": found.ids_in_database,
            "twins_in_database": queries.twins,
            "twins_in_training": found.twins_in_training,
        },
        "notes": list(found.notes),
    }


def _codes(of: CodeDiagnostics) -> dict[str, Any]:
    return {
        "n_items": of.n_items,
        "n_distinct": of.n_distinct,
        "dead_bits": of.dead,
        "duplicate_bits": of.duplicates,
        "share_of_ones": {"min": float(of.ones.min()), "mean": float(of.ones.mean()), "max": float(of.ones.max())},
    }


def write_csv(path: Path, scores: Scores) -> None:
    """Writes one line per metric to ``path``; a missing value is blank."""
    _write(path, COLUMNS, _lines(scores))


def write_csv_of_files(path: Path, found: Sequence[Evaluation]) -> None:
    """The same for several files, each line with the name of its file."""
    _write(path, ("file", *COLUMNS), ([each.source, *line] for each in found for line in _lines(each.scores)))


def _lines(scores: Scores) -> Iterator[list[Any]]:
    for name in scores:
        line = {"metric": name, "ties": scores.ties, **scores.row(name)}
        yield [line[column] for column in COLUMNS]


def write_per_query(path: Path, scores: Scores, counted: Histogram) -> None:
    """Writes one line per query to ``path``: its number of relevant items and its metrics, blank if left out."""
    values = [scores.per_query(name) for name in scores]
    columns = [[None if np.isnan(value) else value for value in metric.tolist()] for metric in values]
    rows = zip(range(scores.n_queries), counted.n_relevant.tolist(), *columns, strict=True)
    _write(path, ("query", "n_relevant", *scores), rows)


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_text(path, text.getvalue())


class _Curve(NamedTuple):
    """A curve with its ``columns`` in the CSV; ``x`` and ``y`` are the two that are drawn."""

    name: str
    values: Mapping[str, Any]
    columns: Sequence[str]
    x: str
    y: str
    title: str
    label: str  # of the x axis


def _curves(counted: Histogram) -> list[_Curve]:
    """The three curves; raises HashbenchError if no query has a relevant item."""
    # a query that is left out of its own ranking has fewer items
    fewest = int(counted.at_distance.sum(axis=1).min(initial=curves.N_RANKS))
    ball, rank = curves.radius_curve(counted), curves.rank_curve(counted, fewest)
    within = f"within Hamming radius 0 to {counted.n_bits}"
    both, inside = ("radius", "recall", "precision"), ("radius", "recall", "retrieved", "empty")
    first = "Precision of the first N, expected over ties"
    return [
        _Curve("precision_recall", ball, both, "recall", "precision", f"Precision and recall {within}", "recall"),
        _Curve("precision_at_n", rank, tuple(rank), "n", "precision", first, "N"),
        _Curve("recall_by_radius", ball, inside, "radius", "recall", f"Recall {within}", "Hamming radius"),
    ]


def write_curves(folder: Path, counted: Histogram) -> list[Path]:
    """Writes three curves as .csv and .png, or raises HashbenchError if no query has a relevant item."""
    written: list[Path] = []
    for curve in _curves(counted):
        data, picture = folder / f"{curve.name}.csv", folder / f"{curve.name}.png"
        columns = (curve.values[column].tolist() for column in curve.columns)
        _write(data, curve.columns, zip(*columns, strict=True))
        with atomic(picture) as temporary, _own_style():
            _drawn([curve]).savefig(temporary, format="png", metadata={"Software": None})
        written += [data, picture]
    return written


def figure_of_curves(counted: Histogram) -> "Figure":
    """Precision against recall, and precision of the first N; HashbenchError if no query has a relevant item."""
    with _own_style():
        return _drawn(_curves(counted)[:2])


@contextmanager
def _own_style() -> Iterator[None]:
    """The user's matplotlib settings change nothing in the block."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})
        yield


def _drawn(found: Sequence[_Curve]) -> "Figure":
    """The curves side by side."""
    from matplotlib.figure import Figure

    width, height = SIZE_IN
    figure = Figure(figsize=(width * len(found), height), dpi=DPI, layout="constrained")
    for axes, curve in zip(figure.subplots(1, len(found), squeeze=False)[0], found, strict=True):
        x, y = curve.values[curve.x], curve.values[curve.y]
        marker = "o" if len(x) <= MARKED else None
        axes.plot(x, y, color=COLOUR, marker=marker, markersize=3, linewidth=1.4, clip_on=False)
        axes.set(xlabel=curve.label, ylabel=curve.y, ylim=(0, 1))
        axes.set_xlim(0, 1) if curve.x == "recall" else axes.set_xlim(x[0], max(x[-1], x[0] + 1))
        axes.set_title(curve.title, loc="left")
        axes.grid(alpha=0.3)
    return figure
