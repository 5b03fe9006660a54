"""How long runs that are still to be made will take, from the seconds in the rows of past runs."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hashbench.foundation.config import Setting
from hashbench.runs.row import Row
from hashbench.runs.run import Run

LIKE = ("model", "features")  # a network of ImageNet says nothing of how long a linear one takes
SIZE = ("bits", "d", "k")  # the settings that give the size of a code


@dataclass(frozen=True)
class PastSeconds:
    """The seconds of past runs, on whatever machines made them: by method, data set and size; and less exactly."""

    seconds: Mapping[tuple[Any, ...], list[float]]

    @staticmethod
    def of(rows: Iterable[Row]) -> "PastSeconds":
        """The seconds to train, encode and score of all successful ``rows``."""
        found: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        for row in rows:
            if row.status == "ok" and row.seconds is not None:
                total = row.seconds.train + row.seconds.encode + row.seconds.score
                for key in _keys(row.method, row.dataset, row.config.get("settings", {})):
                    found[key].append(total)
        return PastSeconds(dict(found))

    def of_run(self, spec: Run) -> float | None:
        """The median of past runs of the same method, network or features, on this data set and with this size.

        Where there are none, of any size; then on any data set. None if the method was never run so.
        """
        for key in _keys(spec.name.method, spec.name.dataset, spec.name.settings):
            if key in self.seconds:
                return statistics.median(self.seconds[key])
        return None


def _keys(method: str, dataset: str, settings: Mapping[str, Setting]) -> Iterator[tuple[Any, ...]]:
    """What runs are compared by, the closest first; as texts, because a foreign row may hold a list as a setting."""
    like = (method, *(str(settings.get(key)) for key in LIKE))
    yield *like, dataset, *(str(settings.get(key)) for key in SIZE)
    yield *like, dataset
    yield like
