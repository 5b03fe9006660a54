"""``hashbench eval``: scores saved codes, those of hashbench or of other code."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hashbench.cli import _eval_shards
from hashbench.cli._options import READING, AsJson, BitOrder, Bits, Layout
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import require_apart

if TYPE_CHECKING:
    from hashbench.codes.files import CodeStream, SavedCodes
    from hashbench.evaluation.evidence import Evidence
    from hashbench.evaluation.report import Evaluation
    from hashbench.evaluation.scorer import Scorer
    from hashbench.histogram.counts import Ints

TREC = "TREC files"
MORE_ARRAYS = "Weights and training items"
SHARDS = "A database in several files"

Array = Annotated[
    str | None,
    typer.Option(
        metavar="FILE[:KEY]",
        help="Read this array from FILE (its array KEY), without a search.",
        rich_help_panel=READING,
    ),
]


def command(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE_OR_FOLDER...", help="Files with codes and labels.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help='Compute these metrics: one, such as ap, "ap(norm=retrieved)@1000" or precision@r2, or several, such '
            'as "ap,ndcg@100" or "recall@1,5,10". The option can be repeated.'
        ),
    ] = None,
    ties: Annotated[
        Literal["expected", "order", "best", "worst"],
        typer.Option(
            help="The order of items at equal distance: the mean over all orders, the order of the database, or "
            "relevant items first (best) or last (worst)."
        ),
    ] = "expected",
    as_: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="CODE_BASE",
            help="Also print the values of other evaluation code, at the cutoffs of the metrics: deephash, hashnet, "
            "hashnet-caffe, sklearn, talr or trec. Repeat the option for more.",
        ),
    ] = None,
    empty: Annotated[
        Literal["skip", "zero"],
        typer.Option(help="Leave a query without a relevant item out of the means (skip), or count it as 0 (zero)."),
    ] = "skip",
    exclude_self: Annotated[
        bool,
        typer.Option(
            "--exclude-self",
            help="Leave a query that is an item of the database out of its own ranking: by equal ids, or row by row if "
            "queries and database are the same items.",
        ),
    ] = False,
    as_json: AsJson = False,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a CSV file with one line per metric.")] = None,
    per_query: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a CSV file with one line per query, numbered from 0 in file order."),
    ] = None,
    curves: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write curves as CSV and PNG: precision against recall, precision at N, recall by Hamming radius.",
        ),
    ] = None,
    device: Annotated[
        str,
        typer.Option(
            help="The device that counts: auto, cpu, cuda or cuda:N. auto: a GPU if the CPU would need 10 seconds."
        ),
    ] = "auto",
    trec_run: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the rankings as a TREC run file.", rich_help_panel=TREC)
    ] = None,
    trec_depth: Annotated[
        int, typer.Option(min=1, help="The number of items per query in the TREC run file.", rich_help_panel=TREC)
    ] = 1000,
    qrels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the relevant pairs as a TREC qrels file.", rich_help_panel=TREC),
    ] = None,
    query_codes: Array = None,
    database_codes: Array = None,
    query_labels: Array = None,
    database_labels: Array = None,
    query_ids: Array = None,
    database_ids: Array = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Rank by the weighted Hamming distance with the weights of the bits in the array KEY of the files "
            "(bit_weights in codes of hashbench), or in FILE:KEY.",
            rich_help_panel=MORE_ARRAYS,
        ),
    ] = None,
    train_codes: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[:KEY]",
            help="Training codes: count queries with the code and a label of a training item. Needs --train-labels.",
            rich_help_panel=MORE_ARRAYS,
        ),
    ] = None,
    train_labels: Annotated[
        str | None, typer.Option(metavar="FILE[:KEY]", help="Training labels.", rich_help_panel=MORE_ARRAYS)
    ] = None,
    bits: Bits = None,
    bit_order: BitOrder = None,
    layout: Layout = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Read the database piece by piece, or load it into memory. [default: piece by piece from 128 MiB on]",
            rich_help_panel=READING,
        ),
    ] = None,
    shards: Annotated[
        str | None,
        typer.Option(
            metavar="'PATTERN[:KEY]'",
            help="The database is in these files, such as 'pieces/db-*.h5' (quoted): each is counted by itself.",
            rich_help_panel=SHARDS,
        ),
    ] = None,
    shard_labels: Annotated[
        str | None,
        typer.Option(
            metavar="'PATTERN[:KEY]'",
            help="The labels of the shards, where they are in files of their own.",
            rich_help_panel=SHARDS,
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="The number of shards that are counted at the same time.", rich_help_panel=SHARDS)
    ] = 1,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Count the shards on a Ray cluster: auto, host:port, or local for this machine alone.",
            rich_help_panel=SHARDS,
        ),
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Keep the sum of the finished shards here, to continue from it.",
            rich_help_panel=SHARDS,
        ),
    ] = None,
    append: Annotated[
        bool,
        typer.Option(
            "--append", help="Add the shards to those in --counts; none of them may be in it.", rich_help_panel=SHARDS
        ),
    ] = False,
) -> None:
    """Compute metrics of saved codes, exactly under ties.

    Codes are read from .npz, .npy, .mat, .h5 files or packed bytes; in a folder, files are found by the names that
    other hashing code uses. The report shows each metric with its range over the orders of tied items, and diagnostics
    of the codes. Means are over the queries with a relevant item. The values are the same on every --device; options
    that need the order of the items (--ties order, --as, the TREC files) always use the CPU.
    """
    from hashbench.codes import files as saved_files
    from hashbench.evaluation import report, scorer
    from hashbench.evaluation.conventions import CONVENTIONS
    from hashbench.histogram.device import usable
    from hashbench.metrics import Metrics

    default = scorer.DEFAULT if weights is None else scorer.DEFAULT_WEIGHTED
    names, device, named = Metrics.parse(metric or default), usable(device), files or []
    for name in as_ or []:
        CONVENTIONS.get(name)  # an unknown one is refused before anything is counted
    explicit = saved_files.Explicit(
        query_codes, database_codes, query_labels, database_labels, bits, bit_order, layout, query_ids, database_ids
    )
    outputs = [path for path in (csv, per_query, trec_run, qrels, counts) if path is not None]
    require_apart(named, outputs)
    training = _training(train_codes, train_labels)
    if not named and query_codes is None:
        raise HashbenchError("nothing to score: name a file or folder of codes, or --query-codes and the other three")
    source = ", ".join(map(str, named or filter(None, (query_codes, database_codes))))
    trec = {"--trec-run": trec_run, "--qrels": qrels}
    by_order = {"--as": as_, "--ties order": ties == "order", **trec, "--weights": weights}
    if shards is not None:
        from hashbench.evaluation.count_shards import How
        from hashbench.evaluation.shards import Source

        _eval_shards.refuse({**by_order, "--exclude-self": exclude_self, "--train-codes": train_codes}, explicit)
        of_queries, how = Source(tuple(named), explicit, stream, device), How(jobs, counts, append, ray)
        total, query = _eval_shards.counted(shards, shard_labels, of_queries, how, outputs)
        scores = total.evidence.scores(names, ties=ties, empty=empty)
        found = report.Evaluation(f"{source}, {shards}", scores, total.evidence, query, notes=total.notes)
        _write(found, csv, per_query, curves)
        return _print(found, as_json)
    _eval_shards.refuse_alone(
        {"--shard-labels": shard_labels, "--jobs": jobs > 1, "--ray": ray, "--counts": counts, "--append": append}
    )
    saved = saved_files.opened(named, explicit=explicit, streamed=stream)
    if weights is not None:
        names.refuse_radii("weighted distances do")
        _refuse({"--as": as_, "--trec-run": trec_run, "--curves": curves}, "cannot be combined with --weights")
    if exclude_self:
        _refuse({"--as": as_}, "other code counts a query among its own neighbours: leave --exclude-self out")
    if isinstance(saved, saved_files.CodeStream):
        _refuse(by_order, _not_held(saved))
    of_bits = None if weights is None else saved_files.weights_at(weights, named, saved.query.n_bits)
    options: dict[str, Any] = {"ties": ties, "empty": empty, "weights": of_bits}
    scored = scorer.Scorer.of_saved(saved, names, exclude_self=exclude_self, device=device, **options)
    evidence = scored.evidence()
    _note([*saved.notes, *_hints(saved, evidence, exclude_self)])
    found = _report(source, saved, scored, as_ or [])
    if training is not None:
        of_training = saved_files.opened(named, explicit=explicit, streamed=stream, training=training)
        found = _with_training(found, of_training, device)
    _write(found, csv, per_query, curves)
    _write_trec(saved, trec_run, trec_depth, qrels, scored.own)
    return _print(found, as_json)


def _training(codes: str | None, labels: str | None) -> tuple[str, str] | None:
    if (codes is None) != (labels is None):
        raise HashbenchError("the training items: --train-codes and --train-labels go together")
    return None if codes is None or labels is None else (codes, labels)


def _refuse(options: Mapping[str, object], why: str) -> None:
    """Raises HashbenchError if one of the options is given."""
    if given := [option for option, value in options.items() if value]:
        raise HashbenchError(f"{', '.join(given)}: {why}")


def _not_held(saved: "CodeStream") -> str:
    return (
        "the whole database would be needed at once, but it is read piece by piece "
        f"({saved.n_database:,} items of {saved.query.n_bits} bits): say --no-stream where it fits into memory"
    )


def _hints(saved: "SavedCodes | CodeStream", evidence: "Evidence", exclude_self: bool) -> list[str]:
    """A note if --exclude-self looks as if it were meant, or if it leaves nothing out."""
    if exclude_self:
        return [] if evidence.n_excluded else ["--exclude-self: no query is in the database, by the ids"]
    n_queries = len(saved.query)
    if n_queries > 1 and (evidence.is_same or saved.ids_in_database() == n_queries):
        return ["every query is an item of the database and its own neighbour: --exclude-self leaves it out"]
    return []


def _note(notes: list[str]) -> None:
    for note in notes:
        typer.echo(f"note: {note}", err=True)


def _report(source: str, saved: "SavedCodes | CodeStream", scored: "Scorer", as_: list[str]) -> "Evaluation":
    """The report, with the values of the conventions ``as_``, for which the database is in memory."""
    from hashbench.codes.files import SavedCodes
    from hashbench.evaluation import report

    scores = scored.scores()
    more: dict[str, Any] = {"ids_in_database": saved.ids_in_database(), "notes": saved.notes}
    if isinstance(saved, SavedCodes):
        ranks, held = report.cutoffs(scored.metrics), (saved.query, saved.database, saved.relevance)
        more["conventions"] = tuple(report.convention_scores(name, *held, ranks) for name in as_)
    return report.Evaluation(source, scores, scored.evidence(), saved.query, **more)


def _with_training(found: "Evaluation", training: "SavedCodes | CodeStream", device: str) -> "Evaluation":
    """``found`` with the number of queries that have the code and a label of a training item."""
    from hashbench import histogram
    from hashbench.evaluation import diagnostics
    from hashbench.histogram.device import for_pairs

    chosen = for_pairs(device, len(training.query) * training.n_database, training.query.n_bits)
    counted = histogram.count_blocks(
        training.query, training.pieces(), n_items=training.n_database, device=chosen, progress=True
    )
    return replace(found, twins_in_training=diagnostics.diagnose_queries(counted).twins)


def _write(found: "Evaluation", csv: Path | None, per_query: Path | None, curves: Path | None) -> None:
    from hashbench.evaluation import report

    if curves is not None:  # first: it fails without a relevant item, and then nothing is written
        report.write_curves(curves, found.evidence.histogram)
    if csv is not None:
        report.write_csv(csv, found.scores)
    if per_query is not None:
        report.write_per_query(per_query, found.scores, found.evidence.histogram)


def _write_trec(
    saved: "SavedCodes | CodeStream", run: Path | None, depth: int, qrels: Path | None, own: "Ints | None"
) -> None:
    from hashbench.codes.files import SavedCodes
    from hashbench.evaluation import trec

    if not isinstance(saved, SavedCodes):
        return  # _check_held has refused these options
    if run is not None:
        trec.write_run(run, saved.query, saved.database, depth=depth, own=own)
    if qrels is not None:
        trec.write_qrels(qrels, saved.relevance, own=own)


def _print(found: "Evaluation", as_json: bool) -> None:
    from hashbench.evaluation import report

    if found.queries.without_relevant == found.scores.n_queries:
        typer.echo(f"warning: {found.source}: no query has a relevant item, so there is no mean", err=True)
    typer.echo(report.as_json(found) if as_json else report.as_text(found))
