"""The types of a metric, of its value, and of metrics by name; ``Metrics.parse`` reads names that come from outside."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, TypeVar

from hashbench.foundation.config import Strict
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.registry import Catalogue
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.histogram.retrieval import Retrieval
from hashbench.scoring.metrics._name import Cutoff, CutoffKind, MetricName, split_names
from hashbench.scoring.metrics._prefix import Floats

EXAMPLES: dict[CutoffKind, str] = {"rank": "@100", "radius": "@r2 (Hamming radius 2)", "n_relevant": "@r (rank N+)"}
SOURCES = {Histogram: "items ranked by distance", Retrieval: "a bucket search (k-sparse codes)"}


class MetricValue(Strict):
    """Mean and standard deviation of a metric over the queries of a run, fractions except for a speed-up."""

    mean: float | None  # None if every query is empty
    std: float | None  # None too for a metric that is a single number for all queries
    n_queries: int  # all queries
    n_empty: int  # queries without a relevant item, left out of the mean


Source = TypeVar("Source", Histogram, Retrieval)


@dataclass(frozen=True)
class Metric(Generic[Source]):
    """A metric: a formula computed from a histogram, or from a retrieval (the result of a bucket search)."""

    summary: str
    paper: str  # the key of the paper that defines it
    # float64[q], queries without a relevant item ignored; of a retrieval also float64[], a single number for all
    evaluate: Callable[[Source, MetricName], Floats]
    source: type[Histogram] | type[Retrieval] = Histogram  # what it is computed from
    cutoffs: tuple[CutoffKind, ...] = ()  # the kinds of cutoff that it accepts
    cutoff_required: bool = False
    ranks: tuple[int, ...] = ()  # the only ranks that it accepts, the first is the default; empty: every rank
    maximum: float = 1.0  # the largest possible value, up to rounding; the smallest is 0
    # the values that each parameter accepts, the default first; a parameter changes only a metric with a cutoff
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    over_radii: bool = False  # it is computed at every Hamming radius, with or without a cutoff
    needs_all_queries: bool = False  # the value of a query depends on the other queries
    is_bound: bool = False  # it is the best or the worst value over the orders of tied items, so it ranks no methods

    def rank(self, name: MetricName) -> int:
        """The cutoff rank of ``name``, one of ``ranks``; the first of them if ``name`` has no cutoff."""
        if name.cutoff is None:
            return self.ranks[0]
        return name.cutoff.value

    def setting(self, name: MetricName, key: str) -> str:
        """The value of parameter ``key`` in ``name``, or its default."""
        return dict(name.parameters).get(key, self.parameters[key][0])

    def accept(self, name: MetricName) -> MetricName:
        """``name`` without parameters and cutoff at their defaults; raises HashbenchError for others than it has."""
        self._check_cutoff(name)
        for key, value in name.parameters:
            if key not in self.parameters:
                raise unknown(f"parameter of metric {name.metric}", key, self.parameters)
            if value not in self.parameters[key]:
                raise unknown(f"{key} of metric {name.metric}", value, self.parameters[key])
            if name.cutoff is None:
                raise HashbenchError(f"metric '{name}': {key} needs a cutoff, as in {name}@100")
        changed = tuple((key, value) for key, value in name.parameters if value != self.parameters[key][0])
        is_default = self.ranks and not self.cutoff_required and name.cutoff == Cutoff("rank", self.ranks[0])
        return MetricName(name.metric, changed, None if is_default else name.cutoff)

    def _check_cutoff(self, name: MetricName) -> None:
        examples = [f"@{rank}" for rank in self.ranks] or [EXAMPLES[kind] for kind in self.cutoffs]
        ways = " or ".join(name.metric + example for example in examples) or name.metric
        if name.cutoff is None:
            if self.cutoff_required:
                raise HashbenchError(f"metric '{name}': a cutoff is required: {ways}")
        elif name.cutoff.kind not in self.cutoffs:
            raise HashbenchError(f"metric '{name}': {name.metric} does not take {name.cutoff}: write {ways}")
        elif self.ranks and name.cutoff.value not in self.ranks:
            raise HashbenchError(f"metric '{name}': there is no {name.cutoff}: write {ways}")


METRICS: Catalogue[Metric[Any]] = Catalogue(
    "metric", "hashbench.scoring.metrics", "METRIC", Metric, group="hashbench.metrics"
)


@dataclass(frozen=True)
class NamedMetric:
    """A metric with parameters and cutoff; ``str()`` is its canonical name, without parameters at their defaults."""

    name: MetricName  # ``name.metric`` is the name of the metric alone
    entry: Metric[Any] = field(compare=False, repr=False)

    @staticmethod
    @lru_cache  # of thousands of runs and cells it is asked for the same few
    def parse(name: str) -> "NamedMetric":
        """The metric that ``name`` means, also by words of other code (``rr``); HashbenchError if it is ambiguous."""
        written = MetricName.read(name)
        if written.metric not in METRICS:
            written = written.own()
        entry = METRICS.get(written.metric)
        return NamedMetric(entry.accept(written), entry)

    @staticmethod
    def at(metric: str, cutoff: int | Cutoff | None = None, **parameters: str) -> "NamedMetric":
        """The metric called ``metric`` at a cutoff, which may be a rank, with parameters that are not the defaults."""
        if isinstance(cutoff, int):
            cutoff = Cutoff("rank", cutoff)
        return NamedMetric(MetricName(metric, tuple(sorted(parameters.items())), cutoff), METRICS.get(metric))

    def __str__(self) -> str:
        return str(self.name)

    @property
    def rank(self) -> int | None:
        """The rank at which the metric stops reading; None if it has no cutoff, or one of another kind."""
        cutoff = self.name.cutoff
        if cutoff is None or cutoff.kind != "rank":
            return None
        return cutoff.value

    @property
    def needs_radii(self) -> bool:
        """True if the metric is defined by Hamming radii, so that other rankings do not have it."""
        return self.entry.over_radii or (self.name.cutoff is not None and self.name.cutoff.kind == "radius")


class Metrics(tuple[NamedMetric, ...]):
    """Different metrics in the order in which they were named."""

    __slots__ = ()

    @staticmethod
    def parse(names: str | Iterable[str], source: type[Histogram] | type[Retrieval] | None = Histogram) -> "Metrics":
        """The metrics that ``names`` name, each once: one text or several, each with one name or more between commas.

        Raises HashbenchError where ``NamedMetric.parse`` does, and for a metric that is not computed from ``source``
        (None: from anything). Call it first: then a wrong name is refused before anything is counted.

        >>> Metrics.parse("map, recall@1,5").names
        ['ap', 'recall@1', 'recall@5']
        """
        metrics = Metrics(dict.fromkeys(map(NamedMetric.parse, split_names(names))))
        for metric in metrics:
            needed = metric.entry.source
            if source is not None and needed is not source:
                present = SOURCES[source]
                raise HashbenchError(f"metric '{metric}' is computed from {SOURCES[needed]}, not from {present}")
        return metrics

    @property
    def names(self) -> list[str]:
        """The canonical names."""
        return list(map(str, self))

    def where(self, condition: Callable[[NamedMetric], bool]) -> "Metrics":
        """The metrics that meet a condition."""
        return Metrics(filter(condition, self))

    def parted(self, condition: Callable[[NamedMetric], bool]) -> tuple["Metrics", "Metrics"]:
        """The metrics that meet a condition, and the others."""
        return self.where(condition), self.where(lambda metric: not condition(metric))

    def refuse_radii(self, ranking: str) -> None:
        """Raises HashbenchError for a metric at Hamming radii, because the ``ranking`` has none."""
        at_radii = self.where(lambda metric: metric.needs_radii).names
        if at_radii:
            raise HashbenchError(f"metric '{at_radii[0]}' needs Hamming radii, which {ranking} not have")
