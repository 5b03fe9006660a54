"""The report of ``hashbench eval`` about saved codes: as a sheet, and its files: CSV of queries, curves."""

from hashbench.evaluation.report._evaluation import Evaluation, convention_scores
from hashbench.evaluation.report._sheet import sheet_of, sheet_of_files
from hashbench.evaluation.report._values import write_curves, write_pairs, write_per_query

__all__ = ["Evaluation", "convention_scores", "sheet_of", "sheet_of_files"]
__all__ += ["write_curves", "write_pairs", "write_per_query"]
