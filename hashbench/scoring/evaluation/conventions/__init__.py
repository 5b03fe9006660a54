"""Conventions: the metric values that other evaluation code prints for the same codes, to check published values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.registry import Catalogue
from hashbench.scoring import metrics
from hashbench.scoring.codes import Codes
from hashbench.scoring.histogram import ranking, ties
from hashbench.scoring.metrics import Metrics, NamedMetric
from hashbench.scoring.relevance.labels import Relevance

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ConventionValue:
    """A value that other evaluation code prints."""

    value: float | None  # None if that code returns NaN or stops with an error
    of_this_machine: bool = False  # by an unstable sort: machines and versions of NumPy order ties otherwise


@dataclass(frozen=True)
class Convention:
    """The evaluation code of another project; HashbenchError for a cutoff at which that code stops with an error."""

    summary: str  # what it does differently, in one line
    source: str  # repository and file
    # (query, database, relevance, *, cutoff=None): the values by that code's names; a cutoff of None is the last rank
    evaluate: Callable[..., dict[str, ConventionValue]]


Values = dict[str, ConventionValue]


def mean(values: Floats) -> float | None:
    """The mean, or None without values."""
    if len(values) == 0:
        return None
    return float(values.mean())


def with_cutoff(name: str, cutoff: int | None) -> str:
    """``name`` with its cutoff, if there is one."""
    if cutoff is None:
        return name
    return f"{name}@{cutoff}"


def at_ranks(
    query: Codes,
    database: Codes,
    relevance: Relevance,
    ranks: int,
    value: Callable[[NDArray[Any]], NDArray[Any]] = lambda distances: distances,
) -> tuple[Floats, Floats]:
    """AP (norm ``retrieved``) and precision at ``ranks``, ranked by NumPy's unstable sort of ``value``; NaN: none."""
    distances = ranking.hamming(query, database)
    ordered = ties.in_order(distances, relevance, lambda block: np.argsort(value(block).astype(np.float32), axis=1))
    wanted = Metrics([NamedMetric.at("ap", ranks, norm="retrieved"), NamedMetric.at("precision", ranks)])
    average, precision = metrics.evaluate(ordered, wanted).values()
    return average, precision


CONVENTIONS = Catalogue(
    "convention", "hashbench.scoring.evaluation.conventions", "CONVENTION", Convention, group="hashbench.conventions"
)
