"""A table as CSV and as a value for JSON: all about each cell, for other programs."""

from collections.abc import Iterable, Mapping
from typing import Any

from hashbench.foundation.config import Setting
from hashbench.foundation.files import csv_text
from hashbench.tables.notation import number, plain
from hashbench.tables.table import Table, TableCell

# six decimals: the last bits of a mean may depend on the machine that summed it, this text may not
DECIMALS = 6
FORMULA = ("=", "+", "-", "@")  # a spreadsheet runs a field that begins so

Value = str | int | float | bool | None

CODES = ("distinct_queries", "distinct_database")
NAMES = ("section", "row", "column", "dataset", "protocol", "method", "settings", "budget", "metric", "evaluation")
COLUMNS = (
    *(*NAMES, "published", "published_tie_aware", "citation"),
    *("measured", "std", "n_seeds", "worst", "best", "difference", "n_splits", "n_runs", "tie_dependent"),
    *(*CODES, "ci95_low", "ci95_high", "same_for_every_seed", "runs"),
)
# the columns that the JSON of a cell has too
MEASURED = ("measured", "std", "worst", "best", "difference", "tie_dependent", "same_for_every_seed", *CODES)
SAME = ("std", "n_seeds", "worst", "best", "n_splits", "n_runs", *CODES)


def render_csv(table: Table) -> str:
    """The table as CSV: a header, then one line for each cell in order of appearance.

    Values are as the metric gives them (fractions, never percent) with six decimals. A missing value is blank, never
    0 and never NaN. ``measured`` and ``std`` are over ``n_runs`` runs, ``n_seeds`` on each of ``n_splits`` splits; a
    cell is ``tie_dependent`` if its best AP over all orders of ties is more than 0.1 above the worst; ``ci95_low`` and
    ``ci95_high`` are by Student's t over the runs, blank where the codes are the ``same_for_every_seed`` and ``std`` is
    0 by construction. ``settings`` and ``runs`` are lists with ``;`` between entries.
    """
    return csv_lines(COLUMNS, (map(_line(cell).get, COLUMNS) for cell in table.cells()))


def csv_lines(head: Iterable[str], lines: Iterable[Iterable[Value]]) -> str:
    """The text of a CSV file, each value as :func:`csv_field` writes it."""
    return csv_text(head, (map(csv_field, line) for line in lines))


def json_table(table: Table) -> dict[str, Any]:
    """The table as an object for JSON, numbers not rounded; fractions stay fractions, and a missing value is null."""
    named = {key: getattr(table, key) for key in ("title", "paper", "source", "notes")}
    sections = [
        {"section": of.title, "rows": of.rows, "columns": of.columns, "cells": [*map(_json_cell, of.cells.values())]}
        for of in table.sections
    ]
    return {"table": table.name, **named, "sections": sections}


def _json_cell(cell: TableCell) -> dict[str, Any]:
    line, measured = _line(cell), cell.measured
    return {
        **cell.declared.model_dump(exclude={"section", "printed_as", "no_tolerance", "fitted"}),
        **{name: line.get(name) for name in MEASURED},
        **{name: line.get(name, 0) for name in ("n_seeds", "n_splits", "n_runs")},
        "ci95": measured.interval if measured else None,
        "runs": [row.run for row in measured.rows] if measured else [],
        "within_tolerance": cell.within_tolerance,
    }


def _line(cell: TableCell) -> dict[str, Value]:
    declared, measured = cell.declared, cell.measured
    line: dict[str, Value] = {name: getattr(declared, name) for name in NAMES}
    line["settings"] = settings_text(declared.settings)
    if declared.published is not None:
        line |= {"published": declared.published, "published_tie_aware": declared.tie_aware}
        line["citation"] = declared.citation
    if measured is not None:
        line |= {name: getattr(measured, name) for name in SAME}
        line |= {"measured": measured.mean, "difference": cell.difference, "tie_dependent": measured.is_tie_dependent}
        line |= dict(zip(("ci95_low", "ci95_high"), measured.interval or (), strict=False))
        line |= {"same_for_every_seed": measured.is_same, "runs": ";".join(row.run for row in measured.rows)}
    return line


def settings_text(settings: Mapping[str, Setting]) -> str:
    """The settings as sorted ``key=value`` pairs.

    >>> settings_text({"model": "vggf", "bits": 32, "bias": True})
    'bias=true;bits=32;model=vggf'
    """
    words = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in settings.items()}
    return ";".join(f"{key}={value}" for key, value in sorted(words.items()))


def csv_field(value: Value) -> str:
    """The text of a value: blank for None, numbers with six decimals, text on one line, an apostrophe before a formula.

    >>> [csv_field(value) for value in (None, True, 3, 0.25, "12 bits", "=1+1")]
    ['', 'true', '3', '0.250000', '12 bits', "'=1+1"]
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return number(value, DECIMALS)
    text = str(value).lower() if isinstance(value, bool) else plain(str(value))
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA) else text
