"""The report of ``hashbench eval`` about saved codes: as text, JSON, CSV and curves."""

from hashbench.evaluation.report._curves import write_curves
from hashbench.evaluation.report._evaluation import (
    ConventionScores,
    Evaluation,
    Leak,
    convention_scores,
    cutoffs,
    evaluation,
)
from hashbench.evaluation.report._text import as_text
from hashbench.evaluation.report._values import as_json, write_csv, write_per_query
from hashbench.evaluation.report.contact_sheet import Tile, write_contact_sheet

__all__ = [
    "ConventionScores",
    "Evaluation",
    "Leak",
    "Tile",
    "as_json",
    "as_text",
    "convention_scores",
    "cutoffs",
    "evaluation",
    "write_contact_sheet",
    "write_csv",
    "write_curves",
    "write_per_query",
]
