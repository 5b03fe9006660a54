"""``hashbench eval``: scores saved codes, those of hashbench or of other code."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option, echo

from hashbench import histogram
from hashbench.cli import _interrupts
from hashbench.cli._options import READING, AsJson, BitOrder, Bits, Layout, Output, given
from hashbench.cli._terminal import print_notes, print_sheet
from hashbench.codes import Codes, files
from hashbench.codes import files as saved_files
from hashbench.codes.files import CodeStream, Explicit, SavedCodes
from hashbench.evaluation import diagnostics, report, trec
from hashbench.evaluation.conventions import CONVENTIONS
from hashbench.evaluation.count_shards import How, count_shards
from hashbench.evaluation.report import Evaluation, sheet_of, sheet_of_files
from hashbench.evaluation.scorer import DEFAULT, DEFAULT_WEIGHTED, Scorer
from hashbench.evaluation.scores import Empty
from hashbench.evaluation.shard_total import Total
from hashbench.evaluation.shards import Source, shards_of
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import all_or_none, require_apart, resolved, write_text
from hashbench.histogram.device import for_pairs, usable
from hashbench.histogram.ties import Policy
from hashbench.metrics import Metrics
from hashbench.relevance.neighbours import default_metrics
from hashbench.showing.ink import Format, write

ONE_FILE = ", which counts the database in parts: score one file of all items"
IN_MEMORY = ": use --no-stream where it fits into memory"

TrecOption = partial(Option, rich_help_panel="TREC files")
MoreOption = partial(Option, rich_help_panel="Weights and training items")
NeighbourOption = partial(Option, rich_help_panel="Neighbours in place of labels")
ShardOption = partial(Option, rich_help_panel="A database in several files")
ReadingOption = partial(Option, rich_help_panel=READING)
Array = Annotated[
    str | None, ReadingOption(metavar="FILE[:KEY]", help="This array is in FILE (its KEY), or the KEY of a FILE above.")
]


def command(
    files: Annotated[list[Path] | None, Argument(metavar="FILE_OR_FOLDER...", help="Codes and labels.")] = None,
    metric: Annotated[
        list[str] | None,
        Option(help='Metrics, such as ap, map@1000, precision@r2, "recall@1,5,10"; repeatable.'),
    ] = None,
    ties: Annotated[
        Literal["expected", "order", "best", "worst"],
        Option(help="Tied items: the mean over all orders, the order of the database, relevant items first or last."),
    ] = "expected",
    as_: Annotated[
        list[str] | None,
        Option("--as", metavar="CODE_BASE", help="Also print what other code does: hashbench list conventions."),
    ] = None,
    empty: Annotated[
        Literal["skip", "zero"],
        Option(help="Leave queries without a relevant item out of the means, or count them as 0."),
    ] = "skip",
    exclude_self: Annotated[
        bool,
        Option("--exclude-self", help="Leave a query that is in the database, by its id or row, out of its ranking."),
    ] = False,
    output: Output = "text",
    as_json: AsJson = False,
    csv: Annotated[Path | None, Option(metavar="FILE", help="Write a CSV file with one line per metric.")] = None,
    per_query: Annotated[Path | None, Option(metavar="FILE", help="Write a CSV file with one line per query.")] = None,
    curves: Annotated[
        Path | None, Option(metavar="FOLDER", help="Write curves of precision and recall as CSV and PNG.")
    ] = None,
    pairs: Annotated[
        float | None,
        Option(
            min=0, max=1, metavar="PRECISION", help="Also score pairs by Hamming radius; find that of this precision."
        ),
    ] = None,
    device: Annotated[
        str, Option(help="The device that counts: auto, cpu, cuda or cuda:N. auto: a GPU if the CPU needs 10 seconds.")
    ] = "auto",
    trec_run: Annotated[Path | None, TrecOption(metavar="FILE", help="Write the rankings as a TREC run file.")] = None,
    trec_depth: Annotated[int, TrecOption(min=1, help="The number of items per query in the TREC run file.")] = 1000,
    qrels: Annotated[Path | None, TrecOption(metavar="FILE", help="Write the relevant pairs as a TREC file.")] = None,
    query_codes: Array = None,
    database_codes: Array = None,
    query_labels: Array = None,
    database_labels: Array = None,
    query_ids: Array = None,
    database_ids: Array = None,
    neighbours: Annotated[
        str | None,
        NeighbourOption(
            metavar="FILE[:KEY]", help="The rows of the nearest items of each query, relevant in place of labels."
        ),
    ] = None,
    k: Annotated[
        int | None,
        NeighbourOption("--k", min=1, help="The number of neighbours that are relevant. [default: 10 or all]"),
    ] = None,
    weights: Annotated[
        str | None,
        MoreOption(
            metavar="KEY", help="Rank by weights of the bits, or by activations of the queries, in KEY or FILE:KEY."
        ),
    ] = None,
    train_codes: Annotated[
        str | None, MoreOption(metavar="FILE[:KEY]", help="Training codes: count queries with one and its label.")
    ] = None,
    train_labels: Annotated[str | None, MoreOption(metavar="FILE[:KEY]", help="Training labels.")] = None,
    bits: Bits = None,
    bit_order: BitOrder = None,
    layout: Layout = None,
    stream: Annotated[
        bool | None,
        ReadingOption("--stream/--no-stream", help="Read the database in pieces. [default: from 128 MiB on]"),
    ] = None,
    shards: Annotated[
        str | None, ShardOption(metavar="'PATTERN[:KEY]'", help="The files of the database: 'pieces/db-*.h5'.")
    ] = None,
    shard_labels: Annotated[
        str | None, ShardOption(metavar="'PATTERN[:KEY]'", help="The labels of the shards, if in files of their own.")
    ] = None,
    jobs: Annotated[int, ShardOption(min=1, help="The number of shards that are counted at the same time.")] = 1,
    ray: Annotated[str | None, ShardOption(metavar="ADDRESS", help="Count on Ray: auto, host:port; or local.")] = None,
    counts: Annotated[
        Path | None, ShardOption(metavar="FILE.npz", help="Keep the sum of the finished shards, to continue from it.")
    ] = None,
    append: Annotated[bool, ShardOption("--append", help="Add the shards, all of them new, to --counts.")] = False,
) -> None:
    """Compute metrics of saved codes, exactly under ties; of several files, each with all it needs, in one table.

    Codes are read from .npz, .npy, .mat, .h5 and .pt files, or packed bytes; in a folder, files are found by the names
    that other hashing code uses. The report shows each metric with its range over the orders of tied items, and
    diagnostics of the codes. Means are over the queries with a relevant item. The values are the same on every
    --device. --pairs is for near-duplicates: shares of all pairs of a query and an item; --curves then draws them too.
    """
    names = _metrics(metric, is_weighted=weights is not None, has_neighbours=neighbours is not None)
    device, named, as_ = usable(device), files or [], as_ or []
    for name in as_:
        CONVENTIONS.get(name)  # an unknown one is refused before anything is counted
    arrays = query_codes, database_codes, query_labels, database_labels
    explicit = saved_files.Explicit(*arrays, bits, bit_order, layout, query_ids, database_ids)
    outputs = [path for path in (csv, per_query, trec_run, qrels, counts) if path is not None]
    require_apart(named, outputs)
    training = _training(train_codes, train_labels)
    if not named and query_codes is None:
        raise HashbenchError("nothing to score: name a file or folder of codes, or --query-codes and the other three")
    source = ", ".join(map(str, named or filter(None, (query_codes, database_codes))))
    in_place_of = {"query-labels": query_labels, "database-labels": database_labels, "train-codes": training}
    near = _near(neighbours, k, {**in_place_of, "shards": shards, "stream": stream})
    needs_all = {"as": as_, "ties order": ties == "order", "trec-run": trec_run, "qrels": qrels, "weights": weights}
    if shards is not None:
        _refuse({**needs_all, "exclude-self": exclude_self, "train-codes": training}, "--shards", ONE_FILE)

        of_queries, how = Source(tuple(named), explicit, stream, device), How(jobs, counts, append, ray)
        total, query = _count_shards(of_queries, how, (shards, shard_labels), outputs)
        scores = total.evidence.scores(names, ties=ties, empty=empty)
        found = report.Evaluation(
            f"{source}, {shards}", scores, total.evidence, query, notes=total.notes, pair_precision=pairs
        )
        _write(found, csv, per_query, curves)
        return _print(found, output, as_json=as_json)
    of_shards = {"shard-labels": shard_labels, "jobs": jobs > 1, "ray": ray, "counts": counts, "append": append}
    if alone := given(of_shards):
        raise HashbenchError(f"{alone} needs --shards 'PATTERN', the files of the database")
    if weights is not None:
        names.refuse_radii("weighted distances do")
        _refuse({"as": as_, "trec-run": trec_run, "curves": curves, "pairs": pairs}, "--weights")
    if exclude_self:
        _refuse({"as": as_}, "--exclude-self", ": other code counts a query among its own neighbours")
    asked = Asked(names, ties, empty, exclude_self, device, weights, as_, explicit, stream, needs_all, near)
    if len(named) > 1 and explicit.names_no_array and all(saved_files.is_whole(path, near is None) for path in named):
        of_one = {"as": as_, "per-query": per_query, "curves": curves, "trec-run": trec_run, "qrels": qrels}
        _refuse(
            {**of_one, "pairs": pairs, "train-codes": training},
            "several files that are scored one by one",
            ": score one file",
        )
        return _print_files([_scored([path], str(path), asked)[2] for path in named], csv, output, as_json=as_json)
    saved, scored, found = _scored(named, source, asked)
    if training is not None:
        items = saved_files.opened(named, explicit=explicit, streamed=stream, training=training)
        found = _with_training(found, items, device)
    found = replace(found, pair_precision=pairs)
    with all_or_none():
        _write(found, csv, per_query, curves)
        if isinstance(saved, saved_files.SavedCodes):  # the TREC options have been refused for a stream
            _write_trec(saved, scored, trec_run, trec_depth, qrels)
    return _print(found, output, as_json=as_json)


@dataclass(frozen=True)
class Asked:
    """What the command line asks of each set of codes."""

    names: Metrics
    ties: Policy
    empty: Empty
    exclude_self: bool
    device: str
    weights: str | None
    as_: list[str]
    explicit: Explicit
    stream: bool | None
    needs_all: Mapping[str, object]  # options that need the whole database at once
    neighbours: tuple[str, int | None] | None = None  # where the nearest items are, and how many of them are relevant


def _scored(paths: list[Path], source: str, asked: Asked) -> tuple[SavedCodes | CodeStream, Scorer, Evaluation]:
    """The codes in ``paths``, called ``source``, with their scores; their notes are printed."""
    names = asked.names
    saved: SavedCodes | CodeStream
    if asked.neighbours is None:
        saved = files.opened(paths, explicit=asked.explicit, streamed=asked.stream)
    else:
        place, k = asked.neighbours
        saved = files.load_with_neighbours(paths, place, k=k, explicit=asked.explicit)
        names = names or Metrics.parse(default_metrics(saved.n_neighbours or 1))
    if isinstance(saved, files.CodeStream):
        size = f"{saved.n_database:,} items of {saved.query.n_bits} bits"
        _refuse(asked.needs_all, f"a database that is read piece by piece ({size})", IN_MEMORY)
    weights = None if asked.weights is None else files.weights_at(asked.weights, paths, saved.query)
    options: dict[str, Any] = {"ties": asked.ties, "empty": asked.empty, "weights": weights}
    scored = Scorer.of_saved(saved, names, exclude_self=asked.exclude_self, device=asked.device, **options)
    print_notes([*saved.notes, *_hints(saved, scored, asked.exclude_self)])
    return saved, scored, _report(source, saved, scored, asked.as_)


def _metrics(names: list[str] | None, *, is_weighted: bool, has_neighbours: bool) -> Metrics:
    """The metrics; none where none are named and the number of neighbours, which is not known here, says which."""
    if names is None and has_neighbours:
        return Metrics()
    return Metrics.parse(names or (DEFAULT_WEIGHTED if is_weighted else DEFAULT))


def _near(place: str | None, k: int | None, refused: Mapping[str, object]) -> tuple[str, int | None] | None:
    """Where the neighbours are and how many count; None without. HashbenchError beside options of labels."""
    if place is not None:
        _refuse(refused, "--neighbours", ", which is read whole and takes the place of labels")
        return place, k
    if k is not None:
        raise HashbenchError("--k needs --neighbours FILE:KEY, the nearest items of each query")
    return None


def _training(codes: str | None, labels: str | None) -> tuple[str, str] | None:
    if (codes is None) != (labels is None):
        raise HashbenchError("the training items: --train-codes and --train-labels are needed together")
    return None if codes is None or labels is None else (codes, labels)


def _refuse(options: Mapping[str, object], by: str, why: str = "") -> None:
    if found := given(options):
        raise HashbenchError(f"{found} cannot be combined with {by}{why}")


def _count_shards(
    source: Source, how: How, patterns: tuple[str, str | None], outputs: list[Path]
) -> tuple[Total, Codes]:
    roles = ("database_codes", "database_labels", "query_ids", "database_ids")
    others = {role: getattr(source.explicit, role) for role in roles}
    _refuse(others, "--shards", ": the shards are the database")
    if how.ray is not None and how.jobs > 1:
        raise HashbenchError("--jobs cannot be combined with --ray: the cluster counts as many as fit")
    if how.append and how.counts is None:
        raise HashbenchError("--append needs --counts FILE, which holds the shards that are finished")
    if how.counts is not None:
        _interrupts.say_that_it_continues()
    shards = shards_of(*patterns, how.counts)
    inputs = {resolved(path) for shard in shards for path in shard.paths}
    if taken := [path for path in outputs if resolved(path) in inputs]:
        raise HashbenchError(f"{taken[0]}: is one of the shards: name another file to be written")
    total, query = count_shards(source, shards, how)
    more = len(total.notes) - 3  # each shard may have its own
    print_notes([*total.notes[:3], *([f"{more:,} more such notes: --json has all"] if more > 0 else [])])
    return total, query


def _hints(saved: SavedCodes | CodeStream, scored: Scorer, exclude_self: bool) -> Iterator[str]:
    """A note if --exclude-self looks as if it were meant, or if it leaves nothing out."""
    evidence, n_queries = scored.evidence(), len(saved.query)
    if exclude_self:
        if not evidence.n_excluded:
            yield "--exclude-self: no query is in the database, by the ids"
    elif n_queries > 1 and (evidence.is_same or saved.ids_in_database() == n_queries):
        yield "every query is an item of the database and its own neighbour: --exclude-self leaves it out"


def _report(source: str, saved: SavedCodes | CodeStream, scored: Scorer, as_: list[str]) -> Evaluation:
    scores = scored.scores()
    more: dict[str, Any] = {"ids_in_database": saved.ids_in_database(), "notes": saved.notes}
    if isinstance(saved, SavedCodes):
        more["n_neighbours"] = saved.n_neighbours
        held = saved.query, saved.database, saved.relevance
        more["conventions"] = report.convention_scores(as_, *held, scored.metrics)
    return report.Evaluation(source, scores, scored.evidence(), saved.query, **more)


def _with_training(found: Evaluation, training: SavedCodes | CodeStream, device: str) -> Evaluation:
    """``found`` with the number of queries that have the code and a label of a training item."""
    n_items = training.n_database
    chosen = for_pairs(device, len(training.query) * n_items, training.query.n_bits)
    options: dict[str, Any] = {"n_items": n_items, "device": chosen, "progress": True}
    counted = histogram.count_blocks(training.query, training.pieces(), **options)
    return replace(found, twins_in_training=diagnostics.diagnose_queries(counted).twins)


def _print_files(found: list[Evaluation], csv: Path | None, output: Format, *, as_json: bool) -> None:
    sheet = sheet_of_files(found)
    if csv is not None:
        write_text(csv, write(sheet, "csv"))
    print_sheet(sheet, output, as_json=as_json)


def _write(found: Evaluation, csv: Path | None, per_query: Path | None, curves: Path | None) -> None:
    with all_or_none():
        if curves is not None:
            report.write_curves(curves, found.evidence.histogram)
            report.write_pairs(curves, found)
        if csv is not None:
            write_text(csv, write(report.sheet_of(found), "csv"))
        if per_query is not None:
            report.write_per_query(per_query, found.scores, found.evidence.histogram)


def _write_trec(saved: SavedCodes, scored: Scorer, run: Path | None, depth: int, qrels: Path | None) -> None:
    if run is not None:
        trec.write_run(run, saved.query, saved.database, depth=depth, own=scored.own)
    if qrels is not None:
        trec.write_qrels(qrels, saved.relevance, own=scored.own)


def _print(found: Evaluation, output: Format, *, as_json: bool) -> None:
    if found.queries.without_relevant == found.scores.n_queries:
        echo(f"warning: {found.source}: no query has a relevant item, so there is no mean", err=True)
    print_sheet(sheet_of(found), output, as_json=as_json)
