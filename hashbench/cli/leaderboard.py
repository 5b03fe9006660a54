"""``hashbench leaderboard``: which method is best on all tasks of a question, and how sure that is."""

from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option, echo

from hashbench.cli._options import AsJson
from hashbench.cli._terminal import json_text, leave_out, rows_read
from hashbench.foundation.errors import HashbenchError

if TYPE_CHECKING:
    from hashbench.runs.row import Row


def command(
    panels: Annotated[list[str] | None, Argument(help="The panels; all without a name.", metavar="[PANEL]...")] = None,
    verdicts: Annotated[bool, Option("--verdicts", help="Count the published cells that are reproduced.")] = False,
    output: Annotated[Literal["csv", "latex", "markdown", "html"], Option("--format", help="The format.")] = "markdown",
    as_json: AsJson = False,
) -> None:
    """Rank tuned methods, one panel a question: each on all data sets and code lengths of the panel, or not at all.

    A rank is a range: where 95% of resamples of data sets and splits place the method. The panels are those of
    experiments/leaderboard.toml. --verdicts says instead which published values are reproduced, by paper and by method.
    """
    from hashbench.tables import render_leaderboard
    from hashbench.tables.leaderboard import leaderboard, tables_of

    store = rows_read()
    rows = list(store.rows(leave_out))
    if verdicts:
        _verdicts(rows, output, as_json=as_json)
        return
    filled = leaderboard(tables_of(rows, store), panels or [])
    if not any(panel.lines for panel in filled):
        names = ", ".join(panel.name for panel in filled)
        raise HashbenchError(f"no method has all tasks of a panel ({names}): hashbench run TABLE makes the rows")
    if as_json:
        echo(json_text(render_leaderboard.json_leaderboard(filled)))
    else:
        echo(render_leaderboard.render(filled, output).rstrip("\n"))


def _verdicts(rows: "list[Row]", output: str, *, as_json: bool) -> None:
    from hashbench.tables import spec
    from hashbench.tables import verdicts as of_tables
    from hashbench.tables.collect import Rows, collect
    from hashbench.tables.render_leaderboard import RENDERERS

    stored = Rows(rows)
    found = of_tables.verdicts(collect(spec.load(name), stored, None) for name in spec.names())
    if as_json:
        echo(json_text({"verdicts": [each.line() for each in found]}))
    elif output == "csv":
        echo(of_tables.render_csv(found), nl=False)
    else:
        echo(of_tables.render(found, RENDERERS[output]), nl=False)
