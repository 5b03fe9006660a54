"""``hashbench eval-shards``: scores saved codes whose database is in several files."""

import re
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from hashbench.cli import _interrupts
from hashbench.cli._options import Device
from hashbench.cli._scoring import (
    Arrays,
    CodesLayout,
    Curves,
    Empty,
    MetricNames,
    Pairs,
    PerQuery,
    explicit_of,
    places_of,
)
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import require_apart
from hashbench.foundation.progress import note
from hashbench.running.jobs.count_shards import count_shards
from hashbench.running.jobs.shards import Source, shards_of
from hashbench.scoring.evaluation.evaluation import Evaluation
from hashbench.scoring.evaluation.scorer import DEFAULT
from hashbench.scoring.histogram.device import usable
from hashbench.scoring.metrics import Metrics
from hashbench.showing.evaluation import sheet_of, write_files
from hashbench.showing.sheet import Sheet

FEW = 3  # notes that are printed: each shard may have its own


def command(
    files: Annotated[list[Path] | None, Argument(metavar="FILE_OR_FOLDER...", help="The queries.")] = None,
    *,
    shards: Annotated[str, Option(metavar="'PATTERN'", help="The files of the database: 'db-*.h5' or 'db-*.h5:KEY'.")],
    shard_labels: Annotated[
        str | None, Option(metavar="'PATTERN'", help="The labels of the shards, if in other files.")
    ] = None,
    metric: MetricNames = None,
    ties: Annotated[
        Literal["expected", "best", "worst"], Option(metavar="RULE", help="Tied items: expected, best or worst.")
    ] = "expected",
    empty: Empty = "skip",
    pairs: Pairs = None,
    per_query: PerQuery = None,
    curves: Curves = None,
    jobs: Annotated[int, Option(min=1, help="Shards that are counted at the same time.")] = 1,
    counts: Annotated[Path | None, Option(metavar="FILE.npz", help="Keep the counts, to continue from them.")] = None,
    device: Device = "auto",
    array: Arrays = None,
    layout: CodesLayout = None,
) -> Sheet:
    """Compute metrics of saved codes whose database is in several files.

    Each file is a shard, with codes and labels of the database. Shards are counted one by one, or
    --jobs at a time, and the counts add up exactly. With --counts only new shards are counted.
    """
    metrics = Metrics.parse(metric or DEFAULT)
    places = places_of(array, ["query_codes", "query_labels"])
    if not files and "query_codes" not in places:
        raise HashbenchError("no queries: name a file or folder of codes, or their arrays with --array")
    unquoted = re.sub("[0-9]+", "*", shards)
    if any(re.sub("[0-9]+", "*", str(path)) == unquoted != shards for path in files or ()):
        advice = f"quote it, so that the shell does not put files in its place: --shards '{unquoted}'"
        raise HashbenchError(f"--shards {shards}: a pattern is expected: {advice}")
    source = Source(tuple(files or ()), explicit_of(layout, places), usable(device))
    parts = shards_of(shards, shard_labels, counts)
    outputs = [path for path in (per_query, counts) if path is not None]
    require_apart([*source.files, *(path for part in parts for path in part.paths)], outputs)
    if counts is not None:
        _interrupts.say_that_it_continues()
    total, query = count_shards(source, parts, counts=counts, jobs=jobs)
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
    for line in evaluation.notes[:FEW]:
        note(f"note: {line}")
    if len(evaluation.notes) > FEW:
        note(f"note: {len(evaluation.notes) - FEW:,} more such notes: --json has all")
    return sheet_of(evaluation)
