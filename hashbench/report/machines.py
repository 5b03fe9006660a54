"""What was run on which machine: the rows summed by machine, and by data set and method."""

from collections.abc import Iterable
from dataclasses import dataclass

from hashbench.runs.store import Row


@dataclass(frozen=True)
class Ran:
    """Some rows that belong together, and what the report says of them."""

    name: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def n_failed(self) -> int:
        """The number of runs that failed."""
        return sum(row.status == "failed" for row in self.rows)

    @property
    def hours(self) -> float:
        """The hours of wall time to train, encode and score."""
        return sum(sum(row.seconds.model_dump().values()) for row in self.rows if row.seconds) / 3600

    @property
    def seeds(self) -> int:
        """The number of different seeds."""
        return len({row.seed for row in self.rows})

    @property
    def bits(self) -> list[str]:
        """The code lengths, ascending; none of sparse codes."""
        return ascending(row.settings["bits"] for row in self.rows if "bits" in row.settings)

    @property
    def dates(self) -> str:
        """The days of the first and of the last run, in UTC."""
        days = sorted(row.utc[:10] for row in self.rows)
        return days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"

    @property
    def machines(self) -> list[str]:
        """The machines, sorted."""
        return sorted({machine_of(row) for row in self.rows})

    def versions(self, library: str) -> str:
        """The versions of a library that the runs used, sorted."""
        return ", ".join(sorted({str(row.versions[library]) for row in self.rows if row.versions.get(library)}))


def ascending(numbers: Iterable[object]) -> list[str]:
    """Different whole numbers as texts, in their order; foreign files may hold any text in their place.

    >>> ascending([12, 8, "x", 12])
    ['8', 'x', '12']
    """
    return sorted(set(map(str, numbers)), key=lambda text: (len(text), text))


def by_machine(rows: Iterable[Row]) -> list[Ran]:
    """The rows of each machine, sorted by its name."""
    return _grouped(((machine_of(row),), row) for row in rows)


def by_method(rows: Iterable[Row]) -> list[Ran]:
    """The rows of each data set, protocol and method, sorted."""
    return _grouped(((row.dataset, row.protocol, row.method), row) for row in rows)


def _grouped(named: Iterable[tuple[tuple[str, ...], Row]]) -> list[Ran]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for name, row in named:
        found.setdefault(name, []).append(row)
    return [Ran(name, tuple(rows)) for name, rows in sorted(found.items())]


def machine_of(row: Row) -> str:
    """The machine of a row in words."""
    hardware = row.hardware
    cores = f"{hardware['cores']} cores" if hardware.get("cores") is not None else None
    named = (hardware.get("gpu"), hardware.get("cpu"), cores, hardware.get("system"))
    return ", ".join(str(part) for part in named if part) or "unknown machine"


def commit_of(row: Row) -> str:
    """The version and the commit of the code that made a row."""
    commit = row.code.commit[:12] if row.code.commit else "unknown"
    changed = " with local changes" if row.code.dirty else ""
    return f"hashbench {row.code.version}, commit {commit}{changed}"
