"""Relevance of the items of a database to its queries, by labels or by distances, as a protocol says."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.protocol import Percentiles, Protocol
from hashbench.datasets.readers import Items
from hashbench.datasets.split import Ids, Split
from hashbench.datasets.store import Dataset
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.relevance import percentiles
from hashbench.relevance.distances import DistanceRelevance
from hashbench.relevance.labels import LabelRelevance, from_labels

Floats = NDArray[np.float64]
BLOCK = 1 << 12  # items whose features are in memory at once


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """The features of items, computed when read; with ``mean`` [f], it is subtracted and the norm becomes 1 (or 0)."""

    items: Items
    ids: Ids
    mean: Floats | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """(items, dimensions)."""
        return len(self.ids), math.prod(self.items.shape[1:])

    def __getitem__(self, rows: slice) -> Floats:
        """The features of the items in ``rows``, float64[rows, f]."""
        chosen = self.ids[rows]
        features = self.items[chosen].reshape(len(chosen), -1).astype(np.float64)
        if self.mean is None:
            return features
        features -= self.mean
        norms = np.linalg.norm(features, axis=1, keepdims=True)
        return np.divide(features, norms, out=features, where=norms > 0)


def relevance_of(data: Dataset, chosen: Split, protocol: Protocol) -> LabelRelevance | DistanceRelevance:
    """How relevant the items of the split's database are to its queries; HashbenchError without labels or a rule."""
    rule = protocol.relevance
    if isinstance(rule, Percentiles):
        return by_percentiles(rule, data, chosen)
    if rule is not None:  # the nearest percent, at least one item, and all items as far away as the last
        query, database = (FeatureRows(data.items, ids) for ids in (chosen.query_ids, chosen.database_ids))
        k = max(1, round(len(chosen.database_ids) * rule.percent / 100))
        return DistanceRelevance(query, database, percentiles.nearest(query, database, k)[None])
    if data.labels.shape[1:] == (0,):
        advice = "its protocol needs relevance, of kind percentiles or nearest"
        raise HashbenchError(f"{data.name}: it has no labels: {advice}")
    return from_labels(data.labels[chosen.query_ids], data.labels[chosen.database_ids])


def relevance_of_training(data: Dataset, chosen: Split, protocol: Protocol) -> DistanceRelevance | None:
    """How relevant the training examples are to each other; None unless ``protocol`` has relevance by percentiles."""
    if not isinstance(protocol.relevance, Percentiles):  # a method compares labels itself; Nearest is for queries only
        return None
    among = replace(chosen, query_ids=chosen.train_ids, database_ids=chosen.train_ids)
    return by_percentiles(protocol.relevance, data, among)


def by_percentiles(rule: Percentiles, data: Dataset, chosen: Split, centred: bool = True) -> DistanceRelevance:
    """The relevance of the database to the queries, with thresholds of the pairs of training items, of norm 1."""
    train = FeatureRows(data.items, chosen.train_ids)
    n, d = train.shape
    mean = np.sum([train[rows].sum(axis=0) for rows in slices(n, BLOCK)], axis=0) / n if centred else np.zeros(d)
    train = replace(train, mean=mean)
    found = percentiles.percentiles(train, rule.percent)
    if len(set(found)) < len(found):
        raise HashbenchError(f"{data.name}: percentiles {rule.percent} of the training pairs are not all different")
    # released: squared distances are compared with the percentiles
    thresholds = tuple(map(math.sqrt, found)) if rule.kind == "released" else found
    query, database = (replace(train, ids=ids) for ids in (chosen.query_ids, chosen.database_ids))
    return DistanceRelevance(query, database, thresholds, tuple(rule.levels))
