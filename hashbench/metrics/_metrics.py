"""Metrics by name: ``Metrics.parse`` reads their names once, and everything below it takes what it returns."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.registry import Catalogue
from hashbench.histogram import Histogram
from hashbench.histogram.retrieval import Retrieval
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName, own_name, split_names

METRICS: Catalogue[Metric[Any]] = Catalogue("metric", "hashbench.metrics", "METRIC", Metric, group="hashbench.metrics")

SOURCES = {Histogram: "items ranked by distance", Retrieval: "a bucket search (k-sparse codes)"}


@dataclass(frozen=True)
class NamedMetric:
    """A metric with its parameters and cutoff; ``str()`` is the canonical name, without parameters at their defaults.

    ``name.metric`` is the name of the metric alone, and ``entry`` is what its file declares.
    """

    name: MetricName
    entry: Metric[Any] = field(compare=False, repr=False)

    @staticmethod
    def parse(name: str) -> "NamedMetric":
        """The metric that ``name`` means.

        ``map``, ``p@k`` and ``rr`` are other names of ``ap``, ``precision@k`` and ``mrr``. Raises HashbenchError for a
        metric, parameter, value or cutoff that does not exist, and for a name that means different metrics elsewhere
        (``map@k``, ``r@k``).

        >>> str(NamedMetric.parse("ap(norm=all)@5"))
        'ap@5'
        """
        written = MetricName.read(name)
        written = written if written.metric in METRICS else own_name(written)
        entry = METRICS.get(written.metric)
        return NamedMetric(entry.accept(written), entry)

    def __str__(self) -> str:
        return str(self.name)

    @property
    def rank(self) -> int | None:
        """The rank at which the metric stops reading; None if it has no cutoff, or one of another kind."""
        cutoff = self.name.cutoff
        return cutoff.value if cutoff is not None and cutoff.kind == "rank" else None

    @property
    def needs_radii(self) -> bool:
        """Whether the metric is defined by Hamming radii, so that other rankings do not have it."""
        return self.entry.over_radii or (self.name.cutoff is not None and self.name.cutoff.kind == "radius")

    def of(self, metric: str) -> "NamedMetric":
        """The metric called ``metric``, with these parameters and this cutoff."""
        return NamedMetric(replace(self.name, metric=metric), METRICS.get(metric))


@dataclass(frozen=True)
class Metrics:
    """Different metrics in the order in which they were named; iteration gives each ``NamedMetric``."""

    each: tuple[NamedMetric, ...] = ()

    @staticmethod
    def parse(names: str | Iterable[str], source: type[Histogram] | type[Retrieval] | None = Histogram) -> "Metrics":
        """The metrics that ``names`` name: one text or several, each of which may hold several names between commas.

        A metric that is named twice is taken once. Raises HashbenchError where ``NamedMetric.parse`` does, and for a
        metric that is not computed from ``source`` (None: from anything). Call it first: then a wrong name is refused
        before anything is counted.

        >>> Metrics.parse("map, recall@1,5").names
        ['ap', 'recall@1', 'recall@5']
        """
        found = Metrics(tuple(dict.fromkeys(map(NamedMetric.parse, split_names(names)))))
        for metric in found:
            needed = metric.entry.source
            if source is not None and needed is not source:
                raise HashbenchError(
                    f"metric '{metric}' is computed from {SOURCES[needed]}, not from {SOURCES[source]}"
                )
        return found

    @property
    def names(self) -> list[str]:
        """The canonical names."""
        return list(map(str, self.each))

    def where(self, condition: Callable[[NamedMetric], bool]) -> "Metrics":
        """Those of the metrics that meet a condition."""
        return Metrics(tuple(filter(condition, self.each)))

    def __iter__(self) -> Iterator[NamedMetric]:
        return iter(self.each)

    def __len__(self) -> int:
        return len(self.each)
