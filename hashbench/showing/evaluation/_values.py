"""The report for programs: values for JSON, records for CSV of a metric or a query each, curves as CSV and pictures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.files import all_or_none, atomic, csv_text, write_text
from hashbench.scoring.evaluation import trec
from hashbench.scoring.evaluation.conventions import CONVENTIONS
from hashbench.scoring.evaluation.curves import curve_of_pairs, curves_of, write_picture
from hashbench.scoring.evaluation.diagnostics import CodeDiagnostics
from hashbench.scoring.evaluation.evaluation import Evaluation
from hashbench.scoring.evaluation.scores import Scores
from hashbench.scoring.metrics import Metrics
from hashbench.showing.sheet import Grid, records

COLUMNS = ("metric", "ties", "mean", "std", "worst", "best", "n_queries", "n_empty")


def values_of(evaluation: Evaluation) -> dict[str, Any]:
    """The report as an object for JSON; a missing value is None, never NaN."""
    queries = evaluation.queries
    n_queries, n_items = evaluation.evidence.without_class
    conventions = {}
    for name, values in evaluation.conventions.items():
        convention = CONVENTIONS.get(name)
        figures = {figure: asdict(value) for figure, value in values.items()}
        conventions[name] = {"source": convention.source, "summary": convention.summary, "figures": figures}
    values_by_name: dict[str, Any] = {
        "file": evaluation.source,
        **evaluation.scores.to_dict(),
        "neighbours": evaluation.n_neighbours,
        "as": conventions,
        "queries": {
            "without_relevant": queries.without_relevant,
            "empty_balls": queries.empty_balls,
            "radius": queries.radius,
        },
        "without_class": {"queries": n_queries, "database": n_items},
        "excluded_self": evaluation.evidence.n_excluded,
        "query_codes": _codes(evaluation.query_codes),
        "database_codes": _codes(evaluation.database_codes),
        "leak": {
            "ids_in_database": evaluation.ids_in_database,
            "twins_in_database": queries.twins,
        },
    }
    if evaluation.pairs is not None:
        by_radius = {name: list(map(_blank_nan, values.tolist())) for name, values in evaluation.pairs.items()}
        values_by_name["pairs"] = {
            "wished_precision": evaluation.pair_precision,
            "radius": evaluation.pair_radius,
            "by_radius": by_radius,
        }
    values_by_name["notes"] = list(evaluation.notes)
    return values_by_name


def _codes(codes: CodeDiagnostics) -> dict[str, Any]:
    return {
        "n_items": codes.n_items,
        "n_distinct": codes.n_distinct,
        "dead_bits": codes.dead,
        "share_of_ones": {
            "min": float(codes.ones.min()),
            "mean": float(codes.ones.mean()),
            "max": float(codes.ones.max()),
        },
    }


def records_of(scores: Scores) -> Grid:
    """A line for each metric, numbers with all their digits; a missing value is blank."""
    return records(COLUMNS, _lines(scores), "")


def records_of_files(evaluations: Sequence[Evaluation]) -> Grid:
    """The same for several files, each line with the name of its file."""
    lines = ([evaluation.source, *line] for evaluation in evaluations for line in _lines(evaluation.scores))
    return records(("file", *COLUMNS), lines, "")


def _lines(scores: Scores) -> Iterator[list[Any]]:
    for name in scores:
        line = {"metric": name, "ties": scores.ties, **scores.row(name)}
        yield [line[column] for column in COLUMNS]


def write_files(
    evaluation: Evaluation, *, per_query: Path | None, curves: Path | None, trec_folder: Path | None = None
) -> None:
    """Writes the files that are asked for, all or none."""
    with all_or_none():
        if per_query is not None:
            scores = evaluation.scores
            columns = {"query": np.arange(scores.n_queries), "n_relevant": evaluation.evidence.histogram.n_relevant}
            _write(per_query, {**columns, **{name: scores.per_query(name) for name in scores}})
        if curves is not None:
            _write_curves(curves, evaluation)
        if trec_folder is not None:
            assert evaluation.items is not None, "TREC files need the items"
            depth = max(trec.DEPTH, *(metric.rank or 0 for metric in Metrics.parse(evaluation.scores)))
            items = evaluation.items
            trec.write_trec(
                trec_folder, items.query, items.database, items.relevance, depth=depth, own_rows=evaluation.own_rows
            )


def _write_curves(folder: Path, evaluation: Evaluation) -> None:
    """Writes curves as .csv and .png; raises HashbenchError if no query has a relevant item."""
    curves = curves_of(evaluation.evidence.histogram)
    if evaluation.pairs is not None:
        curves.append(curve_of_pairs(evaluation.pairs))
    for curve in curves:
        _write(folder / f"{curve.name}.csv", {column: curve.values[column] for column in curve.columns})
        with atomic(folder / f"{curve.name}.png") as temporary:
            write_picture(temporary, curve)


def _write(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    values = (map(_blank_nan, column.tolist()) for column in columns.values())
    write_text(path, csv_text(columns, zip(*values, strict=True)))


def _blank_nan(value: float) -> float | None:
    """The value of a CSV file's cell: None, which is blank, for NaN."""
    if np.isnan(value):
        return None
    return value
