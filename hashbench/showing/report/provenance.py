"""What the page says of runs: all rows, and the runs behind a cell."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import count
from typing import Any

from hashbench.foundation.config import all_as_typed
from hashbench.foundation.errors import HashbenchError
from hashbench.learning.contract import PIXELS
from hashbench.learning.methods import METHODS
from hashbench.running.runs.row import Row
from hashbench.running.runs.settings import FORMS
from hashbench.showing.report.contents import MissingRun, Place, ReportedTable, place_of
from hashbench.showing.sheet import formatted
from hashbench.showing.tables.notation import Notation, least_to_most
from hashbench.showing.tables.papers import Paper, cited
from hashbench.showing.tables.sheet import Attributes, settings_text
from hashbench.showing.tables.table import TableCell

ELSEWHERE = "made elsewhere"
TRAINED = (("lr", "rate"), ("epochs", "epochs"), ("batch_size", "batch"))  # settings of a training that are said


def ascending(numbers: Iterable[object]) -> list[str]:
    """Different whole numbers as texts, in their order; foreign files may hold any text in their place.

    >>> ascending([12, 8, "x", 12])
    ['8', 'x', '12']
    """
    return sorted(set(map(str, numbers)), key=lambda text: (len(text), text))


def machine_of(row: Row) -> str:
    """The machine of a row in words."""
    hardware = row.hardware
    parts = [hardware.get("gpu"), hardware.get("cpu"), hardware.get("system")]
    if hardware.get("cores") is not None:
        parts.insert(2, f"{hardware['cores']} cores")
    return ", ".join(str(part) for part in parts if part) or "unknown machine"


@dataclass
class Provenance:
    """The data that the script of the page reads: all rows, and what is said of each cell, by the id of its element."""

    rows: Mapping[str, Row]
    entries: Mapping[str, Paper]
    cells: dict[str, dict[str, Any]] = field(default_factory=dict)
    missing: list[MissingRun] = field(default_factory=list)  # by place too: many cells share one

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each run in the list."""
        return {name: place for place, name in enumerate(self.rows)}

    def add(self, reported: ReportedTable) -> Attributes:
        """The function that gives the attributes of the elements of a table's cells, which are added to the data."""
        table = reported.table
        how = Notation.of(table, interval=True, distinct=True)
        waiting: dict[Place, int] = {}  # an empty cell -> the missing run that it waits for
        for run in reported.missing:
            waiting |= dict.fromkeys(run.places, len(self.missing))
            self.missing.append(run)
        names = (f"{table.name}.{n}" for n in count(1))
        return lambda cell: self._attributes(cell, next(names), waiting, how)

    def _attributes(self, cell: TableCell, name: str, waiting: Mapping[Place, int], how: Notation) -> dict[str, str]:
        """What filter and sorting need to know of the cell, and the id by which its provenance is found."""
        declared = cell.declared
        measured = cell.measured
        data: dict[str, Any] = {"facts": _facts(cell, how, self.entries)}
        values = {"published": declared.published}
        features = ""
        if measured is None:
            state = "missing"
            data["missing"] = waiting[place_of(declared)]
        else:
            state = "outside" if cell.within_tolerance is False else "measured"
            data["runs"] = [self.places[row.run] for row in measured.rows]
            values["measured"] = measured.mean
            features = input_of(measured.rows[0])
        self.cells[name] = data
        attributes = {
            "id": name,
            "class": state,
            **filter_attributes(declared.dataset, declared.method, declared.settings.get("bits"), features=features),
        }
        if declared.settings.get("supervised") is False:
            attributes["data-kinds"] = _kinds(declared.method, supervised=False)
        shown = {key: value for key, value in values.items() if value is not None}
        return attributes | {f"data-{key}": formatted(value, ".6f") for key, value in shown.items()}

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
    """The features that a run hashes, or its network."""
    settings = row.config.get("settings", {})
    features = str(settings.get("features") or PIXELS)
    if row.is_imported and features == PIXELS:
        return ELSEWHERE  # nobody knows the network
    if settings.get("model") in (None, *FORMS):
        return features
    return str(settings["model"])


