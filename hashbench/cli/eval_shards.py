"""``hashbench eval-shards``: scores saved codes whose database is in several files."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from hashbench.cli import _interrupts
from hashbench.cli._options import CodesLayout, Device, layout_of
from hashbench.cli._scoring import Arrays, Curves, Empty, MetricNames, Pairs, PerQuery, places_of
from hashbench.cli._terminal import print_notes
from hashbench.codes.files import Explicit
from hashbench.evaluation.count_shards import count_shards
from hashbench.evaluation.report import Evaluation, sheet_of, write_files
from hashbench.evaluation.scorer import DEFAULT
from hashbench.evaluation.shards import Source, shards_of
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import require_apart
from hashbench.histogram.device import usable
from hashbench.metrics import Metrics
from hashbench.showing.sheet import Sheet

FEW = 3  # notes that are printed: each shard may have its own


def command(
    files: Annotated[list[Path] | None, Argument(metavar="FILE_OR_FOLDER...", help="The queries.")] = None,
    *,
    shards: Annotated[str, Option(metavar="'PATTERN[:KEY]'", help="The files of the database: 'pieces/db-*.h5'.")],
    shard_labels: Annotated[
        str | None, Option(metavar="'PATTERN[:KEY]'", help="The labels of the shards, if in files of their own.")
    ] = None,
    metric: MetricNames = None,
    ties: Annotated[
        Literal["expected", "best", "worst"], Option(metavar="RULE", help="Tied items: expected, best or worst.")
    ] = "expected",
    empty: Empty = "skip",
    pairs: Pairs = None,
    per_query: PerQuery = None,
    curves: Curves = None,
    jobs: Annotated[int, Option(min=1, help="The number of shards that are counted at the same time.")] = 1,
    ray: Annotated[str | None, Option(metavar="ADDRESS", help="Count on Ray: auto, or host:port.")] = None,
    counts: Annotated[
        Path | None, Option(metavar="FILE.npz", help="Keep the sum of the finished shards, to continue from it.")
    ] = None,
    append: Annotated[bool, Option("--append", help="Add the shards, all of them new, to --counts.")] = False,
    device: Device = "auto",
    array: Arrays = None,
    layout: CodesLayout = None,
) -> Sheet:
    """Compute metrics of saved codes whose database is in several files, exactly as if it were one.

    Each file is a shard, with codes and labels of the database. It is counted by itself, here or on a Ray cluster, and
    the counts add up. The report is that of hashbench eval.
    """
    if ray is not None and jobs > 1:
        raise HashbenchError("--jobs cannot be combined with --ray: the cluster counts as many as fit")
    if append and counts is None:
        raise HashbenchError("--append needs --counts FILE, which holds the shards that are finished")
    metrics = Metrics.parse(metric or DEFAULT)
    places = places_of(array, ["query_codes", "query_labels"])
    if not files and "query_codes" not in places:
        raise HashbenchError("no queries: name a file or folder of codes, or their arrays with --array")
    stored = layout_of(layout)
    explicit = Explicit(places, stored.bits, stored.bit_order, stored.rows)
    source = Source(tuple(files or ()), explicit, usable(device))
    parts = shards_of(shards, shard_labels, counts)
    outputs = [path for path in (per_query, counts) if path is not None]
    require_apart([*source.files, *(path for part in parts for path in part.paths)], outputs)
    if counts is not None:
        _interrupts.say_that_it_continues()
    total, query = count_shards(source, parts, counts=counts, append=append, jobs=jobs, address=ray)
    queries = [*map(str, files or [])] or [places["query_codes"]]
    evaluation = Evaluation(
        ", ".join([*queries, shards]),
        total.evidence.scores(metrics, ties=ties, empty=empty),
        total.evidence,
        query,
        notes=total.notes,
        pair_precision=pairs,
    )
    write_files(evaluation, per_query=per_query, curves=curves)
    print_notes(evaluation.notes[:FEW])
    if len(evaluation.notes) > FEW:
        print_notes([f"{len(evaluation.notes) - FEW:,} more such notes: --json has all"])
    return sheet_of(evaluation)
