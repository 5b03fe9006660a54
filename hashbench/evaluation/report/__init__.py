"""The report of ``hashbench eval`` about saved codes: as a sheet, and its files: CSV of queries, curves, TREC files."""

from hashbench.evaluation.report._evaluation import Evaluation
from hashbench.evaluation.report._sheet import sheet_of, sheet_of_files
from hashbench.evaluation.report._values import write_files

__all__ = ["Evaluation", "sheet_of", "sheet_of_files", "write_files"]
