"""What ``hashbench eval`` says of saved codes: as text, as JSON, as CSV, as curves."""

from hashbench.evaluation.report._curves import write_curves
from hashbench.evaluation.report._evaluation import Evaluation, Foreign, Leak, cutoffs, foreign
from hashbench.evaluation.report._text import as_text
from hashbench.evaluation.report._values import as_json, write_csv, write_per_query
from hashbench.evaluation.report.contact_sheet import Tile, write_contact_sheet

__all__ = [
    "Evaluation",
    "Foreign",
    "Leak",
    "Tile",
    "as_json",
    "as_text",
    "cutoffs",
    "foreign",
    "write_contact_sheet",
    "write_csv",
    "write_curves",
    "write_per_query",
]
