"""The report for programs: values for JSON, records for CSV of a metric or a query each, curves as CSV and pictures."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from hashbench.evaluation.conventions import CONVENTIONS, Values
from hashbench.evaluation.curves import curves_of, write_picture, write_picture_of_pairs
from hashbench.evaluation.diagnostics import CodeDiagnostics
from hashbench.evaluation.report._evaluation import Evaluation
from hashbench.evaluation.scores import Scores
from hashbench.foundation.files import all_or_none, atomic, csv_text, write_text
from hashbench.histogram import Histogram
from hashbench.showing.sheet import Grid, records

COLUMNS = ("metric", "ties", "mean", "std", "worst", "best", "n_queries", "n_empty")


def values_of(found: Evaluation) -> dict[str, Any]:
    """The report as an object for JSON; a missing value is None, never NaN."""
    queries, evidence = found.queries, found.evidence
    known = {name: CONVENTIONS.get(name) for name in found.conventions}
    about = {name: {"source": convention.source, "summary": convention.summary} for name, convention in known.items()}
    return {
        "file": found.source,
        **found.scores.to_dict(),
        "neighbours": found.n_neighbours,
        "as": {name: {**about[name], "figures": _figures(figures)} for name, figures in found.conventions.items()},
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
        **_pairs(found),
        "notes": list(found.notes),
    }


def _figures(figures: Values) -> dict[str, Any]:
    return {name: asdict(figure) for name, figure in figures.items()}


def _pairs(found: Evaluation) -> dict[str, Any]:
    """The shares of pairs by radius, where they are asked for."""
    if found.pairs is None:
        return {}
    by_radius = {name: list(map(_blank_nan, values.tolist())) for name, values in found.pairs.items()}
    return {"pairs": {"wished_precision": found.pair_precision, "radius": found.pair_radius, "by_radius": by_radius}}


def _codes(of: CodeDiagnostics) -> dict[str, Any]:
    return {
        "n_items": of.n_items,
        "n_distinct": of.n_distinct,
        "dead_bits": of.dead,
        "duplicate_bits": of.duplicates,
        "share_of_ones": {"min": float(of.ones.min()), "mean": float(of.ones.mean()), "max": float(of.ones.max())},
    }


def records_of(scores: Scores) -> Grid:
    """A line for each metric, numbers with all their digits; a missing value is blank."""
    return records(COLUMNS, _lines(scores), "")


def records_of_files(found: Sequence[Evaluation]) -> Grid:
    """The same for several files, each line with the name of its file."""
    lines = ([each.source, *line] for each in found for line in _lines(each.scores))
    return records(("file", *COLUMNS), lines, "")


def _lines(scores: Scores) -> Iterator[list[Any]]:
    for name in scores:
        line = {"metric": name, "ties": scores.ties, **scores.row(name)}
        yield [line[column] for column in COLUMNS]


def write_per_query(path: Path, scores: Scores, counted: Histogram) -> None:
    """Writes one line per query to ``path``: its number of relevant items and its metrics, blank if left out."""
    values = [scores.per_query(name) for name in scores]
    columns = [map(_blank_nan, metric.tolist()) for metric in values]
    rows = zip(range(scores.n_queries), counted.n_relevant.tolist(), *columns, strict=True)
    _write(path, ("query", "n_relevant", *scores), rows)


def _blank_nan(value: float) -> float | None:
    """The value of a CSV file's cell: None, which is blank, for NaN."""
    return None if np.isnan(value) else value


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    write_text(path, csv_text(header, rows))


def write_pairs(folder: Path, found: Evaluation) -> None:
    """Writes pairs.csv, a line a radius, and pairs.png; nothing where pairs are not reported."""
    if found.pairs is None:
        return
    columns = (map(_blank_nan, values.tolist()) for values in found.pairs.values())
    _write(folder / "pairs.csv", list(found.pairs), zip(*columns, strict=True))
    with atomic(folder / "pairs.png") as temporary:
        write_picture_of_pairs(temporary, found.pairs, found.pair_precision, found.pair_radius)


def write_curves(folder: Path, counted: Histogram) -> list[Path]:
    """Writes three curves as .csv and .png, all or none; raises HashbenchError if no query has a relevant item."""
    written: list[Path] = []
    with all_or_none():
        for curve in curves_of(counted):
            data, picture = folder / f"{curve.name}.csv", folder / f"{curve.name}.png"
            columns = (map(_blank_nan, curve.values[column].tolist()) for column in curve.columns)
            _write(data, curve.columns, zip(*columns, strict=True))
            with atomic(picture) as temporary:
                write_picture(temporary, curve)
            written += [data, picture]
    return written
