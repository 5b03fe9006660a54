"""The type ``Evaluation``, all that a report about saved codes contains, and the report as text for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hashbench.codes import Codes
from hashbench.evaluation import diagnostics
from hashbench.evaluation.conventions import CONVENTIONS, Values
from hashbench.evaluation.diagnostics import CodeDiagnostics, QueryDiagnostics
from hashbench.evaluation.scores import Evidence, Scores, aligned, number, table
from hashbench.foundation.registry import canonical
from hashbench.histogram.curves import Curve, pair_curve, radius_of
from hashbench.metrics import Metrics, shown
from hashbench.relevance.labels import Relevance

LISTED = 8  # at most so many bits are listed by number
PAIR_ROWS = 16  # about so many radii are listed
INDENT = 9
PAIR_SHARES = ("precision", "recall", "f1", "false_positive_rate")


@dataclass(frozen=True)
class Evaluation:
    """Scores of the saved codes ``source``, with the evidence about them and the ``query`` codes."""

    source: str
    scores: Scores
    evidence: Evidence
    query: Codes
    ids_in_database: int | None = None  # queries whose id is that of a database item; None: there are no ids
    n_neighbours: int | None = None  # of a query, which are relevant; None: labels are the relevance
    twins_in_training: int | None = None  # queries with the code and a label of a training item; None: there are none
    conventions: Mapping[str, Values] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    pair_precision: float | None = None  # that is wished of pairs within a radius; None: pairs are not reported

    @cached_property
    def pairs(self) -> Curve | None:
        return None if self.pair_precision is None else pair_curve(self.evidence.histogram)

    @property
    def pair_radius(self) -> int | None:
        """The largest radius whose pairs have the precision that is wished; None where there is none."""
        return None if self.pairs is None or self.pair_precision is None else radius_of(self.pair_precision, self.pairs)

    @cached_property
    def queries(self) -> QueryDiagnostics:
        return diagnostics.diagnose_queries(self.evidence.histogram)

    @cached_property
    def query_codes(self) -> CodeDiagnostics:
        return diagnostics.diagnose(self.query)

    @cached_property
    def database_codes(self) -> CodeDiagnostics:
        assert self.evidence.tally is not None, "a report needs inspected codes"
        return self.evidence.tally.diagnostics()


def convention_scores(
    names: Sequence[str], query: Codes, database: Codes, relevance: Relevance, metrics: Metrics
) -> dict[str, Values]:
    """The values of each convention at the ranks of the metrics, else of the whole ranking; it may refuse a cutoff."""
    ranked = metrics.where(lambda metric: metric.name.cutoff is None or metric.rank is not None)
    found: dict[str, Values] = {canonical(name): {} for name in names}
    for name, figures in found.items():
        for cutoff in dict.fromkeys(metric.rank for metric in ranked) or [None]:
            figures.update(CONVENTIONS.get(name).evaluate(query, database, relevance, cutoff=cutoff))
    return found


def as_text(found: Evaluation) -> str:
    """The report: scores with their range over the orders of tied items, then queries, codes, bits and leaks."""
    scores, n_excluded = found.scores, found.evidence.n_excluded
    order = {"order": "in database order", "best": "best order", "worst": "worst order"}
    lines = [f"{found.source}: {scores.n_queries} queries, {scores.n_database} items, {scores.n_bits} bits"]
    lines += [f"ties: {order[scores.ties]}"] if scores.ties != "expected" else []
    lines += [f"{n_excluded:,} queries are left out of their own ranking"] if n_excluded else []
    lines.append(table(scores))
    for name, figures in found.conventions.items():
        lines += _convention_scores(name, figures)
    lines += _pairs(found)
    lines.append("")
    parts = {"queries": _queries(found), "codes": _codes(found), "bits": _bits(found.database_codes)}
    for name, of_part in {**parts, "leak": _leak(found)}.items():
        lines += [f"{'' if at else name:<{INDENT}}{line}" for at, line in enumerate(of_part)]
    return "\n".join(lines)


def as_table(found: Sequence[Evaluation]) -> str:
    """The scores of several files in one table: a line each, the mean of each metric and its range over tie orders."""
    names = list(found[0].scores)
    lines = [("file", "bits", "queries", "items", *(text for name in names for text in (shown(name), "[worst, best]")))]
    for each in found:
        scores, texts = each.scores, list[str]()
        for name in names:
            interval = scores.interval(name)
            texts += [number(scores.value(name).mean), f"[{', '.join(map(number, interval))}]" if interval else ""]
        lines.append((each.source, *(f"{n:,}" for n in (scores.n_bits, scores.n_queries, scores.n_database)), *texts))
    kept = [column for column in zip(*lines, strict=True) if any(column[1:])]
    return "\n".join(aligned([*zip(*kept, strict=True)]))


def _convention_scores(name: str, figures: Values) -> Iterator[str]:
    convention, width = CONVENTIONS.get(name), max(map(len, figures), default=0)
    yield from ("", f"as {name}: {convention.source}", f"    {convention.summary}")
    for figure, printed in figures.items():
        machine = "  on this machine: its sort is not stable" if printed.of_this_machine else ""
        yield f"    {figure:<{width}}  {number(printed.value)}{machine}"


def _pairs(found: Evaluation) -> Iterator[str]:
    """A line for every radius, of long codes for some, and the radius of the precision that is wished."""
    pairs, radius = found.pairs, found.pair_radius
    if pairs is None:
        return
    n_bits = found.scores.n_bits
    best = int(np.argmax(pairs["f1"]))
    listed = {*range(0, n_bits + 1, -(-n_bits // PAIR_ROWS)), n_bits, best, *([] if radius is None else [radius])}
    rows = [("pairs within radius", "found", "precision", "recall", "F1", "false positive rate")]
    for at in sorted(listed):
        precision, recall, f1, rate = (float(pairs[name][at]) for name in PAIR_SHARES)
        of_pairs = number(None if np.isnan(precision) else precision), number(recall), number(f1)
        rows.append((str(at), f"{pairs['found'][at]:,}", *of_pairs, "-" if np.isnan(rate) else f"{rate:.3g}"))
    yield ""
    yield from aligned(rows)
    wished = f"precision {found.pair_precision:g}"
    if radius is None:
        yield f"{wished}: at no radius; best F1: radius {best}"
    else:
        yield f"{wished}: radius {radius}, recall {pairs['recall'][radius]:.4f}; best F1: radius {best}"


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
