"""A table as text, in the form in which its files are written."""

from hashbench.showing.ink import Format, write
from hashbench.showing.tables.sheet import sheet_of
from hashbench.showing.tables.table import Table


def rendered(table: Table, output: Format = "markdown", *, interval: bool = False) -> str:
    """The table in a format; the LaTeX says in footnotes how the values were made."""
    return write(sheet_of(table, interval=interval, for_paper=output == "latex"), output)
