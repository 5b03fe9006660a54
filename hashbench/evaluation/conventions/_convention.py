"""What a convention declares: one file of this folder exports one ``CONVENTION``."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hashbench.codes import Codes
from hashbench.relevance.labels import Relevance


@dataclass(frozen=True)
class ConventionValue:
    """A figure that another code base would print; ``value`` is None where that code gives NaN or stops.

    ``of_this_machine`` marks a figure that depends on an unstable sort, whose order of ties differs between machines
    and versions of NumPy: on another one the same code prints another figure.
    """

    value: float | None
    of_this_machine: bool = False


class Evaluate(Protocol):
    """How a convention scores codes: the figures by the names that code gives them, in its order.

    ``cutoff`` is the rank at which it stops, None for the whole ranking. A cutoff that makes that code stop with an
    error raises HashbenchError.
    """

    def __call__(
        self, query: Codes, database: Codes, relevance: Relevance, *, cutoff: int | None = None
    ) -> dict[str, ConventionValue]: ...


@dataclass(frozen=True)
class Convention:
    """A code base and how it scores."""

    summary: str  # what it does differently, in one line
    source: str  # repository and file
    evaluate: Evaluate


def mean(values: NDArray[np.float64]) -> float | None:
    """The mean, None where there is no value."""
    return float(values.mean()) if len(values) else None


def nan_to_zero(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values with 0 in place of the NaN of queries without relevant items, which are then counted."""
    return np.nan_to_num(values, nan=0.0)


def with_cutoff(name: str, cutoff: int | None) -> str:
    """The figure's name with its cutoff, if there is one."""
    return name if cutoff is None else f"{name}@{cutoff}"


def unstable_order(distances: NDArray[Any]) -> NDArray[np.intp]:
    """The items of each query as NumPy's default sort orders float32 distances, [q, n]: ties fall as they may."""
    return np.argsort(distances.astype(np.float32), axis=1)
