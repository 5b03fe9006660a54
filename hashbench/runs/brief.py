"""What the rows of a store say of their runs, read without the checks of a row: for lists of all there are."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from hashbench.foundation.registry import each_usable
from hashbench.runs.row import SCHEMA, Seconds, is_unedited
from hashbench.runs.store import Damaged, Line, Store


@dataclass(frozen=True)
class Brief:
    """The part of a row that says which run it is of, how it ended, and how long it took."""

    line: Line
    dataset: str
    protocol: str
    method: str
    config: Mapping[str, Any]
    status: str
    reason: str | None
    seconds: Seconds | None

    @cached_property
    def searches(self) -> Mapping[str, Mapping[str, Any]]:
        """The metrics of each search by name."""
        searches: dict[str, dict[str, Any]] = json.loads(self.line.text)["searches"]
        return searches


def brief_of(line: Line) -> Brief:
    """The brief of a row; raises CheckFailed for an edited row, and OtherSchema."""
    try:
        # half of a row are its searches
        before, _, rest = line.stored.partition('"searches":')
        _, _, after = rest.rpartition('"seconds":')
        content = json.loads(f'{before}"seconds":{after}')
        if is_unedited(line.text) and content["schema"] == SCHEMA:
            config = content["config"]
            if "@" in config:
                config = _parsed(line.blocks[config["@"]])
            seconds = content["seconds"]
            if seconds is not None:
                seconds = Seconds.model_construct(**seconds)
            return Brief(
                line,
                config=config,
                seconds=seconds,
                dataset=content["dataset"],
                protocol=content["protocol"],
                method=content["method"],
                status=content["status"],
                reason=content["reason"],
            )
    except (ValueError, KeyError, TypeError):
        pass  # what is wrong is said by the checks of a row
    line.row()
    raise AssertionError(f"{line.place}: its row can be read, and its brief cannot")


def briefs(store: Store, damaged: Damaged) -> dict[str, Brief]:
    """The briefs of all rows by run; ``damaged`` is called with the error of each that cannot be read."""
    return {line.run: brief for line, brief in each_usable(store.lines(damaged), brief_of, damaged)}


@cache
def _parsed(block: str) -> Mapping[str, Any]:
    values: dict[str, Any] = json.loads(block)
    return values
