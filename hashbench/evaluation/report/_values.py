"""The report for programs: values for JSON, records for CSV of a metric or a query each, curves as CSV and pictures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.evaluation import trec
from hashbench.evaluation.conventions import CONVENTIONS, Values
from hashbench.evaluation.curves import curve_of_pairs, curves_of, write_picture
from hashbench.evaluation.diagnostics import CodeDiagnostics
from hashbench.evaluation.report._evaluation import Evaluation
from hashbench.evaluation.scores import Scores
from hashbench.foundation.files import all_or_none, atomic, csv_text, write_text
from hashbench.metrics import Metrics
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


def write_files(
    found: Evaluation, *, per_query: Path | None, curves: Path | None, trec_folder: Path | None = None
) -> None:
    """Writes the files that are asked for, all or none."""
    with all_or_none():
        if per_query is not None:
            _write_per_query(per_query, found)
        if curves is not None:
            _write_curves(curves, found)
        if trec_folder is not None:
            assert found.items is not None, "TREC files need the items"
            depth = max(trec.DEPTH, *(metric.rank or 0 for metric in Metrics.parse(found.scores)))
            items = found.items
            trec.write_trec(trec_folder, items.query, items.database, items.relevance, depth=depth, own=found.own)


def _write_per_query(path: Path, found: Evaluation) -> None:
    """Writes a line for each query: its number of relevant items and its metrics, blank where it is left out."""
    scores = found.scores
    columns = {"query": np.arange(scores.n_queries), "n_relevant": found.evidence.histogram.n_relevant}
    _write(path, {**columns, **{name: scores.per_query(name) for name in scores}})


def _write_curves(folder: Path, found: Evaluation) -> None:
    """Writes curves as .csv and .png; raises HashbenchError if no query has a relevant item."""
    curves = curves_of(found.evidence.histogram)
    if found.pairs is not None:
        curves.append(curve_of_pairs(found.pairs))
    for curve in curves:
        _write(folder / f"{curve.name}.csv", {column: curve.values[column] for column in curve.columns})
        with atomic(folder / f"{curve.name}.png") as temporary:
            write_picture(temporary, curve)


def _write(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    values = (map(_blank_nan, column.tolist()) for column in columns.values())
    write_text(path, csv_text(columns, zip(*values, strict=True)))


def _blank_nan(value: float) -> float | None:
    """The value of a CSV file's cell: None, which is blank, for NaN."""
    return None if np.isnan(value) else value
