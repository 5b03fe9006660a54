"""Scores of codes: ``hashbench eval`` prints them and ``hashbench.score`` returns them."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hashbench.codes import Codes
from hashbench.evaluation import arrays
from hashbench.evaluation.arrays import BitOrder
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.histogram import Histogram, count, ranking, self_pairs, ties
from hashbench.histogram.counting import AnyCodes, on_cpu
from hashbench.histogram.device import for_arrays
from hashbench.histogram.ranking import WeightedRankings
from hashbench.histogram.self_pairs import Ints, OwnPairs
from hashbench.histogram.ties import Policy
from hashbench.metrics import Extremes, Metrics, MetricValue, NamedMetric, Values, evaluate_with_extremes, summarise
from hashbench.relevance.labels import LabelRelevance, Relevance, from_labels

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]
Empty = Literal["skip", "zero"]

DEFAULT = ("ap", "ndcg", "precision@r2")
DEFAULT_WEIGHTED = ("ap", "ndcg")
SAME_ARRAY = (
    "query_codes is database_codes: each item counts as its own nearest neighbour; exclude_self=True leaves it out, "
    "exclude_self=False keeps it without this warning"
)


@dataclass(frozen=True)
class PerQuery:
    """The values of one metric, float64[q]: under the tie policy, and in the worst and the best order of tied items.

    The value of a query without a relevant item is NaN. ``worst`` and ``best`` are None for a metric without
    such a range: ``ap_worst``, ``ap_best``, ``pr_area@k``.
    """

    values: Floats
    worst: Floats | None
    best: Floats | None


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Mapping[str, float | None]):
    """The mean of each metric over the queries, by metric name; None if no query has a relevant item.

    ``value`` adds the standard deviation of a metric, ``interval`` its range over the orders of tied items, and
    ``per_query`` the value of each query. ``str()`` is the table of all metrics.
    """

    n_queries: int
    n_database: int
    n_bits: int
    ties: Policy
    empty: Empty
    metrics: Mapping[str, PerQuery]  # by canonical name, in the order in which they were named

    def __getitem__(self, name: str) -> float | None:
        return self.value(name).mean

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def __contains__(self, name: object) -> bool:
        return name in self.metrics or (isinstance(name, str) and _canonical(name) in self.metrics)

    def value(self, name: str) -> MetricValue:
        """Mean and standard deviation over the queries, the number of queries, and how many have no relevant item."""
        return self._summary(self._of(name).values)

    def interval(self, name: str) -> tuple[float, float] | None:
        """The means in the worst and in the best order of the tied items; None if the metric has no such range."""
        found = self._of(name)
        if found.worst is None or found.best is None:
            return None
        worst, best = self._summary(found.worst).mean, self._summary(found.best).mean
        return None if worst is None or best is None else (worst, best)

    def per_query(self, name: str) -> Floats:
        """The value of each query, float64[q]; NaN where a query has no relevant item (0 with ``empty="zero"``)."""
        return self._filled(self._of(name).values)

    def row(self, name: str) -> dict[str, Any]:
        """Mean, std, n_queries and n_empty of a metric, and the ends of its range: ``worst`` and ``best``, or None."""
        worst, best = self.interval(name) or (None, None)
        return {**self.value(name).model_dump(), "worst": worst, "best": best}

    def to_dict(self) -> dict[str, Any]:
        """Everything but the values of each query, as numbers, texts and None: ``json.dumps`` takes it as it is."""
        sizes = {"n_queries": self.n_queries, "n_database": self.n_database, "n_bits": self.n_bits}
        return {**sizes, "ties": self.ties, "empty": self.empty, "metrics": {name: self.row(name) for name in self}}

    def to_frame(self) -> "pandas.DataFrame":
        """A pandas DataFrame with a row for each metric, named by the index; a value that is missing is NaN."""
        try:
            import pandas
        except ImportError:
            raise HashbenchError("to_frame: pandas is not installed: pip install pandas, or use to_dict()") from None
        rows = [self.row(name) for name in self]
        columns = ["mean", "std", "worst", "best", "n_queries", "n_empty"]
        frame = pandas.DataFrame(rows, index=pandas.Index(list(self), name="metric"), columns=columns)
        return frame.astype(dict.fromkeys(columns[:4], "float64"))

    def _of(self, name: str) -> PerQuery:
        return self.metrics[name if name in self.metrics else _canonical(name)]

    def _filled(self, values: Floats) -> Floats:
        return np.nan_to_num(values, nan=0.0) if self.empty == "zero" else values

    def _summary(self, values: Floats) -> MetricValue:
        summary = summarise(self._filled(values))
        return summary.model_copy(update={"n_empty": int(np.isnan(values).sum())})

    def __repr__(self) -> str:
        of = f"{self.n_queries} queries, {self.n_database} items, {self.n_bits} bits, ties={self.ties!r}"
        return f"Scores({of})\n{table(self)}"

    __str__ = __repr__


def score(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any,
    metrics: str | Sequence[str] = DEFAULT,
    ties: Policy = "expected",
    device: str = "auto",
    weights: Any = None,
    *,
    bits: int | None = None,
    bit_order: BitOrder | None = None,
    empty: Empty = "skip",
    exclude_self: Any = None,
) -> Scores:
    """The scores of query codes against database codes, with relevance from labels, exact under ties.

    Codes are NumPy arrays or torch tensors, [n, bits]: 0 and 1, -1 and +1, bool, or real activations; a value > 0 is
    bit 1. With ``bits`` they may also be packed, uint8[n, ceil(bits / 8)]; ``bit_order`` says which bit of a byte is
    first, ``big`` (numpy.packbits) or ``little`` (faiss), where the padding does not show it. Labels are class ids [n],
    negative for no class, names of classes [n], or multi-hot [n, labels] of 0 and 1. Metrics are named as on the
    command line, one or several: ``ap``, ``"ap,ndcg@100"``, ``"recall@1,5,10"``, ``["ap(norm=retrieved)@5000"]`` ...
    ``ties`` is the order of items at equal distance: ``expected`` is the mean over all orders (the only value that does
    not depend on chance), ``best`` and ``worst`` put the relevant items of a tie first or last, ``order`` is the order
    of the database. Queries without a relevant item are left out of the means, or score 0 with ``empty="zero"``.

    ``exclude_self`` leaves each query out of its own ranking: True where query and database are the same items in the
    same order, or the row of each query in the database [queries], -1 for a query that is no item. None (the default)
    leaves nothing out, and warns if the same array is given for both; False is silent.

    ``device`` is where the pairs are counted; the scores are the same on every device. ``auto`` counts torch tensors
    that are on a GPU on that GPU, without copying them to the CPU, and everything else on the CPU. ``cpu``, ``cuda``
    and ``cuda:N`` count there, wherever the codes are. The rankings of ``ties="order"`` are always computed on the CPU,
    from the packed codes. ``weights`` [bits], each 0 or more, rank the database by the weighted Hamming distance, also
    on the CPU; metrics at Hamming radii are then not defined. Every error is a HashbenchError of one line.

    One query, and two items at the same distance, of which one is relevant:

    >>> from hashbench import score
    >>> scores = score([[1, 0]], [[1, 1], [0, 0]], [7], [7, 3], metrics="ap")
    >>> scores["ap"], scores.interval("ap")
    (0.75, (0.5, 1.0))
    >>> scores
    Scores(1 queries, 2 items, 2 bits, ties='expected')
    metric    mean     std  [worst, best]
    ap      0.7500  0.0000  [0.5000, 1.0000]
    """
    policy, wanted = checked(ties, empty), Metrics.parse(metrics)
    chosen = for_arrays(device, query_codes, database_codes)
    given = zip(arrays.NAMES, (query_codes, database_codes), strict=True)
    query, database = arrays.unpacked(
        [arrays.read_codes(name, values, chosen, bits) for name, values in given], bits, bit_order
    )
    labels = (("query_labels", query_labels), ("database_labels", database_labels))
    relevance = from_labels(*arrays.numbered(*(arrays.read_labels(*side) for side in labels)))
    own = own_rows(exclude_self, query, database, relevance)
    if weights is not None:
        numbers = arrays.numbers("weights", weights)
        ranked = WeightedRankings(on_cpu(query), on_cpu(database), numbers, relevance, own=own)
        scores = evaluate_weighted(ranked, wanted, policy, empty=empty)
    else:
        counted = _counted(query, database, relevance, chosen, own)
        ordered = in_order(on_cpu(query), on_cpu(database), relevance, own) if policy == "order" else None
        scores = evaluate(counted, len(database), wanted, policy, empty=empty, ordered=ordered)
    if exclude_self is None and query_codes is database_codes:
        warnings.warn(SAME_ARRAY, stacklevel=2)
    return scores


def _counted(
    query: AnyCodes, database: AnyCodes, relevance: LabelRelevance, device: str, own: Ints | None
) -> Histogram:
    """The histogram of the codes, without the pairs of a query with its row ``own`` of the database."""
    counted = count(query, database, relevance, device=device)
    if own is None:
        return counted
    pairs = OwnPairs(on_cpu(query), own)
    pairs.add(on_cpu(database), relevance)
    return pairs.left_out(counted)


def own_rows(given: Any, query: AnyCodes, database: AnyCodes, relevance: LabelRelevance) -> Ints | None:
    """The row of each query in the database that ``exclude_self`` means, int64[q]; None if it leaves nothing out.

    Raises HashbenchError for rows that are none, and for True if query and database are not the same items.
    """
    if given is None or given is False:
        return None
    if given is not True:
        rows = arrays.numbers("exclude_self", given)
        return self_pairs.checked("exclude_self", rows, len(query), len(database))
    same = self_pairs.SameItems(on_cpu(query))
    if relevance.shape == (len(query), len(database)):
        same.add(on_cpu(database), relevance)
    if not same.holds:
        raise HashbenchError(
            "exclude_self=True: query and database are not the same items in the same order: give the database row of "
            "each query, exclude_self=rows, -1 for a query that is no item"
        )
    return np.arange(len(query))


def in_order(query: Codes, database: Codes, relevance: Relevance, own: Ints | None = None) -> Iterator[Histogram]:
    """The rankings of the database for each query, with ties in database order, in blocks of queries.

    ``own`` [q] is the row of each query in the database, which is left out of its ranking; -1: none.
    """
    return ties.in_order(ranking.hamming(query, database), relevance, own=own)


def evaluate(
    histogram: Histogram,
    n_database: int,
    metrics: Metrics,
    policy: str = "expected",
    *,
    empty: Empty = "skip",
    ordered: Iterable[Histogram] | None = None,
) -> Scores:
    """The scores of ``metrics``, from the histogram of queries against ``n_database`` items.

    The tie policy ``order`` needs ``ordered``, the rankings that ``in_order`` returns.
    """
    chosen = checked(policy, empty)
    found = evaluate_with_extremes(histogram, metrics, chosen, ordered)
    return Scores(histogram.n_queries, n_database, histogram.n_bits, chosen, empty, _per_query(*found))


def evaluate_weighted(
    ranked: WeightedRankings, metrics: Metrics, policy: str = "expected", *, empty: Empty = "skip"
) -> Scores:
    """The scores of ``metrics`` where the database is ranked by the weighted Hamming distance."""
    chosen = checked(policy, empty)
    require_weighted(metrics)
    ordered = ties.in_order(ranked.distances, ranked.relevance, own=ranked.own) if chosen == "order" else None
    found = evaluate_with_extremes(ranked, metrics, chosen, ordered)
    query, database = ranked.query, ranked.database
    return Scores(len(query), len(database), query.n_bits, chosen, empty, _per_query(*found))


def _per_query(values: Values, extremes: Extremes) -> dict[str, PerQuery]:
    return {name: PerQuery(found, *extremes.get(name, (None, None))) for name, found in values.items()}


def require_weighted(metrics: Metrics) -> None:
    """Raises HashbenchError if a metric is not defined for weighted Hamming distances."""
    if at_radii := metrics.where(lambda metric: metric.needs_radii).names:
        raise HashbenchError(f"metric '{at_radii[0]}' needs Hamming radii, which weighted distances do not have")


def checked(policy: str, empty: str) -> Policy:
    """The policy; raises HashbenchError if one of the two does not exist."""
    if empty not in get_args(Empty):
        raise unknown("value of empty", empty, get_args(Empty))
    return ties.check(policy)


def table(scores: Scores) -> str:
    """The scores as lines of text: name, mean, standard deviation over the queries, and the range over tie orders."""
    lines = [("metric", "mean", "std", "[worst, best]")]
    for name in scores:
        value, interval = scores.value(name), scores.interval(name)
        ends = f"[{', '.join(map(number, interval))}]" if interval else ""
        lines.append((name, number(value.mean), number(value.std), ends))
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    return "\n".join(
        f"{name:<{widths[0]}}  {mean:>{widths[1]}}  {std:>{widths[2]}}  {ends}".rstrip()
        for name, mean, std, ends in lines
    )


def number(value: float | None) -> str:
    """Four decimals, or a dash for what has no value.

    >>> number(0.25), number(None)
    ('0.2500', '-')
    """
    return "-" if value is None else f"{value:.4f}"


def _canonical(name: str) -> str:
    try:
        return str(NamedMetric.parse(name))
    except HashbenchError:
        return name  # a KeyError will name it
