"""The space of a search: the values of each setting among which it looks, and the trials, which are points of it."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import scipy
from pydantic import Discriminator, Field, Tag, model_validator

from hashbench.foundation.config import Setting, Strict, derive_seed

EXPLORED = 24  # trials of a method that lie anywhere in its space
NARROWED = 12  # trials that lie in each smaller part of it
DIGITS = 3  # of the values of a range: a rate is 3.17, not 3.1662
EDGE = 0.1  # the part of a range, at each end, in which a value is near that end

End = Literal["low", "high"]


class Range(Strict):
    """The values from ``low`` to ``high``, evenly, or with ``log`` by their logarithms; whole if both ends are."""

    low: int | float
    high: int | float
    log: bool = False
    last: list[End] = []  # the ends beyond which no value has a meaning, so that none can be wider

    @model_validator(mode="after")
    def _holds_values(self) -> Self:
        if not self.low < self.high or (self.log and self.low <= 0):
            expected = "low must be below high, and with log above 0"
            raise ValueError(f"the range from {self.low} to {self.high}: {expected}")
        return self

    def value(self, share: float) -> Setting:
        """The value at ``share`` of the way from ``low`` to ``high``, 0 <= ``share`` < 1."""
        whole = isinstance(self.low, int) and isinstance(self.high, int)
        low = self.low
        high = self.high + whole
        if self.log:
            value = low * (high / low) ** share
        else:
            value = low + (high - low) * share
        value = int(value) if whole else float(f"{value:.{DIGITS}g}")
        return min(max(value, self.low), self.high)  # a rounded value may lie outside

    def share(self, value: Any) -> float:
        """How far ``value`` is on the way from ``low`` to ``high``."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return float((value - self.low) / (self.high - self.low))

    def value_near(self, centre: Any, width: float, share: float) -> Setting:
        """The value at ``share`` of the way through the part around ``centre`` that has ``width`` of the range."""
        first = min(max(self.share(centre) - width / 2, 0.0), 1 - width)
        return self.value(first + width * share)

    def end_of(self, value: Any) -> End | None:
        """The end in whose tenth of the range ``value`` is; None in the middle."""
        share = self.share(value)
        if share < EDGE:
            return "low"
        return "high" if share > 1 - EDGE else None

    def __str__(self) -> str:
        """The range in words."""
        return f"{self.low} to {self.high}"


class Choices(Strict):
    """Two or more values, each as likely as the others; a list of numbers has ends as a range has."""

    choices: list[Setting] = Field(min_length=2)
    last: list[End] = []  # of numbers, as that of a range; a 0 that means "off" is such an end too

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if len(set(self.choices)) < len(self.choices):  # to Python 1, 1.0 and true are one value
            raise ValueError("a value is there twice")
        if self.last and not self.is_numeric:
            raise ValueError("last: only a list of numbers has ends")
        return self

    @property
    def is_numeric(self) -> bool:
        """Whether all values are numbers, which have an order; to Python true is a number, and not here."""
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.choices)

    def value(self, share: float) -> Setting:
        """The value at ``share`` of the way through the list, 0 <= ``share`` < 1."""
        return self.choices[int(share * len(self.choices))]

    def share(self, value: Any) -> float:
        """How far ``value`` is on the way through the list."""
        return self.choices.index(value) / (len(self.choices) - 1)

    def value_near(self, centre: Setting, width: float, share: float) -> Setting:  # noqa: ARG002  (as of a range)
        """The value ``centre`` itself."""
        return centre

    def end_of(self, value: Any) -> End | None:
        """The end at which ``value`` is: the smallest or the largest number of the list; None for all others."""
        if not self.is_numeric:
            return None
        numbers = [float(number) for number in self.choices]
        if value == min(numbers):
            return "low"
        return "high" if value == max(numbers) else None

    def __str__(self) -> str:
        """The list in words."""
        return ", ".join(map(str, self.choices))


def _kind(value: Any) -> str:
    """Which of the two a value is read as, so that an error is about one of them."""
    if isinstance(value, Choices) or (isinstance(value, dict) and "choices" in value):
        return "choices"
    return "range"


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
    if not space:
        return [{} for _ in range(n)]
    shares = scipy.stats.qmc.Halton(len(space), scramble=True, seed=derive_seed(*seed) % 2**32).random(n)
    return [dict(zip(sorted(space), row, strict=True)) for row in shares.tolist()]


def same_points(space: Space, other: Space) -> bool:
    """Whether both give the same trials: ``last`` says only how a choice is judged."""

    def values_of(space: Space) -> dict[str, dict[str, Any]]:
        return {key: values.model_dump(exclude={"last"}) for key, values in space.items()}

    return values_of(space) == values_of(other)


def at_edge(space: Space, chosen: Mapping[str, Setting]) -> dict[str, End]:
    """The settings whose chosen value is at an end that could be wider, and which end: see ``end_of``."""
    ends = {key: values.end_of(chosen[key]) for key, values in space.items() if key in chosen}
    return {key: end for key, end in ends.items() if end is not None and end not in space[key].last}
