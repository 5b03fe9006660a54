"""The differences between two rows of one run, such as one that was trained again; the store in a results folder."""

from dataclasses import dataclass
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.running.runs.row import Artefact, Row
from hashbench.running.runs.store import Store

SUMS = ("status", "reason", "distinct_codes", "data_sha256", "features_sha256", "ids_sha256")
PARTS = {
    "cpu": "processor",
    "cpu_family": "family of processors",
    "cpu_model": "model of processor",
    "instructions": "instruction set",
    "gpu": "GPU",
}


def says_nothing_new(row: Row, known: Row) -> bool:
    """Whether ``known``, a row of the same run, has every value of ``row``; it may have more of them."""
    return (
        row.config == known.config
        and row.all_metrics().items() <= known.all_metrics().items()
        and row.artefacts.items() <= known.artefacts.items()
        and all(getattr(row, key) in (None, getattr(known, key)) for key in SUMS)
    )


@dataclass(frozen=True)
class RerunDiff:
    """A new row compared with the stored one of the same run."""

    equal: dict[Artefact, bool]  # whether the checksums are; if the histograms are equal, the codes give equal scores
    differences: dict[str, float | None]  # the new mean minus the stored one of each metric; None where one has no mean
    likely_cause: str | None  # what may have changed the artefacts; None if all are equal, or nothing known differs


def diff_rerun(new: Row, stored: Row) -> RerunDiff:
    """The differences between the row ``new`` and the row ``stored``."""
    before = stored.all_metrics()
    names = {**stored.artefacts, **new.artefacts}
    equal = {name: new.artefacts.get(name) == stored.artefacts.get(name) for name in names}
    differences: dict[str, float | None] = {}
    for name, value in new.all_metrics().items():
        if name in before:
            differences[name] = _difference(value.mean, before[name].mean)
    if all(equal.values()):
        return RerunDiff(equal, differences, None)
    return RerunDiff(equal, differences, _likely_cause(new, stored))


def _difference(now: float | None, before: float | None) -> float | None:
    """The difference of two means: 0 where neither row has one, None where one of them has none."""
    if now is None or before is None:
        return 0.0 if now is before else None
    return now - before


def _likely_cause(new: Row, stored: Row) -> str | None:
    """The differences that change the rounding of sums, and with it codes: processor, GPU, and number of threads."""
    causes = []
    for key, part in PARTS.items():
        now = new.hardware.get(key)
        before = stored.hardware.get(key)
        if key in stored.hardware and now != before:  # older rows lack some
            causes.append(f"another {part}: {now}, stored {before}")
    threads = _threads_text(new)
    before = _threads_text(stored)
    if threads != before:
        causes.append(f"another number of threads: {threads}, stored {before}")
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
