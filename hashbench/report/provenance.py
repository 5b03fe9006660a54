"""What the page says of runs: those of each machine and method, all rows, and the runs behind a cell."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import count
from typing import Any

from hashbench.foundation.config import all_as_typed
from hashbench.foundation.errors import HashbenchError
from hashbench.methods import METHODS
from hashbench.report.contents import MissingRun, Place, ReportedTable, place_of
from hashbench.runs.row import Row
from hashbench.showing.sheet import formatted
from hashbench.tables.notation import Notation, least_to_most
from hashbench.tables.papers import Paper, cited
from hashbench.tables.sheet import Attributes, settings_text
from hashbench.tables.table import TableCell
from hashbench.tables.tracks import name_of, task_of

TRAINED = (("lr", "rate"), ("epochs", "epochs"), ("batch_size", "batch"))  # settings of a training that are said


@dataclass(frozen=True)
class Ran:
    """Some rows that belong together, and what the report says of them."""

    name: tuple[str, ...]
    rows: Sequence[Row]

    @property
    def counts(self) -> tuple[int, int, int, float]:
        """The numbers of runs, of failed runs, and of seeds; the hours of wall time to train, encode and score."""
        seconds = sum(sum(row.seconds.model_dump().values()) for row in self.rows if row.seconds)
        n_failed = sum(row.status == "failed" for row in self.rows)
        return len(self.rows), n_failed, len({row.seed for row in self.rows}), seconds / 3600

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


def grouped(rows: Iterable[Row], name_of: Callable[[Row], tuple[str, ...]]) -> list[Ran]:
    """The rows of each name, sorted by it."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(name_of(row), []).append(row)
    return [Ran(name, rows) for name, rows in sorted(found.items())]


def machine_of(row: Row) -> str:
    """The machine of a row in words."""
    hardware = row.hardware
    cores = f"{hardware['cores']} cores" if hardware.get("cores") is not None else None
    named = (hardware.get("gpu"), hardware.get("cpu"), cores, hardware.get("system"))
    return ", ".join(str(part) for part in named if part) or "unknown machine"


@dataclass
class Provenance:
    """The data that the script of the page reads: all rows, and what is said of each cell, by the id of its element."""

    rows: Mapping[str, Row]
    entries: Mapping[str, Paper]
    cells: dict[str, dict[str, Any]] = field(default_factory=dict)
    ids: dict[tuple[str, Place], str] = field(default_factory=dict)  # of a table's cells, by table and place
    missing: list[MissingRun] = field(default_factory=list)  # by place too: many cells share one

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each run in the list."""
        return {name: place for place, name in enumerate(self.rows)}

    def add(self, each: ReportedTable) -> Attributes:
        """The function that gives the attributes of the elements of a table's cells, which are added to the data."""
        how = Notation.of(each.table, interval=True, distinct=True)
        waiting: dict[Place, int] = {}  # an empty cell -> the missing run that it waits for
        for run in each.missing:
            waiting |= dict.fromkeys(run.places, len(self.missing))
            self.missing.append(run)
        names = (f"{each.table.name}.{n}" for n in count(1))
        return lambda cell: self._attributes(cell, (each.table.name, next(names)), waiting, how)

    def _attributes(
        self, cell: TableCell, names: tuple[str, str], waiting: Mapping[Place, int], how: Notation
    ) -> dict[str, str]:
        """What filter and sorting need to know of the cell, and the id by which its provenance is found."""
        (table, name), declared, measured = names, cell.declared, cell.measured
        made_by: dict[str, Any] = {"missing": waiting[place_of(declared)]} if measured is None else {}
        if measured is not None:
            made_by["runs"] = [self.places[row.run] for row in measured.rows]
        self.cells[name] = {"facts": _facts(cell, how, self.entries), **made_by}
        self.ids[table, place_of(declared)] = name
        values = {"published": declared.published, "measured": measured.mean if measured else None}
        state = "missing" if measured is None else "outside" if cell.within_tolerance is False else "measured"
        features = input_of(measured.rows[0]) if measured else ""
        supervised = declared.settings.get("supervised") is not False
        return {
            "id": name,
            "class": state,
            **filter_attributes(declared.dataset, declared.method, declared.settings.get("bits"), features=features),
            **({} if supervised else {"data-kinds": _kinds(declared.method, supervised=False)}),
            **{f"data-{key}": formatted(value, ".6f") for key, value in values.items() if value is not None},
        }

    def as_json(self) -> str:
        """The data as JSON that can stand in an element of HTML: no ``<`` ends it."""
        makers: dict[str, int] = {}
        groups: dict[tuple[str, ...], int] = {}  # what the seeds of a cell have in common
        data = {
            "cells": self.cells,
            "runs": [_run(row, makers, groups) for row in self.rows.values()],
            "groups": list(groups),
            "makers": list(makers),
            "missing": [[run.why, run.command] for run in self.missing],
            "kinds": {method: _kinds(method) for method in sorted({row.method for row in self.rows.values()})},
        }
        return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def input_of(row: Row) -> str:
    """The features of its task, or those, or else the network, that it names."""
    settings = row.config.get("settings", {})
    return task.features if (task := task_of(row)) else str(settings.get("features") or settings.get("model") or "")


