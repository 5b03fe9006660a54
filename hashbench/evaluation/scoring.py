"""Scores of codes: ``hashbench eval`` prints them and ``hashbench.score`` returns them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hashbench import codes, metrics
from hashbench.codes import Codes
from hashbench.errors import HashbenchError
from hashbench.histogram import Histogram, count, ranking, ties
from hashbench.histogram.counting import AnyCodes, on_cpu
from hashbench.histogram.device import for_arrays
from hashbench.histogram.ranking import WeightedRankings
from hashbench.histogram.ties import Policy
from hashbench.metrics import MetricName, MetricValue
from hashbench.relevance.labels import Labels, Relevance, from_labels

Floats = NDArray[np.float64]
Empty = Literal["skip", "zero"]

DEFAULT = ("ap", "ndcg", "precision@r2")
DEFAULT_WEIGHTED = ("ap", "ndcg")


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

    def _of(self, name: str) -> PerQuery:
        return self.metrics[name if name in self.metrics else _canonical(name)]

    def _filled(self, values: Floats) -> Floats:
        return np.nan_to_num(values, nan=0.0) if self.empty == "zero" else values

    def _summary(self, values: Floats) -> MetricValue:
        summary = metrics.summarise(self._filled(values))
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
    metrics: Sequence[str] = DEFAULT,
    ties: Policy = "expected",
    device: str = "auto",
    weights: Any = None,
) -> Scores:
    """The scores of query codes against database codes, with relevance from labels, exact under ties.

    Codes are NumPy arrays or torch tensors, [n, bits]: 0 and 1, -1 and +1, bool, or real activations; a value > 0 is
    bit 1. Labels are class ids [n], negative for no class, or multi-hot [n, labels] of 0 and 1. Metrics are named as
    on the command line: ``ap``, ``ap@5000``, ``ap(norm=retrieved)@5000``, ``ndcg``, ``precision@r2`` ...
    ``ties`` is the order of items at equal distance: ``expected`` is the mean over all orders (the only value that does
    not depend on chance), ``best`` and ``worst`` put the relevant items of a tie first or last, ``order`` is the order
    of the database. Queries without a relevant item are left out of the means.

    ``device`` is where the pairs are counted; the scores are the same on every device. ``auto`` counts torch tensors
    that are on a GPU on that GPU, without copying them to the CPU, and everything else on the CPU. ``cpu``, ``cuda``
    and ``cuda:N`` count there, wherever the codes are. The rankings of ``ties="order"`` are always computed on the CPU,
    from the packed codes. ``weights`` [bits], each 0 or more, rank the database by the weighted Hamming distance, also
    on the CPU; metrics at Hamming radii are then not defined. Every error is a HashbenchError of one line.

    One query, and two items at the same distance, of which one is relevant:

    >>> from hashbench import score
    >>> scores = score([[1, 0]], [[1, 1], [0, 0]], [7], [7, 3], metrics=["ap"])
    >>> scores["ap"], scores.interval("ap")
    (0.75, (0.5, 1.0))
    >>> scores
    Scores(1 queries, 2 items, 2 bits, ties='expected')
    metric    mean     std  [worst, best]
    ap      0.7500  0.0000  [0.5000, 1.0000]
    """
    names, policy = _checked(metrics, ties)
    chosen = for_arrays(device, query_codes, database_codes)
    query = _codes("query_codes", query_codes, chosen)
    database = _codes("database_codes", database_codes, chosen)
    labels = [_labels("query_labels", query_labels), _labels("database_labels", database_labels)]
    relevance = from_labels(*labels)
    if weights is not None:
        ranked = WeightedRankings(on_cpu(query), on_cpu(database), _array("weights", weights), relevance)
        return evaluate_weighted(ranked, names, policy)
    histogram = count(query, database, relevance, device=chosen)
    ordered = in_order(on_cpu(query), on_cpu(database), relevance) if policy == "order" else None
    return evaluate(histogram, len(database), names, policy, ordered=ordered)


def in_order(query: Codes, database: Codes, relevance: Relevance) -> Iterator[Histogram]:
    """The rankings of the database for each query, with ties in database order, in blocks of queries."""
    return ties.in_order(ranking.hamming(query, database), relevance)


def evaluate(
    histogram: Histogram,
    n_database: int,
    names: Sequence[str],
    policy: str = "expected",
    *,
    empty: Empty = "skip",
    ordered: Iterable[Histogram] | None = None,
) -> Scores:
    """The scores of the metrics ``names``, from the histogram of queries against ``n_database`` items.

    The tie policy ``order`` needs ``ordered``, the rankings that ``in_order`` returns.
    """
    parsed, chosen = _checked(names, policy)
    values = metrics.evaluate_ties(histogram, parsed, chosen, ordered)
    ends = {name: (same, same) for name, same in values.items() if _ignores_ties(metrics.parse(name))}
    ends |= metrics.extremes(histogram, parsed)
    per_query = {name: PerQuery(found, *ends.get(name, (None, None))) for name, found in values.items()}
    return Scores(histogram.n_queries, n_database, histogram.n_bits, chosen, empty, per_query)


def evaluate_weighted(
    ranked: WeightedRankings, names: Sequence[str], policy: str = "expected", *, empty: Empty = "skip"
) -> Scores:
    """The scores of the metrics ``names`` where the database is ranked by the weighted Hamming distance."""
    parsed, chosen = _checked(names, policy)
    require_weighted(parsed)
    values, ends = metrics.evaluate_with_extremes(ranked, parsed, None if chosen == "order" else chosen)
    if chosen == "order":
        values = metrics.evaluate_rankings(ties.in_order(ranked.distances, ranked.relevance), parsed)
    per_query = {name: PerQuery(found, *ends.get(name, (None, None))) for name, found in values.items()}
    query, database = ranked.query, ranked.database
    return Scores(len(query), len(database), query.n_bits, chosen, empty, per_query)


def require_weighted(names: Iterable[str]) -> None:
    """Raises HashbenchError if a metric is not defined for weighted Hamming distances."""
    if at_radii := [name for name in names if metrics.needs_radii(name)]:
        raise HashbenchError(f"metric '{at_radii[0]}' needs Hamming radii, which weighted distances do not have")


def _checked(names: Sequence[str], policy: str) -> tuple[list[str], Policy]:
    """The canonical names of the metrics and the policy; raises HashbenchError if one of them does not exist."""
    return list(metrics.parse_all(names)), ties.check(policy)


def _ignores_ties(name: MetricName) -> bool:
    """Whether a metric depends on Hamming radii alone, so that the order of tied items does not change it."""
    return name.cutoff.kind == "radius" if name.cutoff else metrics.METRICS.get(name.metric).over_radii


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
        return str(metrics.parse(name))
    except HashbenchError:
        return name  # a KeyError will name it


def _array(name: str, values: Any) -> NDArray[Any]:
    """``values`` as a NumPy array; a torch tensor is detached and copied to the CPU, and bfloat16 becomes float32."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        # NumPy has no bfloat16; float64 stays as it is, for float32 would turn the smallest values into 0
        values = values.float() if values.is_floating_point() and values.element_size() < 4 else values
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise HashbenchError(f"{name}: not an array: {error}") from None
    if array.dtype.kind not in "buif":
        raise HashbenchError(f"{name}: {array.dtype} is not numeric: numbers are expected")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise HashbenchError(f"{name}: not finite (NaN or inf): finite numbers are expected")
    return array


