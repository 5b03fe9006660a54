"""What differs between two rows, or between the rows of two results folders."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hashbench.foundation.errors import HashbenchError
from hashbench.metrics import MetricValue
from hashbench.runs.again import all_metrics
from hashbench.runs.store import Row, Store

MADE_BY = ("code", "versions", "hardware", "utc", "seconds", "arithmetic")  # who measured it, when and how fast
RESULT = ("status", "reason", "distinct_codes")  # and the checksums

Pairs = dict[str, tuple[Any, Any]]  # of the first and of the second row, by key; None where a row has no such key


@dataclass(frozen=True)
class RowDiff:
    """What differs between two rows: settings, means of metrics, other results such as checksums, and provenance."""

    settings: Pairs
    metrics: Pairs
    results: Pairs
    made_by: Pairs

    @property
    def same_values(self) -> bool:
        """Whether settings and all results are equal: then only machine, time or code differ."""
        return not (self.settings or self.metrics or self.results)


def diff_rows(a: Row, b: Row) -> RowDiff:
    """What differs between two rows, in the order of their keys."""
    of_a, of_b = a.model_dump(by_alias=True), b.model_dump(by_alias=True)
    results = [*RESULT, *(key for key in of_a if key.endswith("_sha256"))]
    return RowDiff(
        _pairs({**a.config, "seed": a.seed}, {**b.config, "seed": b.seed}),
        _metrics(a, b),
        _pairs(*({key: each[key] for key in results} for each in (of_a, of_b))),
        _pairs(*({key: each[key] for key in MADE_BY} for each in (of_a, of_b))),
    )


def says_nothing_new(row: Row, known: Row) -> bool:
    """Whether ``known``, a row of the same run, has every value of ``row``; it may have more of them."""
    of_row, of_known = all_metrics(row), all_metrics(known)
    if row.config != known.config or any(of_known.get(name) != value for name, value in of_row.items()):
        return False
    results = [*RESULT, *(key for key in Row.model_fields if key.endswith("_sha256"))]
    return all(getattr(row, key) in (None, getattr(known, key)) for key in results)


def _metrics(a: Row, b: Row) -> Pairs:
    """The means of the metrics in which the rows differ, be it in their standard deviation only."""
    of_a, of_b = all_metrics(a), all_metrics(b)
    names = [name for name in {**of_a, **of_b} if of_a.get(name) != of_b.get(name)]
    return {name: (_mean(of_a.get(name)), _mean(of_b.get(name))) for name in names}


def _mean(value: MetricValue | None) -> float | None:
    return None if value is None else value.mean


def _pairs(a: Mapping[str, Any], b: Mapping[str, Any]) -> Pairs:
    of_a, of_b = dict(_flat(a)), dict(_flat(b))
    keys = sorted({**of_a, **of_b})
    return {key: (of_a.get(key), of_b.get(key)) for key in keys if of_a.get(key) != of_b.get(key)}


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested objects, by their keys joined with dots."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@dataclass(frozen=True)
class FolderDiff:
    """The rows that two results folders have, by name: in one only, equal in both, or different.

    ``same_values`` have the same values, and were made by another machine, at another time or by another version.
    """

    only_a: list[str] = field(default_factory=list)
    only_b: list[str] = field(default_factory=list)
    equal: list[str] = field(default_factory=list)
    same_values: list[str] = field(default_factory=list)
    other_values: dict[str, RowDiff] = field(default_factory=dict)


def diff_folders(a: Store, b: Store, damaged: Callable[[HashbenchError], None]) -> FolderDiff:
    """What differs between the rows of two folders; ``damaged`` is told of rows that cannot be read."""
    rows_a, rows_b = ({path.stem: row for path, row in store.files(damaged)} for store in (a, b))
    found = FolderDiff([*(rows_a.keys() - rows_b.keys())], [*(rows_b.keys() - rows_a.keys())])
    found.only_a.sort()
    found.only_b.sort()
    for name in sorted(rows_a.keys() & rows_b.keys()):
        if rows_a[name] == rows_b[name]:
            found.equal.append(name)
        elif (diff := diff_rows(rows_a[name], rows_b[name])).same_values:
            found.same_values.append(name)
        else:
            found.other_values[name] = diff
    return found


def store_at(folder: Path) -> Store:
    """The store in a results folder, or around a folder called rows; raises HashbenchError where there are no rows."""
    if (folder / "rows").is_dir():
        return Store(folder)
    if folder.resolve().name == "rows" and folder.is_dir():
        return Store(folder.resolve().parent)
    raise HashbenchError(f"{folder}: not a results folder: one with a folder rows in it is expected")
