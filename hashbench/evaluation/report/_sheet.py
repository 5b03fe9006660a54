"""The report about saved codes as a sheet."""

from collections.abc import Iterator, Sequence
from itertools import compress

import numpy as np

from hashbench.evaluation import diagnostics
from hashbench.evaluation.conventions import CONVENTIONS, Values
from hashbench.evaluation.diagnostics import CodeDiagnostics
from hashbench.evaluation.report._evaluation import Evaluation
from hashbench.evaluation.report._values import records_of, records_of_files, values_of
from hashbench.evaluation.scores import grid_of, number, range_of
from hashbench.metrics import shown
from hashbench.showing.sheet import Cell, Grid, Number, Sheet

LISTED = 8  # at most so many bits are listed by number
PAIR_ROWS = 16  # about so many radii are listed
PAIR_COLUMNS = ("pairs within radius", "found", "precision", "recall", "F1", "false positive rate")
PAIR_SHARES = ("precision", "recall", "f1", "false_positive_rate")


def sheet_of(found: Evaluation) -> Sheet:
    """The report: scores with their range over the orders of tied items, then queries, codes, bits and leaks."""
    scores, n_excluded = found.scores, found.evidence.n_excluded
    order = {"order": "in database order", "best": "best order", "worst": "worst order"}
    texts = [f"ties: {order[scores.ties]}"] if scores.ties != "expected" else []
    texts += [f"{n_excluded:,} queries are left out of their own ranking"] if n_excluded else []
    rows: list[list[Cell]] = []
    diagnoses = {"queries": _queries(found), "codes": _codes(found), "bits": _bits(found.database_codes)}
    for name, lines in {**diagnoses, "leak": _leak(found)}.items():
        rows += [[name if place == 0 else "", line] for place, line in enumerate(lines)]
    conventions = [_convention(name, figures) for name, figures in found.conventions.items()]
    return Sheet(
        f"{found.source}: {scores.n_queries} queries, {scores.n_database} items, {scores.n_bits} bits",
        [grid_of(scores)],
        texts,
        parts=[*conventions, *_pairs(found), Sheet(grids=[Grid(rows)])],
        values=lambda: values_of(found),
        records=lambda: records_of(scores),
    )


def sheet_of_files(found: Sequence[Evaluation]) -> Sheet:
    """The scores of several files in one grid: a row each, the mean of each metric and its range over tie orders."""
    names = list(found[0].scores)
    headings = ["file", "bits", "queries", "items"]
    for name in names:
        headings += [shown(name), "[worst, best]"]
    rows: list[list[Cell]] = []
    for each in found:
        scores = each.scores
        row: list[Cell] = [each.source, scores.n_bits, scores.n_queries, scores.n_database]
        for name in names:
            row += [number(scores.value(name).mean), range_of(scores, name)]
        rows.append(row)
    known = [any(cell is not None for cell in cells) for cells in zip(*rows, strict=True)]
    grid = Grid([[*compress(row, known)] for row in rows], [*compress(headings, known)])
    return Sheet(
        grids=[grid],
        values=lambda: {"files": [values_of(each) for each in found]},
        records=lambda: records_of_files(found),
    )


def _convention(name: str, figures: Values) -> Sheet:
    convention = CONVENTIONS.get(name)
    rows: list[list[Cell]] = []
    for figure, printed in figures.items():
        of_this_machine = "on this machine: its sort is not stable" if printed.of_this_machine else None
        rows.append([figure, number(printed.value), of_this_machine])
    return Sheet(f"as {name}: {convention.source}", [Grid(rows)], [convention.summary])


def _pairs(found: Evaluation) -> Iterator[Sheet]:
    """A row for every radius, of long codes for some, and the radius of the precision that is wished."""
    pairs, radius = found.pairs, found.pair_radius
    if pairs is None:
        return
    n_bits = found.scores.n_bits
    best = int(np.argmax(pairs["f1"]))
    listed = {*range(0, n_bits + 1, -(-n_bits // PAIR_ROWS)), n_bits, best, *([] if radius is None else [radius])}
    rows: list[list[Cell]] = []
    for at in sorted(listed):
        precision, recall, f1, rate = (float(pairs[name][at]) for name in PAIR_SHARES)
        false_positives = "-" if np.isnan(rate) else Number(rate, ".3g")
        shares = number(None if np.isnan(precision) else precision), number(recall), number(f1)
        rows.append([str(at), int(pairs["found"][at]), *shares, false_positives])
    wished = f"precision {found.pair_precision:g}"
    recall_at = "at no radius" if radius is None else f"radius {radius}, recall {pairs['recall'][radius]:.4f}"
    notes = [f"{wished}: {recall_at}; best F1: radius {best}"]
    yield Sheet(grids=[Grid(rows, PAIR_COLUMNS)], notes=notes)


def _queries(found: Evaluation) -> Iterator[str]:
    seen = found.queries
    fate = "score 0" if found.scores.empty == "zero" else "left out"
    without = f"{seen.without_relevant:,} have no relevant item" + (f" ({fate})" if seen.without_relevant else "")
    yield f"{without}; {seen.empty_balls:,} find nothing within Hamming radius {seen.radius}"
    queries, items = found.evidence.without_class
    if queries or items:
        yield f"{queries:,} queries and {items:,} items have no class: a negative class id, or no label"


def _codes(found: Evaluation) -> Iterator[str]:
    most = diagnostics.DISTINCT_LIMIT // -(-found.scores.n_bits // 64)
    sides = ((found.database_codes, "items"), (found.query_codes, "queries"))
    many = [f"over {most:,}" if of.n_distinct is None else f"{of.n_distinct:,}" for of, _ in sides]
    yield ", ".join(f"{n} distinct among {of.n_items:,} {what}" for n, (of, what) in zip(many, sides, strict=True))


def _bits(of: CodeDiagnostics) -> Iterator[str]:
    dead = _listed([str(bit) for bit in of.dead])
    duplicate = _listed([f"{bit} as {earlier}" for bit, earlier in of.duplicates])
    ones = f"share of ones: {of.ones.min():.2f} to {of.ones.max():.2f}, {of.ones.mean():.2f} on average"
    yield f"dead: {dead}; duplicate: {duplicate}; {ones}"


def _listed(items: Sequence[str]) -> str:
    more = len(items) - LISTED
    return ", ".join(items[:LISTED]) + (f" and {more} more" if more > 0 else "") or "none"


def _leak(found: Evaluation) -> Iterator[str]:
    if found.ids_in_database is None:
        yield "no ids to compare"
    else:
        yield f"{found.ids_in_database:,} queries are in the database, by their ids"
    if found.n_neighbours is not None:
        return  # a neighbour may well have the code of a query
    yield f"{found.queries.twins:,} queries have the code and a label of a database item"
    if found.twins_in_training is not None:
        yield f"{found.twins_in_training:,} queries have the code and a label of a training item"
    if found.queries.twins or found.twins_in_training:
        yield "(equal codes are a hint, not a proof: different items can have them)"
