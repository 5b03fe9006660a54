"""``hashbench leaderboard``: which method is best on all tasks of a question, and how sure that is."""

from typing import Annotated

from typer import Argument, Option

from hashbench.cli._terminal import leave_out, rows_read
from hashbench.foundation.errors import HashbenchError
from hashbench.showing.sheet import Sheet
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import Rows, collect
from hashbench.showing.tables.leaderboard import leaderboard, tables_of
from hashbench.showing.tables.leaderboard_sheet import sheet_of
from hashbench.showing.tables.verdicts import sheet_of_verdicts
from hashbench.showing.tables.verdicts import verdicts as verdicts_of


def command(
    panels: Annotated[list[str] | None, Argument(help="The panels; all without a name.", metavar="[PANEL]...")] = None,
    verdicts: Annotated[bool, Option("--verdicts", help="Count the published cells that are reproduced.")] = False,
) -> Sheet:
    """Rank tuned methods, one panel a question: each on all data sets and code lengths of the panel, or not at all.

    A rank is a range: where 95% of resamples of data sets and splits place the method. The panels are those of
    experiments/leaderboard.toml. --verdicts says instead which published values are reproduced, by paper and by method.
    """
    store = rows_read()
    rows = list(store.rows(leave_out))
    if verdicts:
        stored = Rows(rows)
        return sheet_of_verdicts(verdicts_of(collect(spec.load(name), stored, None) for name in spec.names()))
    filled = leaderboard(tables_of(rows, store), panels or [])
    if not any(panel.lines for panel in filled):
        names = ", ".join(panel.name for panel in filled)
        raise HashbenchError(f"no method has all tasks of a panel ({names}): hashbench run TABLE makes the rows")
    return sheet_of(filled)
