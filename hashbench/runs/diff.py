"""The differences between two rows: of any two runs, of one run that was trained again, or of two results folders."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hashbench.foundation.errors import HashbenchError
from hashbench.runs.row import Artefact, Row
from hashbench.runs.store import Damaged, Store

# what made the row, when and how fast
MADE_BY = (
    "code",
    "versions",
    "hardware",
    "threads",
    "peak_memory",
    "hasher_bytes",
    "objective",
    "utc",
    "seconds",
    "arithmetic",
    "maker",
)
SUMS = ("status", "reason", "distinct_codes", "data_sha256", "features_sha256", "ids_sha256")
RESULT = (*SUMS[:3], "artefacts", *SUMS[3:])
PARTS = {
    "cpu": "processor",
    "cpu_family": "family of processors",
    "cpu_model": "model of processor",
    "instructions": "instruction set",
    "gpu": "GPU",
}

Pairs = dict[str, tuple[Any, Any]]  # of the first and of the second row, by key; None where a row has no such key


@dataclass(frozen=True)
class RowDiff:
    """The differences between two rows: settings, means of metrics, other results such as checksums, and provenance."""

    settings: Pairs
    metrics: Pairs
    results: Pairs
    made_by: Pairs

    @property
    def same_values(self) -> bool:
        """Whether settings and all results are equal: then only machine, time or code differ."""
        return not (self.settings or self.metrics or self.results)


def diff_rows(a: Row, b: Row) -> RowDiff:
    """The differences between two rows, in the order of their keys."""
    of_a, of_b = a.model_dump(by_alias=True), b.model_dump(by_alias=True)
    values = a.all_metrics(), b.all_metrics()
    changed = [name for name in {**values[0], **values[1]} if values[0].get(name) != values[1].get(name)]
    means = [{name: value.mean for name, value in each.items()} for each in values]
    return RowDiff(
        _pairs({**a.config, "seed": a.seed}, {**b.config, "seed": b.seed}),
        {name: (means[0].get(name), means[1].get(name)) for name in changed},  # perhaps equal: another deviation
        _pairs(*({key: each[key] for key in RESULT} for each in (of_a, of_b))),
        _pairs(*({key: each[key] for key in MADE_BY} for each in (of_a, of_b))),
    )


def says_nothing_new(row: Row, known: Row) -> bool:
    """Whether ``known``, a row of the same run, has every value of ``row``; it may have more of them."""
    return (
        row.config == known.config
        and row.all_metrics().items() <= known.all_metrics().items()
        and row.artefacts.items() <= known.artefacts.items()
        and all(getattr(row, key) in (None, getattr(known, key)) for key in SUMS)
    )


def _pairs(a: Mapping[str, Any], b: Mapping[str, Any]) -> Pairs:
    of_a, of_b = dict(_flat(a)), dict(_flat(b))
    keys = sorted({**of_a, **of_b})
    return {key: (of_a.get(key), of_b.get(key)) for key in keys if of_a.get(key) != of_b.get(key)}


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@dataclass(frozen=True)
class FolderDiff:
    """The names of the rows that two results folders have: in one only, equal in both, or different."""

    only_a: list[str]
    only_b: list[str]
    equal: list[str] = field(default_factory=list)
    same_values: list[str] = field(default_factory=list)  # made by another machine, at another time or by other code
    other_values: dict[str, RowDiff] = field(default_factory=dict)


def diff_folders(a: Store, b: Store, damaged: Damaged) -> FolderDiff:
    """The differences between the rows of two folders; ``damaged`` is called with the error of each unreadable row."""
    rows_a, rows_b = (dict(store.named_rows(damaged)) for store in (a, b))
    found = FolderDiff(sorted(rows_a.keys() - rows_b.keys()), sorted(rows_b.keys() - rows_a.keys()))
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
    """A new row compared with the stored one of the same run."""

    equal: dict[Artefact, bool]  # whether the checksums are; if the histograms are equal, the codes give equal scores
    differences: dict[str, float | None]  # the new mean minus the stored one of each metric; None where one has no mean
    likely_cause: str | None  # what may have changed the artefacts; None if all are equal, or nothing known differs


def diff_rerun(new: Row, stored: Row) -> RerunDiff:
    """The differences between the row ``new`` and the row ``stored``."""
    before, names = stored.all_metrics(), {**stored.artefacts, **new.artefacts}
    equal = {name: new.artefacts.get(name) == stored.artefacts.get(name) for name in names}
    pairs = {name: (value.mean, before[name].mean) for name, value in new.all_metrics().items() if name in before}
    differences = {  # two rows without a mean are equal
        name: (0.0 if a is b else None) if a is None or b is None else a - b for name, (a, b) in pairs.items()
    }
    return RerunDiff(equal, differences, None if all(equal.values()) else _likely_cause(new, stored))


def _likely_cause(new: Row, stored: Row) -> str | None:
    """The differences that change the rounding of sums, and with it codes: processor, GPU, and number of threads."""
    causes = []
    for key, part in PARTS.items():
        now, before = new.hardware.get(key), stored.hardware.get(key)
        if key in stored.hardware and now != before:  # older rows lack some
            causes.append(f"another {part}: {now}, stored {before}")
    cores, threads, before = stored.hardware.get("cores"), _threads_text(new), _threads_text(stored)
    if stored.threads is not None and threads != before:
        causes.append(f"another number of threads: {threads}, stored {before}")
    elif stored.threads is None and cores is not None:
        causes.append(f"another number of threads: {threads}; the stored row has none, its machine {cores} cores")
    return "; ".join(causes) or None


def _threads_text(row: Row) -> str:
    """The threads of a row's libraries but Numba, whose threads no kernel of hashbench uses."""
    return ", ".join(f"{key} {n}" for key, n in (row.threads or {}).items() if key != "numba") or "unknown"


def store_at(folder: Path) -> Store:
    """The store in a results folder, or around a folder called rows; raises HashbenchError where there are no rows."""
    if (folder / "rows").is_dir():
        return Store(folder)
    if folder.resolve().name == "rows" and folder.is_dir():
        return Store(folder.resolve().parent)
    raise HashbenchError(f"{folder}: not a results folder: one with a folder rows in it is expected")
