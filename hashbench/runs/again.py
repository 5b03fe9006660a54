"""A run that is stored already: what made its row, and how a new training of it compares with the row."""

from collections.abc import Mapping
from dataclasses import dataclass

from hashbench.metrics import MetricValue
from hashbench.runs.store import Row

COUNTS = ("histogram", "retrieval", "retrieval_of_test", "weights")  # what a row keeps the checksums of


def made_by(row: Row) -> str:
    """When and where the row was made, and by which code, in one phrase."""
    machine = [row.hardware.get(key) for key in ("system", "cpu", "gpu")]
    where = ", ".join(str(part) for part in machine if part)
    commit = f"commit {row.code.commit[:7]}" if row.code.commit else f"hashbench {row.code.version}"
    return f"trained {row.utc[:10]} on {where}, {commit}{' with changes' if row.code.dirty else ''}"


def all_metrics(row: Row) -> dict[str, MetricValue]:
    """All metrics of a row; the names of those by weighted distances and among the queries say so."""
    shown: tuple[tuple[str, Mapping[str, MetricValue]], ...] = (
        ("", row.metrics),
        ("weighted: ", row.metrics_weighted),
        ("among the queries: ", row.metrics_of_test),
    )
    return {searched + name: value for searched, metrics in shown for name, value in metrics.items()}


@dataclass(frozen=True)
class Comparison:
    """A new row compared with the stored one of the same run.

    ``counts`` says of each histogram or retrieval whether its checksum is that of the stored one: then the codes give
    equal scores, whatever the metric. ``differences`` are the new mean minus the stored mean of each metric that both
    rows have; None where one of them has no mean.
    """

    counts: dict[str, bool]
    differences: dict[str, float | None]

    @property
    def is_equal(self) -> bool:
        """Whether all counts are equal."""
        return all(self.counts.values())


def compare(new: Row, stored: Row) -> Comparison:
    """How the row ``new`` differs from the row ``stored``."""
    sums = {name: (getattr(new, f"{name}_sha256"), getattr(stored, f"{name}_sha256")) for name in COUNTS}
    before = all_metrics(stored)
    pairs = {name: (value, before[name]) for name, value in all_metrics(new).items() if name in before}
    return Comparison(
        {name: ours == theirs for name, (ours, theirs) in sums.items() if (ours, theirs) != (None, None)},
        {name: _difference(value.mean, other.mean) for name, (value, other) in pairs.items()},
    )


def _difference(new: float | None, stored: float | None) -> float | None:
    if new is None or stored is None:
        return 0.0 if new is stored else None
    return new - stored
