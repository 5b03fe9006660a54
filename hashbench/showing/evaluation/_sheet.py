"""The report about saved codes as a sheet."""

from collections.abc import Iterator, Sequence

import numpy as np

from hashbench.scoring.evaluation import diagnostics
from hashbench.scoring.evaluation.conventions import CONVENTIONS, Values
from hashbench.scoring.evaluation.evaluation import Evaluation
from hashbench.scoring.metrics import shown
from hashbench.showing.evaluation._scores import grid_of, number, range_of
from hashbench.showing.evaluation._values import records_of, records_of_files, values_of
from hashbench.showing.sheet import Cell, Grid, Number, Sheet

LISTED = 8  # at most so many bits are listed by number
PAIR_ROWS = 16  # about so many radii are listed
PAIR_COLUMNS = ("pairs within radius", "found", "precision", "recall", "F1", "false positive rate")
PAIR_FORMS = {"precision": ".4f", "recall": ".4f", "f1": ".4f", "false_positive_rate": ".3g"}
ORDERS = {"order": "in database order", "best": "best order", "worst": "worst order"}


def sheet_of(evaluation: Evaluation) -> Sheet:
    """The report: scores with their range over the orders of tied items, then queries, codes, bits and leaks."""
    scores = evaluation.scores
    n_excluded = evaluation.evidence.n_excluded
    texts = []
    if scores.ties in ORDERS:
        texts.append(f"ties: {ORDERS[scores.ties]}")
    if n_excluded:
        texts.append(f"{n_excluded:,} queries are left out of their own ranking")
    rows: list[list[Cell]] = []
    for name, lines in (
        ("queries", _queries(evaluation)),
        ("codes", _codes(evaluation)),
        ("bits", _bits(evaluation)),
        ("leak", _leak(evaluation)),
    ):
        rows += [["" if place else name, line] for place, line in enumerate(lines)]
    conventions = [_convention(name, values) for name, values in evaluation.conventions.items()]
    return Sheet(
        f"{evaluation.source}: {scores.n_queries} queries, {scores.n_database} items, {scores.n_bits} bits",
        [grid_of(scores)],
        texts,
        parts=[*conventions, *_pairs(evaluation), Sheet(grids=[Grid(rows)])],
        values=lambda: values_of(evaluation),
        records=lambda: records_of(scores),
    )


def sheet_of_files(evaluations: Sequence[Evaluation]) -> Sheet:
    """The scores of several files in one grid: a row each, the mean of each metric and its range over tie orders."""
    all_scores = [evaluation.scores for evaluation in evaluations]
    columns: dict[str, list[Cell]] = {
        "file": [evaluation.source for evaluation in evaluations],
        "bits": [scores.n_bits for scores in all_scores],
        "queries": [scores.n_queries for scores in all_scores],
        "items": [scores.n_database for scores in all_scores],
    }
    headings = [*columns]
    cells = [*columns.values()]
    for name in all_scores[0]:
        headings.append(shown(name))
        cells.append([number(scores[name]) for scores in all_scores])
        ranges: list[Cell] = [range_of(scores, name) for scores in all_scores]
        if any(ranges):
            headings.append("[worst, best]")
            cells.append(ranges)
    return Sheet(
        grids=[Grid([*zip(*cells, strict=True)], headings)],
        values=lambda: {"files": [values_of(evaluation) for evaluation in evaluations]},
        records=lambda: records_of_files(evaluations),
    )


def _convention(name: str, values: Values) -> Sheet:
    convention = CONVENTIONS.get(name)
    rows: list[list[Cell]] = []
    for figure, printed in values.items():
        about = None
        if printed.of_this_machine:
            about = "on this machine: its sort is not stable"
        rows.append([figure, number(printed.value), about])
    return Sheet(f"as {name}: {convention.source}", [Grid(rows)], [convention.summary])


def _pairs(evaluation: Evaluation) -> Iterator[Sheet]:
    """A row for every radius, of long codes for some, and the radius of the precision that is wished."""
    pairs = evaluation.pairs
    if pairs is None:
        return
    radius = evaluation.pair_radius
    n_bits = evaluation.scores.n_bits
    best = int(np.argmax(pairs["f1"]))
    listed = {*range(0, n_bits + 1, -(-n_bits // PAIR_ROWS)), n_bits, best}
    at_radius = "at no radius"
    if radius is not None:
        listed.add(radius)
        at_radius = f"radius {radius}, recall {pairs['recall'][radius]:.4f}"
    rows: list[list[Cell]] = []
    for at in sorted(listed):
        row: list[Cell] = [str(at), int(pairs["found"][at])]
        for name, form in PAIR_FORMS.items():
            share = float(pairs[name][at])
            row.append("-" if np.isnan(share) else Number(share, form))
        rows.append(row)
    notes = [f"precision {evaluation.pair_precision:g}: {at_radius}; best F1: radius {best}"]
    yield Sheet(grids=[Grid(rows, PAIR_COLUMNS)], notes=notes)


def _queries(evaluation: Evaluation) -> Iterator[str]:
    queries = evaluation.queries
    fate = ""
    if queries.without_relevant:
        fate = " (left out)"
        if evaluation.scores.empty == "zero":
            fate = " (score 0)"
    yield (
        f"{queries.without_relevant:,} have no relevant item{fate}; "
        f"{queries.empty_balls:,} find nothing within Hamming radius {queries.radius}"
    )
    n_queries, n_items = evaluation.evidence.without_class
    if n_queries or n_items:
        yield f"{n_queries:,} queries and {n_items:,} items have no class: a negative class id, or no label"


def _codes(evaluation: Evaluation) -> Iterator[str]:
    most = diagnostics.DISTINCT_LIMIT // -(-evaluation.scores.n_bits // 64)
    counts = []
    for codes, what in ((evaluation.database_codes, "items"), (evaluation.query_codes, "queries")):
        n_distinct = f"over {most:,}"
        if codes.n_distinct is not None:
            n_distinct = f"{codes.n_distinct:,}"
        counts.append(f"{n_distinct} distinct among {codes.n_items:,} {what}")
    yield ", ".join(counts)


def _bits(evaluation: Evaluation) -> Iterator[str]:
    codes = evaluation.database_codes
    dead = ", ".join(map(str, codes.dead[:LISTED])) or "none"
    if len(codes.dead) > LISTED:
        dead += f" and {len(codes.dead) - LISTED} more"
    ones = f"share of ones: {codes.ones.min():.2f} to {codes.ones.max():.2f}, {codes.ones.mean():.2f} on average"
    yield f"dead: {dead}; {ones}"


def _leak(evaluation: Evaluation) -> Iterator[str]:
    if evaluation.ids_in_database is None:
        yield "no ids to compare"
    else:
        yield f"{evaluation.ids_in_database:,} queries are in the database, by their ids"
    if evaluation.n_neighbours is not None:
        return  # a neighbour may well have the code of a query
    twins = evaluation.queries.twins
    yield f"{twins:,} queries have the code and a label of a database item"
    if twins:
        yield "(equal codes are a hint, not a proof: different items can have them)"
