"""Conventions: the metric values that other evaluation code computes for the same codes; one file for each code base.

They differ from the exact metrics, and from each other, in the divisor of AP@k, in the order of tied items, in the
treatment of queries without relevant items, and by defects of that code. Each file says which of these it reproduces.
Use them to check published values; use the metrics to compare methods.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench import metrics
from hashbench.codes import Codes
from hashbench.foundation.registry import Catalogue
from hashbench.histogram import ranking, ties
from hashbench.metrics import Metrics, NamedMetric
from hashbench.relevance.labels import Relevance

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ConventionValue:
    """A value that other evaluation code prints."""

    value: float | None  # None if that code returns NaN or stops with an error
    of_this_machine: bool = False  # by an unstable sort: machines and versions of NumPy order ties otherwise


@dataclass(frozen=True)
class Convention:
    """The evaluation code of another project.

    ``evaluate(query, database, relevance, *, cutoff=None)`` takes the codes of both sides and returns the values by the
    names and in the order of the other code. ``cutoff`` is the rank at which it stops, None for the whole ranking.
    Raises HashbenchError for a cutoff at which the other code stops with an error.
    """

    summary: str  # what it does differently, in one line
    source: str  # repository and file
    evaluate: Callable[..., dict[str, ConventionValue]]


Values = dict[str, ConventionValue]


def mean(values: Floats) -> float | None:
    """The mean, or None without values."""
    return float(values.mean()) if len(values) else None


def with_cutoff(name: str, cutoff: int | None) -> str:
    """``name`` with its cutoff, if there is one."""
    return name if cutoff is None else f"{name}@{cutoff}"


def at_ranks(
    query: Codes,
    database: Codes,
    relevance: Relevance,
    ranks: int,
    value: Callable[[NDArray[Any]], NDArray[Any]] = lambda distances: distances,
) -> tuple[Floats, Floats]:
    """AP with norm ``retrieved`` and precision at ``ranks``, float64[q]; NaN for a query without a relevant item.

    Items are in the order of NumPy's default sort of the float32 ``value`` of their distances, which is not stable.
    """
    distances = ranking.hamming(query, database)
    ordered = ties.in_order(distances, relevance, lambda block: np.argsort(value(block).astype(np.float32), axis=1))
    wanted = Metrics([NamedMetric.at("ap", ranks, norm="retrieved"), NamedMetric.at("precision", ranks)])
    average, precision = metrics.evaluate(ordered, wanted).values()
    return average, precision


CONVENTIONS = Catalogue(
    "convention", "hashbench.evaluation.conventions", "CONVENTION", Convention, group="hashbench.conventions"
)
