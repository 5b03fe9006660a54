"""Relevance of the items of a database to its queries, by labels or by distances, as a protocol says."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.running.datasets.neighbours import stored_neighbours
from hashbench.running.datasets.protocol import Neighbours, Percentiles, Protocol
from hashbench.running.datasets.readers import Items
from hashbench.running.datasets.split import Ids, Split
from hashbench.running.datasets.store import Dataset
from hashbench.scoring.relevance import percentiles
from hashbench.scoring.relevance.distances import (
    DistanceRelevance,
    RowNumbers,
    Rows,
    euclidean,
    squared_distances,
    squared_norms,
)
from hashbench.scoring.relevance.labels import LabelRelevance, from_labels
from hashbench.scoring.relevance.neighbours import NeighbourRelevance

Floats = NDArray[np.float64]
BLOCK = 1 << 12  # items whose features are in memory at once
SAMPLE_ROWS = 1 << 10  # examples whose distances to the sample are in memory at once
SAMPLE = 5000  # training examples by whose distances the nearest of all of them are told, at most
# the levels of relevance among training examples by neighbours: those of the examples nearest to an example, in percent
NEAREST_PERCENT = (5.0, 1.0, 0.2)
NEAREST_LEVELS = (1, 2, 5)


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

    def __getitem__(self, rows: slice | RowNumbers) -> Floats:
        """The features of the items in ``rows``, float64[rows, f]."""
        chosen = self.ids[rows]
        features = self.items[chosen].reshape(len(chosen), -1).astype(np.float64)
        if self.mean is None:
            return features
        features -= self.mean
        norms = np.linalg.norm(features, axis=1, keepdims=True)
        return np.divide(features, norms, out=features, where=norms > 0)


@dataclass(frozen=True, eq=False)
class LiftedRows:
    """Rows with one more coordinate, by which an inner product ranks as a Euclidean distance [Bachrach et al. 2014].

    It is 0 for a query, and sqrt(M^2 - |x|^2) for an item x with M the largest norm: so the squared distance is
    |q|^2 + M^2 - 2 <q, x>.
    """

    rows: FeatureRows
    largest: float | None = None  # squared norm of an item; None: these are queries

    @property
    def shape(self) -> tuple[int, ...]:
        """(items, dimensions)."""
        return self.rows.shape[0], self.rows.shape[1] + 1

    def __getitem__(self, rows: slice | RowNumbers) -> Floats:
        """The features of the items in ``rows``, float64[rows, f + 1]."""
        features = self.rows[rows]
        added = np.zeros(len(features))
        if self.largest is not None:
            added = np.sqrt(np.maximum(self.largest - squared_norms(features), 0))
        return np.column_stack([features, added])


def relevance_of(
    data: Dataset, chosen: Split, protocol: Protocol, *, progress: bool = False
) -> LabelRelevance | DistanceRelevance | NeighbourRelevance:
    """The relevance of the split's database to its queries; HashbenchError without labels or a rule.

    With ``progress`` there is a bar while neighbours are computed, which are not stored yet.
    """
    rule = protocol.relevance
    if isinstance(rule, Neighbours):
        stored = stored_neighbours(data, chosen, rule, progress=progress)
        return NeighbourRelevance(stored.ids[:, : rule.k], len(chosen.database_ids))
    if isinstance(rule, Percentiles):
        return by_percentiles(rule, data, chosen)
    if rule is not None:  # the nearest percent, at least one item, and all items as far away as the last
        query = FeatureRows(data.items, chosen.query_ids)
        database = FeatureRows(data.items, chosen.database_ids)
        k = max(1, round(len(chosen.database_ids) * rule.percent / 100))
        return DistanceRelevance(query, database, percentiles.nearest(query, database, k)[None])
    if data.labels.shape[1:] == (0,):
        advice = "its protocol needs relevance, of kind percentiles, nearest or neighbours"
        raise HashbenchError(f"{data.name}: it has no labels: {advice}")
    return from_labels(data.labels[chosen.query_ids], data.labels[chosen.database_ids])


def relevance_of_training(data: Dataset, chosen: Split, protocol: Protocol) -> DistanceRelevance | None:
    """The relevance of the training examples to each other; None unless by percentiles or by neighbours."""
    rule = protocol.relevance
    if isinstance(rule, Neighbours):
        return nearest_in_training(rule, data, chosen)
    if not isinstance(rule, Percentiles):  # a method compares labels itself; Nearest is for queries only
        return None
    among = replace(chosen, query_ids=chosen.train_ids, database_ids=chosen.train_ids)
    return by_percentiles(rule, data, among)


def nearest_in_training(rule: Neighbours, data: Dataset, chosen: Split) -> DistanceRelevance:
    """The graded relevance of training examples to each other: level 5 of the nearest 0.2 percent, 2 of 1, 1 of 5.

    The k nearest themselves would be in hardly any batch: of 100 in 100,000 examples, one pair of a batch in a thousand
    is. The thresholds of an example are distances to ``SAMPLE`` of the examples, evenly spaced, without itself.
    """
    n = len(chosen.train_ids)
    if n < 2:
        raise HashbenchError(f"{data.name}: {n} training example: an example and another one near it are needed")
    train = FeatureRows(data.items, chosen.train_ids)
    if rule.metric == "cosine":
        train = replace(train, mean=np.zeros(train.shape[1]))
    query: FeatureRows | LiftedRows = train
    items = query
    if rule.metric == "ip":
        largest = max(float(squared_norms(train[rows]).max()) for rows in slices(n, BLOCK))
        query = LiftedRows(train)
        items = LiftedRows(train, largest)
    return DistanceRelevance(query, items, _training_thresholds(query, items), NEAREST_LEVELS)


def _training_thresholds(query: Rows, items: Rows) -> Floats:
    """The distances of each example to the nearest of a sample, by ``NEAREST_PERCENT``, float64[levels, examples]."""
    n = query.shape[0]
    sampled = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))
    sample = items[sampled]
    ranks = np.array([max(1, round((len(sample) - 1) * percent / 100)) for percent in NEAREST_PERCENT])
    thresholds = np.empty((len(ranks), n))
    for rows in slices(n, SAMPLE_ROWS):
        examples = query[rows]
        squared = squared_distances(examples, sample)
        themselves = np.flatnonzero((sampled >= rows.start) & (sampled < rows.stop))
        squared[sampled[themselves] - rows.start, themselves] = np.inf
        nearest = np.argpartition(squared, ranks - 1, axis=1)[:, ranks - 1]
        for level, chosen_items in enumerate(nearest.T):  # as the relevance has them, to the last bit
            thresholds[level, rows] = euclidean(examples, sample[chosen_items])
    return np.maximum.accumulate(thresholds[::-1])[::-1]  # the order was that of rounded distances


def by_percentiles(rule: Percentiles, data: Dataset, chosen: Split) -> DistanceRelevance:
    """The relevance of the database to the queries, with thresholds of the pairs of training items, of norm 1."""
    train = FeatureRows(data.items, chosen.train_ids)
    n = train.shape[0]
    sums = [train[rows].sum(axis=0) for rows in slices(n, BLOCK)]
    train = replace(train, mean=np.sum(sums, axis=0) / n)
    thresholds = percentiles.percentiles(train, rule.percent)
    if len(set(thresholds)) < len(thresholds):
        raise HashbenchError(f"{data.name}: percentiles {rule.percent} of the training pairs are not all different")
    if rule.kind == "released":  # squared distances are compared with the percentiles
        thresholds = tuple(map(math.sqrt, thresholds))
    query = replace(train, ids=chosen.query_ids)
    database = query
    if chosen.database_ids is not chosen.query_ids:
        database = replace(train, ids=chosen.database_ids)
    return DistanceRelevance(query, database, thresholds, tuple(rule.levels))
