"""What the page says of runs: those of each machine and method, and the runs behind a cell that one points at."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hashbench.report.contents import MissingRun, Place, place_of
from hashbench.runs.row import Row
from hashbench.tables.notation import Notation, number
from hashbench.tables.papers import Paper, cited
from hashbench.tables.render_csv import settings_text
from hashbench.tables.table import Table, TableCell

DECIMALS = 6  # as in the CSV of a table


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


@dataclass
class Provenance:
    """The data of the page, which its script reads: what is said of each cell, by the id of its element.

    Cells name stored and missing runs by their places in lists, because many cells share one.
    """

    rows: Mapping[str, Row]
    cells: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)  # name -> place in the list
    missing: list[MissingRun] = field(default_factory=list)
    n_cells: Counter[str] = field(default_factory=Counter)

    def count(self, table: str) -> int:
        """The number of the next cell of a table, from 1."""
        self.n_cells[table] += 1
        return self.n_cells[table]

    def places_of(self, runs: Iterable[str]) -> list[int]:
        """The places of stored runs."""
        return [self.runs.setdefault(run, len(self.runs)) for run in runs]

    def add_missing(self, missing: Iterable[MissingRun]) -> dict[Place, int]:
        """The place of the missing run that each empty cell of a table waits for."""
        found: dict[Place, int] = {}
        for run in missing:
            found |= dict.fromkeys(run.places, len(self.missing))
            self.missing.append(run)
        return found

    def as_json(self) -> str:
        """The data as JSON that can stand in an element of HTML: no ``<`` ends it."""
        makers: dict[str, int] = {}
        data = {
            "cells": self.cells,
            "runs": [_run(self.rows[name], makers) for name in self.runs],
            "makers": list(makers),
            "missing": [[run.why, run.command] for run in self.missing],
        }
        return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def _run(row: Row, makers: dict[str, int]) -> list[Any]:
    """Name, seed, seconds and what made the run: code and machine, by their place in ``makers``."""
    maker = makers.setdefault(f"{commit_of(row)}; {machine_of(row)}", len(makers))
    seconds = {} if row.seconds is None else row.seconds.model_dump()
    return [row.run, row.seed, ", ".join(f"{part} {value:,.1f} s" for part, value in seconds.items()), maker]


@dataclass(frozen=True)
class CellsOfTable:
    """The attributes of the elements of one table's cells; what is said of each cell goes to ``provenance``."""

    table: Table
    waiting: Mapping[Place, int]  # an empty cell -> the missing run that it waits for
    entries: Mapping[str, Paper]
    provenance: Provenance
    how: Notation

    def attributes(self, cell: TableCell) -> dict[str, str]:
        """What filter and sorting need to know of the cell, and the id by which its provenance is found."""
        declared, measured = cell.declared, cell.measured
        name = f"{self.table.name}.{self.provenance.count(self.table.name)}"
        self.provenance.cells[name] = {"facts": dict(self._facts(cell)), **self._made_by(cell)}
        values = {"published": declared.published, "measured": measured.mean if measured else None}
        state = "missing" if measured is None else "outside" if cell.within_tolerance is False else "measured"
        return {
            "id": name,
            "class": state,
            **filter_attributes(declared.dataset, declared.method, declared.settings.get("bits")),
            **{f"data-{key}": number(value, DECIMALS) for key, value in values.items() if value is not None},
        }

    def _made_by(self, cell: TableCell) -> dict[str, Any]:
        if cell.measured is not None:
            return {"runs": self.provenance.places_of(row.run for row in cell.measured.rows)}
        return {"missing": self.waiting[place_of(cell.declared)]}

    def _facts(self, cell: TableCell) -> list[tuple[str, str]]:
        declared, how, measured = cell.declared, self.how, cell.measured
        facts = {
            "method": f"{declared.method} on {declared.dataset}, protocol {declared.protocol}",
            "settings": settings_text(declared.settings).replace(";", "; "),
            "metric": declared.metric + ("" if declared.evaluation == "database" else f" ({declared.evaluation})"),
            "budget": "" if declared.budget == "full" else declared.budget,
            "paper": self._published(cell),
            "measured": "",
        }
        if measured is not None:
            spread = "" if measured.std is None else f" ± {how.measured(cell, measured.std)}"
            facts |= {
                "measured": f"{how.measured(cell, measured.mean)}{spread}, {_counted(measured.n_runs)}",
                "difference": self._difference(cell),
                "worst, best": how.interval_of(cell),
                "distinct codes": how.distinct_of(cell),
            }
        return [(label, text) for label, text in facts.items() if text]

    def _published(self, cell: TableCell) -> str:
        declared = cell.declared
        if declared.published is None:
            return ""
        ties = {True: ", tie-aware", False: ", not tie-aware", None: ""}[declared.tie_aware]
        return f"{self.how.published(cell)}, {cited(declared.citation, self.entries)}{ties}"

    def _difference(self, cell: TableCell) -> str:
        if cell.difference is None:
            return ""
        text, tolerance = self.how.measured(cell, cell.difference), cell.declared.tolerance
        signed = text if text.startswith("-") else f"+{text}"
        if tolerance is None:
            return signed
        side = "within" if cell.within_tolerance else "outside"
        return f"{signed}, {side} the tolerance of {self.how.measured(cell, tolerance)}"


def _counted(n_runs: int) -> str:
    return "1 run" if n_runs == 1 else f"{n_runs} runs"


def filter_attributes(dataset: str, method: str, *bits: object) -> dict[str, str]:
    """The attributes by which the page's filter finds an element; ``bits`` are those of sparse codes where None."""
    lengths = " ".join(str(each) for each in bits if each is not None)
    return {"data-dataset": dataset, "data-method": method} | ({"data-bits": lengths} if lengths else {})