def _run(row: Row, makers: dict[str, int], groups: dict[tuple[str, ...], int]) -> list[Any]:
    """Name, seed, how it was trained, code and machine by their place in ``makers``, its cell in ``groups``, AP."""
    commit = row.code.commit[:12] if row.code.commit else "unknown"
    code = f"hashbench {row.code.version}, commit {commit}{' with local changes' if row.code.dirty else ''}"
    code = f"codes made elsewhere, scored by {code}" if row.is_imported else code
    by = f"{row.maker}: " if row.maker else ""
    maker = makers.setdefault(f"{by}{code}; {machine_of(row)}", len(makers))
    seconds = {} if row.seconds is None else row.seconds.model_dump()
    settings = row.config.get("settings", {})
    how = [f"{label} {settings[key]}" for key, label in TRAINED if key in settings]
    how += [f"{part} {value:,.1f} s" for part, value in seconds.items()]
    line = name_of(row) if task_of(row) else None
    whose = ", ".join([line.track, *(f"{key} {value}" for key, value in line.form)]) if line else ""
    names = row.method, row.dataset, str(settings.get("bits", "")), row.protocol, input_of(row), whose
    group = groups.setdefault((*names, all_as_typed(settings)), len(groups))
    ap = row.metrics["ap"].mean if row.status == "ok" and "ap" in row.metrics else None
    return [row.run, row.seed, ", ".join(how), maker, group, row.status if ap is None else round(ap, 6)]


def _facts(cell: TableCell, how: Notation, entries: Mapping[str, Paper]) -> dict[str, str]:
    declared, measured = cell.declared, cell.measured
    facts = {
        "method": f"{declared.method} on {declared.dataset}, protocol {declared.protocol}",
        "settings": settings_text(declared.settings).replace(";", "; "),
        "metric": declared.metric + ("" if declared.evaluation == "database" else f" ({declared.evaluation})"),
        "budget": "" if declared.budget == "full" else declared.budget,
    }
    if (published := how.published(cell)) is not None:
        ties = {True: ", tie-aware", False: ", not tie-aware", None: ""}[declared.tie_aware]
        facts["paper"] = f"{published.text}, {cited(declared.citation, entries)}{ties}"
    number = how.measured(cell)
    if measured is not None and number is not None:
        spread = "" if number.spread is None else f" ± {number.spread_text}"
        spread += ", the same for every seed" * measured.is_same
        runs = least_to_most([measured.n_runs], "run")
        facts["measured"] = f"{number.text}{spread}, {runs}"
        facts["difference"] = _difference(cell, how)
        facts |= {"worst, best": how.interval_of(cell), "distinct codes": how.distinct_of(cell)}
    return {label: text for label, text in facts.items() if text}


def _difference(cell: TableCell, how: Notation) -> str:
    if cell.difference is None:
        return ""
    text, tolerance = how.number(cell, cell.difference).text, cell.declared.tolerance
    signed, side = text if text.startswith("-") else f"+{text}", "within" if cell.within_tolerance else "outside"
    return signed if tolerance is None else f"{signed}, {side} the tolerance of {how.number(cell, tolerance).text}"


def filter_attributes(dataset: str, method: str, *bits: object, features: str = "") -> dict[str, str]:
    """The attributes by which the page's filter finds an element; ``bits`` are None for sparse codes."""
    lengths = " ".join(str(each) for each in bits if each is not None)
    found = {"dataset": dataset, "method": method, "bits": lengths, "features": features, "kinds": _kinds(method)}
    return {f"data-{key}": value for key, value in found.items() if value}


@cache
def _kinds(method: str, *, supervised: bool = True) -> str:
    """Whether it is supervised, and deep, shallow or sparse; nothing of a method that is not here."""
    try:
        found = METHODS.get(method)
    except HashbenchError:
        return ""
    return f"{'un' * (not supervised or found.supervision == 'none')}supervised {found.group}"
