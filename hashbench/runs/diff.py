"""What differs between two rows: of any two runs, of one run that was trained again, or of two results folders."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hashbench.foundation.errors import HashbenchError
from hashbench.metrics import MetricValue
from hashbench.runs.row import Artefact, Row
from hashbench.runs.store import Damaged, Store

# what made the row, when and how fast
MADE_BY = ("code", "versions", "hardware", "threads", "peak_memory", "utc", "seconds", "arithmetic")
SUMS = ("data_sha256", "features_sha256", "ids_sha256")
RESULT = ("status", "reason", "distinct_codes", "artefacts", *SUMS)

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
    return RowDiff(
        _pairs({**a.config, "seed": a.seed}, {**b.config, "seed": b.seed}),
        _metrics(a, b),
        _pairs(*({key: each[key] for key in RESULT} for each in (of_a, of_b))),
        _pairs(*({key: each[key] for key in MADE_BY} for each in (of_a, of_b))),
    )


def says_nothing_new(row: Row, known: Row) -> bool:
    """Whether ``known``, a row of the same run, has every value of ``row``; it may have more of them."""
    values = known.all_metrics()
    if row.config != known.config or any(values.get(name) != value for name, value in row.all_metrics().items()):
        return False
    if any(known.artefacts.get(name) != sha256 for name, sha256 in row.artefacts.items()):
        return False
    others = ("status", "reason", "distinct_codes", *SUMS)
    return all(getattr(row, key) in (None, getattr(known, key)) for key in others)


def _metrics(a: Row, b: Row) -> Pairs:
    """The means of the metrics in which the rows differ, be it in their standard deviation only."""
    of_a, of_b = a.all_metrics(), b.all_metrics()
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


def diff_folders(a: Store, b: Store, damaged: Damaged) -> FolderDiff:
    """What differs between the rows of two folders; ``damaged`` is called with the error of each unreadable row."""
    rows_a, rows_b = (dict(store.named_rows(damaged)) for store in (a, b))
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


@dataclass(frozen=True)
class RerunDiff:
    """A new row compared with the stored one of the same run.

    ``equal`` says of each artefact whether its checksum is the stored one: if the histograms are equal, the codes give
    equal scores, whatever the metric. ``differences`` are the new mean minus the stored mean of each metric that both
    rows have; None where one of them has no mean. ``likely_cause`` says what may have changed the artefacts; it is None
    if all are equal, or if nothing that is known of the two machines differs.
    """

    equal: dict[Artefact, bool]
    differences: dict[str, float | None]
    likely_cause: str | None

    @property
    def is_equal(self) -> bool:
        """Whether all artefacts are equal."""
        return all(self.equal.values())


def diff_rerun(new: Row, stored: Row) -> RerunDiff:
    """How the row ``new`` differs from the row ``stored``."""
    before = stored.all_metrics()
    pairs = {name: (value, before[name]) for name, value in new.all_metrics().items() if name in before}
    equal = {
        name: new.artefacts.get(name) == stored.artefacts.get(name) for name in {**stored.artefacts, **new.artefacts}
    }
    return RerunDiff(
        equal,
        {name: _difference(value.mean, other.mean) for name, (value, other) in pairs.items()},
        None if all(equal.values()) else _likely_cause(new, stored),
    )


def _difference(new: float | None, stored: float | None) -> float | None:
    if new is None or stored is None:
        return 0.0 if new is stored else None
    return new - stored


def _likely_cause(new: Row, stored: Row) -> str | None:
    """What changes the rounding of sums, and with it codes: the processor, the GPU, and the number of threads."""
    found = [
        f"another {name}: {new.hardware.get(key)}, stored {stored.hardware.get(key)}"
        for key, name in (("cpu", "processor"), ("gpu", "GPU"))
        if new.hardware.get(key) != stored.hardware.get(key)
    ]
    if stored.threads is not None and new.threads != stored.threads:
        found.append(f"another number of threads: {_threads(new)}, stored {_threads(stored)}")
    elif stored.threads is None and (cores := stored.hardware.get("cores")) is not None:
        found.append(f"another number of threads: {_threads(new)}; the stored row has none, its machine {cores} cores")
    return "; ".join(found) or None


def _threads(row: Row) -> str:
    return ", ".join(f"{library} {n}" for library, n in (row.threads or {}).items()) or "unknown"


def store_at(folder: Path) -> Store:
    """The store in a results folder, or around a folder called rows; raises HashbenchError where there are no rows."""
    if (folder / "rows").is_dir():
        return Store(folder)
    if folder.resolve().name == "rows" and folder.is_dir():
        return Store(folder.resolve().parent)
    raise HashbenchError(f"{folder}: not a results folder: one with a folder rows in it is expected")
