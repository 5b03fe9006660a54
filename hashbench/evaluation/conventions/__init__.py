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

from hashbench.foundation.registry import Catalogue


@dataclass(frozen=True)
class ConventionValue:
    """A value that other evaluation code prints; None if that code returns NaN or stops with an error.

    ``of_this_machine`` is set if the value depends on an unstable sort. Its order of ties differs between machines and
    versions of NumPy, so the same code may print another value elsewhere.
    """

    value: float | None
    of_this_machine: bool = False


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


def mean(values: NDArray[np.float64]) -> float | None:
    """The mean, or None without values."""
    return float(values.mean()) if len(values) else None


def with_cutoff(name: str, cutoff: int | None) -> str:
    """``name`` with its cutoff, if there is one."""
    return name if cutoff is None else f"{name}@{cutoff}"


def unstable_order(distances: NDArray[Any]) -> NDArray[np.intp]:
    """The items of each query in the order of NumPy's default sort of float32 distances, [q, n]; it is not stable."""
    return np.argsort(distances.astype(np.float32), axis=1)


CONVENTIONS = Catalogue(
    "convention", "hashbench.evaluation.conventions", "CONVENTION", Convention, group="hashbench.conventions"
)
