"""What the page says of a cell when one points at it: its declaration, and the runs behind its value."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hashbench.report.machines import commit_of, machine_of
from hashbench.report.missing import MissingRun, Place, place_of
from hashbench.runs.store import Row
from hashbench.tables.notation import Notation, number
from hashbench.tables.papers import Paper, cited
from hashbench.tables.render_csv import settings_text
from hashbench.tables.table import Table, TableCell

DECIMALS = 6  # as in the CSV of a table


@dataclass
class Provenance:
    """The data of the page, which its script reads: what is said of each cell, by the id of its element.

    Cells name stored and missing runs by their places in lists, because many cells share one.
    """

    rows: Mapping[str, Row]
    cells: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)  # name -> place in the list
    missing: list[MissingRun] = field(default_factory=list)

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


@dataclass
class CellsOfTable:
    """The attributes of the elements of one table's cells; what is said of each cell goes to ``provenance``."""

    table: Table
    waiting: Mapping[Place, int]  # an empty cell -> the missing run that it waits for
    entries: Mapping[str, Paper]
    provenance: Provenance
    n: int = 0

    @cached_property
    def how(self) -> Notation:
        """How the values are written."""
        return Notation.of(self.table, interval=True, distinct=True)

    def attributes(self, cell: TableCell) -> dict[str, str]:
        """What filter and sorting need to know of the cell, and the id by which its provenance is found."""
        self.n += 1
        name, declared, measured = f"{self.table.name}.{self.n}", cell.declared, cell.measured
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
