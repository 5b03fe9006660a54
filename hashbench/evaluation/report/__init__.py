"""The report of ``hashbench eval`` about saved codes: as text, JSON, CSV and curves."""

from hashbench.evaluation.report._text import Evaluation, as_table, as_text, convention_scores
from hashbench.evaluation.report._values import (
    as_json,
    write_csv,
    write_csv_of_comparisons,
    write_csv_of_files,
    write_curves,
    write_pairs,
    write_per_query,
)

__all__ = ["Evaluation", "as_json", "as_table", "as_text", "convention_scores"]
__all__ += [
    "write_csv",
    "write_csv_of_comparisons",
    "write_csv_of_files",
    "write_curves",
    "write_pairs",
    "write_per_query",
]
