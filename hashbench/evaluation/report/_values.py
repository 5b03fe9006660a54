"""The report for programs: one JSON object, CSV with one line per metric, CSV with one line per query."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.evaluation.diagnostics import CodeDiagnostics
from hashbench.evaluation.report._evaluation import ConventionScores, Evaluation
from hashbench.evaluation.scores import Scores
from hashbench.foundation.files import write_text
from hashbench.histogram import Histogram

COLUMNS = ("metric", "ties", "mean", "std", "worst", "best", "n_queries", "n_empty")


def as_json(found: Evaluation) -> str:
    """The report as one JSON object; a missing value is null, never NaN."""
    scores = found.scores
    return json.dumps(
        {
            "file": found.source,
            **scores.to_dict(),
            "as": {each.convention: _convention_scores(each) for each in found.conventions},
            "queries": {
                "without_relevant": found.queries.without_relevant,
                "empty_balls": found.queries.empty_balls,
                "radius": found.queries.radius,
            },
            "without_class": dict(zip(("queries", "database"), found.without_class, strict=True)),
            "excluded_self": found.n_excluded,
            "query_codes": _codes(found.query_codes),
            "database_codes": _codes(found.database_codes),
            "leak": asdict(found.leak),
            "notes": list(found.notes),
        },
        allow_nan=False,
    )


def write_csv(path: Path, scores: Scores) -> None:
    """Writes one line per metric to ``path``; a missing value is blank."""
    lines = ({"metric": name, "ties": scores.ties, **scores.row(name)} for name in scores)
    _write(path, COLUMNS, ([line[column] for column in COLUMNS] for line in lines))


def write_per_query(path: Path, scores: Scores, counted: Histogram) -> None:
    """Writes one line per query to ``path``: its number of relevant items and its metrics, blank if left out."""
    values = [scores.per_query(name) for name in scores]
    columns = [[None if np.isnan(value) else value for value in metric.tolist()] for metric in values]
    rows = zip(range(scores.n_queries), counted.n_relevant.tolist(), *columns, strict=True)
    _write(path, ("query", "n_relevant", *scores), rows)


def write_columns(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Writes arrays of the same length to ``path`` as CSV, each in a column with its name."""
    _write(path, tuple(columns), zip(*(column.tolist() for column in columns.values()), strict=True))


def _convention_scores(of: ConventionScores) -> dict[str, Any]:
    figures = {name: asdict(printed) for name, printed in of.figures.items()}
    return {"source": of.source, "summary": of.summary, "figures": figures}


def _codes(of: CodeDiagnostics) -> dict[str, Any]:
    return {
        "n_items": of.n_items,
        "n_distinct": of.n_distinct,
        "dead_bits": list(of.dead),
        "duplicate_bits": [list(pair) for pair in of.duplicates],
        "share_of_ones": {"min": float(of.ones.min()), "mean": float(of.ones.mean()), "max": float(of.ones.max())},
    }


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_text(path, text.getvalue())
