"""The report of ``hashbench eval`` about saved codes: as a sheet, and its files: CSV of queries, curves, TREC files."""

from hashbench.showing.evaluation._scores import lines_of
from hashbench.showing.evaluation._sheet import sheet_of, sheet_of_files
from hashbench.showing.evaluation._values import write_files

__all__ = ["lines_of", "sheet_of", "sheet_of_files", "write_files"]