def _run(row: Row, makers: dict[str, int], groups: dict[tuple[str, ...], int]) -> list[Any]:
    """Name, seed, how it was trained, code and machine by their place in ``makers``, its cell in ``groups``, AP."""
    code = f"hashbench {row.code.version}, commit {(row.code.commit or 'unknown')[:12]}"
    if row.code.dirty:
        code += " with local changes"
    if row.is_imported:
        code = f"codes made elsewhere, scored by {code}"
    if row.maker:
        code = f"{row.maker}: {code}"
    maker = makers.setdefault(f"{code}; {machine_of(row)}", len(makers))
    settings = row.config.get("settings", {})
    how = [f"{label} {settings[key]}" for key, label in TRAINED if key in settings]
    if row.seconds is not None:
        how += [f"{part} {value:,.1f} s" for part, value in row.seconds.model_dump().items()]
    names = row.method, row.dataset, str(settings.get("bits", "")), row.protocol, input_of(row)
    group = groups.setdefault((*names, all_as_typed(settings)), len(groups))
    score: str | float = row.status
    if row.status == "ok" and "ap" in row.metrics and (ap := row.metrics["ap"].mean) is not None:
        score = round(ap, 6)
    return [row.run, row.seed, ", ".join(how), maker, group, score]


def _facts(cell: TableCell, how: Notation, entries: Mapping[str, Paper]) -> dict[str, str]:
    declared = cell.declared
    measured = cell.measured
    metric = declared.metric
    if declared.evaluation != "database":
        metric += f" ({declared.evaluation})"
    facts = {
        "method": f"{declared.method} on {declared.dataset}, protocol {declared.protocol}",
        "settings": settings_text(declared.settings).replace(";", "; "),
        "metric": metric,
        "budget": "" if declared.budget == "full" else declared.budget,
    }
    if (published := how.published(cell)) is not None:
        ties = {True: ", tie-aware", False: ", not tie-aware", None: ""}[declared.tie_aware]
        facts["paper"] = f"{published.text}, {cited(declared.citation, entries)}{ties}"
    number = how.measured(cell)
    if measured is not None and number is not None:
        text = number.text
        if number.spread is not None:
            text += f" ± {number.spread_text}"
        text += ", the same for every seed" * measured.is_same
        facts["measured"] = f"{text}, {least_to_most([measured.n_runs], 'run')}"
        facts["difference"] = _difference(cell, how)
        facts |= {"worst, best": how.interval_of(cell), "distinct codes": how.distinct_of(cell)}
    return {label: text for label, text in facts.items() if text}


def _difference(cell: TableCell, how: Notation) -> str:
    if cell.difference is None:
        return ""
    text = how.number(cell, cell.difference).text
    if not text.startswith("-"):
        text = f"+{text}"
    tolerance = cell.declared.tolerance
    if tolerance is None:
        return text
    side = "within" if cell.within_tolerance else "outside"
    return f"{text}, {side} the tolerance of {how.number(cell, tolerance).text}"


def filter_attributes(dataset: str, method: str, *bits: object, features: str = "") -> dict[str, str]:
    """The attributes by which the page's filter finds an element; ``bits`` are None for sparse codes."""
    lengths = " ".join(str(length) for length in bits if length is not None)
    values = {"dataset": dataset, "method": method, "bits": lengths, "features": features, "kinds": _kinds(method)}
    return {f"data-{key}": value for key, value in values.items() if value}


@cache
def _kinds(method: str, *, supervised: bool = True) -> str:
    """Whether it is supervised, and deep, shallow or sparse; nothing of a method that is not here."""
    try:
        entry = METHODS.get(method)
    except HashbenchError:
        return ""
    return f"{'un' * (not supervised or entry.supervision == 'none')}supervised {entry.group}"
