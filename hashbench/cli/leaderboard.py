"""``hashbench leaderboard``: which method is best on which task, how sure that is, and what it cost."""

from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option, echo

from hashbench.cli._options import DATASETS, AsJson
from hashbench.cli._terminal import json_text, leave_out, rows_read
from hashbench.foundation.errors import HashbenchError, unknown

if TYPE_CHECKING:
    from hashbench.runs.row import Row


def command(
    dataset: Annotated[list[str] | None, Option(help="Only on this data set.", autocompletion=DATASETS)] = None,
    protocol: Annotated[list[str] | None, Option(help="Only with this protocol.")] = None,
    bits: Annotated[list[int] | None, Option(min=1, help="Only codes of this length.")] = None,
    features: Annotated[list[str] | None, Option(help="Only on these features, or this network.")] = None,
    kind: Annotated[
        list[str] | None, Option(help="Only supervised, unsupervised, shallow or deep methods; of several, all hold.")
    ] = None,
    sort: Annotated[
        Literal["beats", "rank", "method", "tasks", "train", "encode", "memory"], Option(help="The order.")
    ] = "beats",
    all_tracks: Annotated[bool, Option("--all-tracks", help="Tuned methods with our defaults, too.")] = False,
    queries: Annotated[bool, Option("--queries", help="Resample queries too, where histograms are stored.")] = False,
    verdicts: Annotated[bool, Option("--verdicts", help="Count the published cells that are reproduced.")] = False,
    output: Annotated[Literal["csv", "latex", "markdown", "html"], Option("--format", help="The format.")] = "markdown",
    as_json: AsJson = False,
) -> None:
    """Rank the methods on all tasks with stored rows: a task is a data set, a protocol, a code length and features.

    Options that choose tasks may be repeated. A method that a task has no row of keeps its line, with - there. The
    mean rank has an interval of resampled tasks and seeds. --queries reads the histograms of runs, which takes minutes
    for many. --verdicts says instead which published values are reproduced, by paper and by method.
    """
    from hashbench.foundation.config import parse
    from hashbench.tables import leaderboard, render_leaderboard
    from hashbench.tables.tracks import task_of

    store = rows_read()
    rows = list(store.rows(leave_out))
    if verdicts:
        _verdicts(rows, output, as_json=as_json)
        return
    tasks = [*filter(None, map(task_of, rows))]
    for option, names in (("dataset", dataset), ("protocol", protocol), ("features", features)):
        known = {getattr(task, option) for task in tasks}
        if wrong := next((name for name in names or [] if name not in known), None):
            raise HashbenchError(f"--{option}: {unknown(f'{option} of a stored row', wrong, known)}")
    of_tasks = {"datasets": dataset or [], "protocols": protocol or [], "features": features or [], "bits": bits or []}
    chosen = parse(leaderboard.Selection, {**of_tasks, "kinds": kind or [], "all_tracks": all_tracks}, "leaderboard")
    board = leaderboard.leaderboard(rows, chosen, store if queries else None).sorted_by(sort)
    if not board.lines:
        raise HashbenchError("no stored row of binary codes has these tasks and kinds: hashbench results list")
    json = render_leaderboard.json_leaderboard
    echo(json_text(json(board)) if as_json else render_leaderboard.render(board, output).rstrip("\n"))


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
