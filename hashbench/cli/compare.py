"""``hashbench compare``: the differences between codes, runs or lines of a table, and how sure they are."""

from typing import Annotated

from typer import Argument, Context, Option

from hashbench.cli._options import program
from hashbench.cli._scoring import CodesLayout, explicit_of
from hashbench.cli._terminal import leave_out, rows_read
from hashbench.cli.catalogue import complete
from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.evaluation import scorer
from hashbench.scoring.evaluation.compare import check_names
from hashbench.showing.comparison import MOST, compare_codes, compare_lines, side_of
from hashbench.showing.sheet import Sheet
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import collect


def command(
    context: Context,
    sides: Annotated[
        list[str],
        Argument(
            metavar="A B...",
            help="Saved codes, runs, or rows of --table: two or more.",
            autocompletion=complete("runs"),
        ),
    ],
    metric: Annotated[list[str] | None, Option(help="Metrics, named as for hashbench eval; repeatable.")] = None,
    exclude_self: Annotated[bool, Option("--exclude-self", help="Of saved codes, as in hashbench eval.")] = False,
    table: Annotated[
        str | None, Option(metavar="TABLE[/SECTION[/COLUMN]]", help="Compare rows of this table over all their splits.")
    ] = None,
    bits: Annotated[int | None, Option(min=1, help="The column of --table: its code length.")] = None,
    layout: CodesLayout = None,
) -> Sheet:
    """Compare two or more codes of the same queries and database, or two or more rows of a table.

    For each metric: the means, their difference, its interval and its two-sided p, by a paired t-test. Codes and
    runs are of one split: the test is over its queries, and the result holds for this split. With --table, A and B are
    rows of one column of a table, such as ITQ-CCA and KSH at --bits 32: the test is over splits, and the
    sentence that may be claimed of their AP, or of their recall, is printed.

    Of more than two, each is compared with each, and Holm's correction of p is for the number of comparisons.
    """
    if not 2 <= len(sides) <= MOST:
        raise HashbenchError(f"{len(sides)} to compare: 2 to {MOST} codes, runs or rows are expected")
    if table is not None:
        if metric or exclude_self or layout:
            raise HashbenchError(
                "--table compares what the table shows: --metric and the options of saved codes cannot be used with it"
            )
        name, _, section = table.partition("/")
        store = rows_read()
        collected = collect(spec.load(name), store.rows(leave_out), store)
        return compare_lines(name, collected.lines(sides, bits, section))
    if bits is not None:
        raise HashbenchError(f"--bits is the column of --table; of saved codes: --layout {bits}")
    metrics = check_names(metric or scorer.DEFAULT)
    first = program(context)
    explicit = explicit_of(layout)
    return compare_codes([side_of(name, explicit, first, exclude_self=exclude_self) for name in sides], metrics)
