"""``hashbench eval``: scores saved codes, one's own or other people's."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from hashbench.histogram import Histogram
    from hashbench.report import Evaluation
    from hashbench.saved_codes import Explicit, SavedCodes
    from hashbench.scoring import Scores

Array = Annotated[str | None, typer.Option(metavar="FILE[:KEY]", help="Read this array from here; no guessing.")]


def command(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE_OR_FOLDER...", help="Codes and labels.")] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help='Such as ap, "ap(norm=retrieved)@1000", ndcg@100, precision@r2; may be repeated.'),
    ] = None,
    ties: Annotated[
        Literal["expected", "order", "best", "worst"],
        typer.Option(help="Of items at equal distance: the mean over all orders, database order, or an end."),
    ] = "expected",
    as_: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="CODE_BASE",
            help="Also what that code would print at the cutoffs asked for: deephash, hashnet, sklearn, talr, trec.",
        ),
    ] = None,
    empty: Annotated[
        Literal["skip", "zero"], typer.Option(help="A query without a relevant item is left out, or scores 0.")
    ] = "skip",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a CSV line a metric.")] = None,
    per_query: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a CSV line a query.")] = None,
    curves: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write precision-recall, precision at N, recall by radius: CSV and PNG."),
    ] = None,
    trec_run: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the rankings as a TREC run.")] = None,
    trec_depth: Annotated[int, typer.Option(min=1, help="Items a query in the TREC run.")] = 1000,
    qrels: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the relevant pairs as TREC qrels.")] = None,
    query_codes: Array = None,
    database_codes: Array = None,
    query_labels: Array = None,
    database_labels: Array = None,
    train_codes: Annotated[
        str | None, typer.Option(metavar="FILE[:KEY]", help="Training codes, for the leak check; needs --train-labels.")
    ] = None,
    train_labels: Annotated[str | None, typer.Option(metavar="FILE[:KEY]", help="Their labels.")] = None,
    bits: Annotated[int | None, typer.Option(min=1, help="Code length, where codes are packed.")] = None,
    bit_order: Annotated[
        Literal["big", "little"] | None, typer.Option(help="Which bit of a packed byte comes first.")
    ] = None,
    layout: Annotated[
        Literal["items-by-bits", "bits-by-items"] | None, typer.Option(help="What the rows of the codes are.")
    ] = None,
) -> None:
    """Score saved codes, exactly under ties.

    The codes may be .npz, .npy, .mat, .h5 or packed bytes; a folder is searched for the names other code bases use.
    The report gives each metric with its range over the orders of tied items, and what is odd about the codes.
    Means are over the queries with a relevant item.
    """
    from hashbench import histogram, metrics, saved_codes, scoring
    from hashbench.conventions import CONVENTIONS
    from hashbench.errors import HashbenchError

    names = [str(metrics.parse(name)) for name in metric or scoring.DEFAULT]
    for name in as_ or []:
        CONVENTIONS.get(name)  # an unknown one is said before anything is counted
    explicit = saved_codes.Explicit(
        query_codes, database_codes, query_labels, database_labels, bits=bits, bit_order=bit_order, layout=layout
    )
    if (train_codes is None) != (train_labels is None):
        raise HashbenchError("the training items: --train-codes and --train-labels go together")
    saved = _load(files or [], explicit)
    counted = histogram.count(saved.query, saved.database, saved.affinity, progress=True)
    scores = scoring.evaluate(saved.query, saved.database, saved.affinity, names, ties, empty=empty, counted=counted)
    found = _evaluation(_source(files, explicit), saved, scores, counted, as_ or [])
    if train_codes is not None:
        found = _beside(found, saved, replace(explicit, query_codes=train_codes, query_labels=train_labels))
    _write(found, csv, per_query, curves, counted)
    _write_trec(saved, trec_run, trec_depth, qrels)
    _print(found, as_json)


def _load(files: list[Path], explicit: "Explicit") -> "SavedCodes":
    from hashbench import saved_codes
    from hashbench.errors import HashbenchError

    if not files and explicit.query_codes is None:
        raise HashbenchError("nothing to score: name a file or folder of codes, or --query-codes and the other three")
    saved = saved_codes.load(files, explicit=explicit)
    for note in saved.notes:
        typer.echo(f"note: {note}", err=True)
    return saved


def _source(files: list[Path] | None, explicit: "Explicit") -> str:
    return ", ".join(map(str, files or filter(None, (explicit.query_codes, explicit.database_codes))))


def _evaluation(
    source: str, saved: "SavedCodes", scores: "Scores", counted: "Histogram", as_: list[str]
) -> "Evaluation":
    from hashbench import diagnostics
    from hashbench.report import Evaluation, Leak, cutoffs, foreign

    met = diagnostics.retrieval(counted)
    ranks = cutoffs(list(scores))
    return Evaluation(
        source,
        scores,
        met,
        diagnostics.diagnose(saved.query),
        diagnostics.diagnose(saved.database),
        Leak.of(saved.query_ids, saved.database_ids, met),
        tuple(foreign(name, saved.query, saved.database, saved.affinity, ranks) for name in as_),
        saved.notes,
    )


def _beside(found: "Evaluation", saved: "SavedCodes", training: "Explicit") -> "Evaluation":
    """What was found, with the queries that have a training item's code and label; the items are its queries."""
    from hashbench import affinity, diagnostics, histogram, saved_codes

    both = replace(training, database_codes=training.query_codes, database_labels=training.query_labels)
    items = saved_codes.load(explicit=both)
    relevance = affinity.from_labels(saved.affinity.query_labels, items.affinity.query_labels)
    met = diagnostics.retrieval(histogram.count(saved.query, items.query, relevance, progress=True))
    return replace(found, leak=replace(found.leak, twins_in_training=met.twins))


def _write(
    found: "Evaluation", csv: Path | None, per_query: Path | None, curves: Path | None, counted: "Histogram"
) -> None:
    from hashbench import report

    if curves is not None:  # first: without a relevant item there are none, and then nothing is written
        report.write_curves(curves, counted)
    if csv is not None:
        report.write_csv(csv, found.scores)
    if per_query is not None:
        report.write_per_query(per_query, found.scores, counted)


def _write_trec(saved: "SavedCodes", run: Path | None, depth: int, qrels: Path | None) -> None:
    from hashbench import trec

    if run is not None:
        trec.write_run(run, saved.query, saved.database, depth=depth)
    if qrels is not None:
        trec.write_qrels(qrels, saved.affinity)


def _print(found: "Evaluation", as_json: bool) -> None:
    from hashbench import report

    if found.retrieval.without_relevant == found.scores.n_queries:
        typer.echo(f"warning: {found.source}: no query has a relevant item, so there is no mean", err=True)
    typer.echo(report.as_json(found) if as_json else report.as_text(found))