def _codes(name: str, values: Any, device: str) -> AnyCodes:
    """The packed codes; those of a torch tensor stay on its device if ``device`` is a GPU."""
    if isinstance(values, Codes):
        return values
    if device != "cpu" and hasattr(values, "detach"):
        from hashbench.histogram import torch_kernel

        return torch_kernel.pack(values, name)
    array = _array(name, values)
    if array.ndim != 2:
        raise HashbenchError(f"{name}: shape {array.shape} is not items x bits")
    if array.dtype.kind in "ui" and array.size and (array.max() > 1 or array.min() < -1):
        raise HashbenchError(f"{name}: {array.max()} is no bit: 0 and 1, or -1 and +1, are; unpack packed codes first")
    return codes.pack(array > 0)


def _labels(name: str, values: Any) -> Labels:
    array = _array(name, values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2 and not ((array == 0) | (array == 1)).all():
        raise HashbenchError(f"{name}: multi-hot labels [n, labels] are 0 or 1; others are in it")
    whole = array.astype(np.int64)
    if array.ndim not in (1, 2) or not (whole == array).all():
        raise HashbenchError(f"{name}: class ids [n] are whole numbers, multi-hot labels [n, labels] are 0 or 1")
    return whole if array.ndim == 1 else whole.astype(np.uint8)
