"""The type ``Convention``; each file of this folder without a leading underscore exports one as ``CONVENTION``."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hashbench.codes import Codes
from hashbench.relevance.labels import Relevance


@dataclass(frozen=True)
class ConventionValue:
    """A value that other evaluation code prints; None if that code returns NaN or stops with an error.

    ``of_this_machine`` is set if the value depends on an unstable sort. Its order of ties differs between machines and
    versions of NumPy, so the same code may print another value elsewhere.
    """

    value: float | None
    of_this_machine: bool = False


class Evaluate(Protocol):
    """A function that returns the values of a convention, by the names and in the order of the other code.

    ``cutoff`` is the rank at which it stops, None for the whole ranking. Raises HashbenchError for a cutoff at which
    the other code stops with an error.
    """

    def __call__(
        self, query: Codes, database: Codes, relevance: Relevance, *, cutoff: int | None = None
    ) -> dict[str, ConventionValue]: ...


@dataclass(frozen=True)
class Convention:
    """The evaluation code of another project."""

    summary: str  # what it does differently, in one line
    source: str  # repository and file
    evaluate: Evaluate


def mean(values: NDArray[np.float64]) -> float | None:
    """The mean, or None without values."""
    return float(values.mean()) if len(values) else None


def nan_to_zero(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values with 0 for NaN: a query without relevant items then counts as 0."""
    return np.nan_to_num(values, nan=0.0)


def with_cutoff(name: str, cutoff: int | None) -> str:
    """``name`` with its cutoff, if there is one."""
    return name if cutoff is None else f"{name}@{cutoff}"


def unstable_order(distances: NDArray[Any]) -> NDArray[np.intp]:
    """The items of each query in the order of NumPy's default sort of float32 distances, [q, n]; it is not stable."""
    return np.argsort(distances.astype(np.float32), axis=1)
