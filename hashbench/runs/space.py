"""The space of a search: the values of each setting among which it looks, and the trials, which are points of it."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from hashbench.foundation.config import Setting, Strict, derive_seed

NEAR_END = 0.1  # of a range: a value in its first or last tenth says that a wider one may have a better value
EXPLORED = 24  # trials of a method that lie anywhere in its space
NARROWED = 12  # trials that lie in each smaller part of it
DIGITS = 3  # of the values of a range: a rate is 3.17, not 3.1662


class Range(Strict):
    """The values from ``low`` to ``high``, evenly, or with ``log`` by their logarithms; whole if both ends are."""

    low: int | float
    high: int | float
    log: bool = False
    last: list[Literal["low", "high"]] = []  # the ends beyond which no value has a meaning, so that none can be wider

    @model_validator(mode="after")
    def _holds_values(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"the range from {self.low} to {self.high} is empty: low must be below high")
        if self.log and self.low <= 0:
            raise ValueError(f"a range with log must be above 0, and low is {self.low}")
        return self

    def value(self, share: float) -> Setting:
        """The value at ``share`` of the way from ``low`` to ``high``, 0 <= ``share`` < 1."""
        whole = isinstance(self.low, int) and isinstance(self.high, int)
        low, high = self.low, self.high + whole
        found = low * (high / low) ** share if self.log else low + (high - low) * share
        found = int(found) if whole else float(f"{found:.{DIGITS}g}")
        return min(max(found, self.low), self.high)  # a rounded value may lie outside

    def share(self, value: Any) -> float:
        """How far ``value`` is on the way from ``low`` to ``high``."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return float((value - self.low) / (self.high - self.low))

    def value_near(self, centre: Any, width: float, share: float) -> Setting:
        """The value at ``share`` of the way through the part around ``centre`` that has ``width`` of the range."""
        first = min(max(self.share(centre) - width / 2, 0.0), 1 - width)
        return self.value(first + width * share)


class Choices(Strict):
    """Two or more values, each as likely as the others; numbers ascend, and have ends as a range has."""

    choices: list[Setting] = Field(min_length=2)
    last: list[Literal["low", "high"]] = []  # as of a range

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if len(set(self.choices)) < len(self.choices):  # to Python 1, 1.0 and true are one value
            raise ValueError("a value is there twice")
        return self

    def value(self, share: float) -> Setting:
        """The value at ``share`` of the way through the list, 0 <= ``share`` < 1."""
        return self.choices[int(share * len(self.choices))]

    def share(self, value: Any) -> float:
        """How far ``value`` is on the way through the list."""
        return self.choices.index(value) / (len(self.choices) - 1)

    def value_near(self, centre: Setting, width: float, share: float) -> Setting:  # noqa: ARG002  (as of a range)
        """The value ``centre`` itself."""
        return centre


def _kind(value: Any) -> str:
    """Which of the two a value is read as, so that an error is about one of them."""
    return "choices" if isinstance(value, Choices) or (isinstance(value, dict) and "choices" in value) else "range"


Values = Annotated[Annotated[Range, Tag("range")] | Annotated[Choices, Tag("choices")], Discriminator(_kind)]
Space = dict[str, Values]  # by setting


def points(space: Space, n: int, method: str) -> list[dict[str, Setting]]:
    """The settings of ``n`` trials: the points of a Halton sequence, scrambled by the name of the ``method``.

    A longer sequence begins with the same points, and no point depends on what another one scored, nor on the order of
    the settings in a file.
    """
    shares = _shares(space, n, "search", method)
    return [{key: space[key].value(share) for key, share in point.items()} for point in shares]


def points_near(
    space: Space, centre: Mapping[str, Setting], part: int, n: int, method: str
) -> list[dict[str, Setting]]:
    """The settings of ``n`` trials around the point ``centre``, in a ``part`` of the space, numbered from 1.

    Part 1 has half of each range, part 2 a quarter, and so on; what is chosen from a list is that of the centre.
    """
    shares = _shares(space, n, "search", method, part)
    width = 0.5**part
    return [{key: space[key].value_near(centre[key], width, share) for key, share in point.items()} for point in shares]


def _shares(space: Space, n: int, *seed: object) -> list[dict[str, float]]:
    """How far ``n`` points of a scrambled Halton sequence are on the way through each range or list."""
    from scipy.stats.qmc import Halton

    if not space:
        return [{} for _ in range(n)]
    shares = Halton(len(space), scramble=True, seed=derive_seed(*seed) % 2**32).random(n)
    return [dict(zip(sorted(space), row, strict=True)) for row in shares.tolist()]


def at_edge(space: Space, chosen: Mapping[str, Setting]) -> list[str]:
    """The settings whose chosen value is near an end of its range or list of numbers that could be wider there.

    Near an end of a range is its first or last tenth; of a list it is the first or last number. Words have no order.
    """
    return [key for key, of in space.items() if key in chosen and _ends(of, chosen[key]) - {*of.last}]


def _ends(of: Range | Choices, value: Setting) -> set[str]:
    """The ends that ``value`` is near to: "low", "high", or none."""
    if isinstance(of, Choices) and not all(
        isinstance(each, int | float) and not isinstance(each, bool) for each in of.choices
    ):
        return set()
    share = of.share(value)
    is_near = {"low": share < NEAR_END, "high": share > 1 - NEAR_END}
    return {end for end, near in is_near.items() if near}
