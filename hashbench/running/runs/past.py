"""What past runs say of one like them: the median of their seconds, or of another figure of their rows."""

import json
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hashbench.running.runs import blocks
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Line

LIKE = ("model", "features")  # a network of ImageNet says nothing of how long a linear one takes
CODE_SIZE = ("bits", "d", "k")  # the settings that give the size of a code


def seconds_of(row: Row) -> float | None:
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
    def of(rows: Iterable[Row], figure: Callable[[Row], float | None] = seconds_of) -> "Past":
        """The medians over all successful ``rows``, on whatever machines, that have the ``figure``."""
        values_by_key: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        for row in rows:
            if row.status != "ok" or (value := figure(row)) is None:
                continue
            for key in _keys(row.config):
                values_by_key[key].append(value)
        return Past(_medians(values_by_key))

    @staticmethod
    def of_lines(lines: Iterable[Line]) -> "Past":
        """As ``of`` the seconds of rows that are not checked, which takes a tenth of the time."""
        values_by_key: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        keys_by_config: dict[tuple[str, int], list[tuple[str, ...]]] = {}  # of many rows, of each file
        for line in lines:
            config = line.stored.partition('"config":')[2].partition(',"config_hash":')[0]
            taken, _, after = line.stored.rpartition(',"seconds":')[2].partition("}")
            place = config, id(line.blocks)
            with suppress(ValueError, KeyError, AttributeError, TypeError):  # no seconds, or a damaged row
                if place not in keys_by_config:
                    keys_by_config[place] = [*_keys(json.loads(blocks.whole(config, line.blocks)))]
                seconds = sum(json.loads(f"{taken}}}").values())
                if '"status":"ok"' in after:
                    for key in keys_by_config[place]:
                        values_by_key[key].append(seconds)
        return Past(_medians(values_by_key))

    def of_run(self, run: Run, *, on_any_data: bool = True) -> float | None:
        """The median of past runs of its method, budget, network and features, on its protocol with its size.

        Otherwise of any size, then of any protocol of its data set, then ``on_any_data``; None if there is none.
        """
        keys = [*_keys(run.name.config)]
        if not on_any_data:
            keys = keys[:-1]
        return next((self.medians[key] for key in keys if key in self.medians), None)


def _medians(values_by_key: Mapping[tuple[Any, ...], list[float]]) -> dict[tuple[Any, ...], float]:
    return {key: statistics.median(values) for key, values in values_by_key.items()}


def _keys(config: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """What runs are compared by, the closest first; as texts, because a foreign row may hold a list as a setting."""
    settings = config["settings"]

    def texts(values: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
        return [str(values.get(key)) for key in keys]

    like = (*texts(config, ("method", "budget")), *texts(settings, LIKE))
    on = texts(config, ("dataset", "protocol"))
    yield *like, *on, *texts(settings, CODE_SIZE)
    yield *like, *on
    yield *like, on[0]
    yield like
