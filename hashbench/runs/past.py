"""What past runs say of one like them: the median of their seconds, or of another figure of their rows."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from hashbench.foundation.config import Setting
from hashbench.runs.brief import Brief
from hashbench.runs.row import Row
from hashbench.runs.run import Run

LIKE = ("model", "features")  # a network of ImageNet says nothing of how long a linear one takes
CODE_SIZE = ("bits", "d", "k")  # the settings that give the size of a code
R = TypeVar("R", Row, Brief)


def seconds_of(row: Row | Brief) -> float | None:
    """The seconds to train, encode and score; None of a row that has none."""
    taken = row.seconds
    if taken is None:
        return None
    return taken.train + taken.encode + taken.score


@dataclass(frozen=True)
class Past:
    """A figure of past runs, such as their seconds, by method, data set, protocol and size: its medians."""

    medians: Mapping[tuple[Any, ...], float]

    @staticmethod
    def of(rows: Iterable[R], figure: Callable[[R], float | None] = seconds_of) -> "Past":
        """The medians over all successful ``rows``, on whatever machines, that have the ``figure``."""
        values_by_key: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        for row in rows:
            if row.status != "ok" or (value := figure(row)) is None:
                continue
            settings = row.config.get("settings", {})
            for key in _keys(row.method, str(row.config.get("budget")), row.dataset, row.protocol, settings):
                values_by_key[key].append(value)
        return Past({key: statistics.median(values) for key, values in values_by_key.items()})

    def of_run(self, run: Run, *, on_any_data: bool = True) -> float | None:
        """The median of past runs of its method, budget, network and features, on its protocol with its size.

        Otherwise of any size, then of any protocol of its data set, then ``on_any_data``; None if there is none.
        """
        name = run.name
        keys = [*_keys(name.method, name.budget, name.dataset, name.protocol, name.settings)]
        if not on_any_data:
            keys = keys[:-1]
        return next((self.medians[key] for key in keys if key in self.medians), None)


def _keys(
    method: str, budget: str, dataset: str, protocol: str, settings: Mapping[str, Setting]
) -> Iterator[tuple[Any, ...]]:
    """What runs are compared by, the closest first; as texts, because a foreign row may hold a list as a setting."""
    like = (method, budget, *(str(settings.get(key)) for key in LIKE))
    yield *like, dataset, protocol, *(str(settings.get(key)) for key in CODE_SIZE)
    yield *like, dataset, protocol
    yield *like, dataset
    yield like
