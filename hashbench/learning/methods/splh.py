"""SPLH: each projection corrects the pairs on which the one before it erred (Wang, Kumar, Chang 2010, algorithm 1).

S_ij is +1 for a labelled relevant pair, -1 for an irrelevant one. A projection w of the centred features X is the first
eigenvector of X^T S X + eta R^T R; then the residual R, at first X, loses the direction w.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import Field

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._pairs import Bools, relevant_pairs
from hashbench.learning.methods._shallow import (
    Linear,
    ShallowSettings,
    columns,
    require_bits_of_features,
    shallow_method,
)

Indices = NDArray[np.int64]


class Settings(ShallowSettings):
    """Each example is paired with ``n_pairs`` relevant and as many irrelevant ones, all where there are fewer."""

    eta: float = Field(ge=0)  # the weight of the variance of the residual
    alpha: float = Field(ge=0)  # the step of the labels, for projections p that are scaled to the mean square 1
    n_pairs: int = Field(ge=1)


class Pairs(NamedTuple):
    """The entries S_ij that are not 0, for i = ``rows`` and j = ``columns``."""

    rows: Indices
    columns: Indices
    labels: Floats

    def quadratic_form(self, features: Floats) -> Floats:
        """X^T S X [d, d], of which the symmetric part."""
        n = len(features)
        matrix = scipy.sparse.csr_array((self.labels, (self.rows, self.columns)), shape=(n, n))
        form = features.T @ (matrix @ features)
        return (form + form.T) / 2

    def corrected(self, projected: Floats, alpha: float) -> "Pairs":
        """S - ``alpha`` p p^T on the pairs where the signs of S and p p^T differ, for p = ``projected`` [n]."""
        products = projected[self.rows] * projected[self.columns]
        return self._replace(labels=self.labels - alpha * np.where(products * self.labels < 0, products, 0))


def labelled_pairs(relevant: Bools, n_pairs: int, random: np.random.Generator) -> Pairs:
    """Random pairs (i, j), j != i: for each i ``n_pairs`` with j relevant, labelled +1, and as many others, -1."""
    others = ~np.eye(len(relevant), dtype=bool)
    parts = [_drawn(relevant & others, n_pairs, random), _drawn(~relevant & others, n_pairs, random)]
    labels = np.repeat([1.0, -1.0], [len(rows) for rows, _ in parts])
    rows, columns = (np.concatenate(side) for side in zip(*parts, strict=True))
    return Pairs(rows, columns, labels)


def _drawn(allowed: Bools, n_each: int, random: np.random.Generator) -> tuple[Indices, Indices]:
    """``n_each`` random columns of each row where ``allowed``, or all of them if there are fewer."""
    most = min(n_each, len(allowed))
    keys = np.where(allowed, random.random(allowed.shape), 2.0)  # below 1 where allowed
    columns = np.argpartition(keys, most - 1, axis=1)[:, :most]
    rows = np.broadcast_to(np.arange(len(allowed))[:, None], columns.shape)
    kept = np.take_along_axis(allowed, columns, axis=1)
    return rows[kept], columns[kept]


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Linear:
    pairs = labelled_pairs(relevant_pairs(data), settings.n_pairs, np.random.default_rng(data.seed))
    mean = features.mean(axis=0)
    directions = fit_bits(settings, features - mean, pairs)
    return Linear(mean, columns("SPLH", directions, settings.bits, shown=data.execution.progress))


def fit_bits(settings: Settings, features: Floats, pairs: Pairs) -> Iterator[Floats]:
    """The projection w [d], of norm 1, of each bit in turn, for X = ``features`` [n, d]."""
    last = features.shape[1] - 1
    scatter = features.T @ features  # R^T R
    for _ in range(settings.bits):
        adjusted = pairs.quadratic_form(features) + settings.eta * scatter
        _, vectors = scipy.linalg.eigh(adjusted, subset_by_index=[last, last])
        direction = vectors[:, 0]
        projected = features @ direction
        pairs = pairs.corrected(projected / np.sqrt(np.square(projected).mean()), settings.alpha)
        # R <- R - R w w^T makes R^T R into (I - w w^T) R^T R (I - w w^T)
        removed = scatter - np.outer(direction, direction @ scatter)
        scatter = removed - np.outer(removed @ direction, direction)
        yield direction


METHOD = shallow_method(Settings, _fit, Linear, supervision="relevance", require=require_bits_of_features)
