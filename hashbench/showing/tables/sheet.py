"""A table as a sheet: the published values beside the measured ones, and a record of each cell."""

from collections.abc import Callable, Mapping
from typing import Any

from hashbench.foundation.config import Setting
from hashbench.showing.sheet import Cell, Grid, Pair, Sheet, Value, records
from hashbench.showing.tables import notation
from hashbench.showing.tables.footnotes import footnotes, made_how
from hashbench.showing.tables.notation import Notation
from hashbench.showing.tables.table import Section, Table, TableCell

CODES = ("distinct_queries", "distinct_database")  # numbers of codes
NAMES = ("section", "row", "column", "dataset", "protocol", "method", "settings", "budget", "metric", "evaluation")
COLUMNS = (
    *(*NAMES, "published", "published_tie_aware", "citation"),
    *("measured", "std", "n_seeds", "worst", "best", "difference", "n_splits", "n_runs", "tie_dependent"),
    *(*CODES, "ci95_low", "ci95_high", "same_for_every_seed", "runs"),
)
# the columns that the JSON of a cell has too
MEASURED = ("measured", "std", "worst", "best", "difference", "tie_dependent", "same_for_every_seed", *CODES)
SAME = ("std", "n_seeds", "worst", "best", "n_splits", "n_runs", *CODES)

Attributes = Callable[[TableCell], Mapping[str, str]]  # what else the element of a cell says about it


def sheet_of(
    table: Table,
    *,
    interval: bool = False,
    counts: bool = False,
    for_paper: bool = False,
    attributes: Attributes | None = None,
) -> Sheet:
    """The table as a sheet; each cell is a pair of the published and the measured value.

    A measured value is a mean with the standard deviation over seeds; the best ones are marked, ‡ marks one that is
    tie-dependent, = one that is the same for every seed. A missing value leaves its side of the pair blank.
    ``interval`` adds the [worst, best] AP over all orders of ties,
    ``counts`` the (number of runs). ``for_paper`` says in footnotes how the values were made, and not in the legend.
    """
    how = Notation.of(table, interval=interval, counts=counts)
    legend = notation.legend(table, how)
    notes = table.notes
    if for_paper:
        notes = (*footnotes(table), *notes)
    else:
        legend = *legend, f" {made_how(table)}".rstrip()
    return Sheet(
        table.title,
        [_grid(table, section, how, attributes) for section in table.sections],
        [legend],
        notes,
        name=table.name,
        source=notation.origin(table),
        values=lambda: values_of(table),
        records=lambda: records_of(table),
    )


def _grid(table: Table, section: Section, how: Notation, attributes: Attributes | None) -> Grid:
    best = how.best(section)

    def pair(row: str, column: str) -> Cell:
        cell = section.cells.get((row, column))
        if cell is None:
            return None
        return Pair(
            how.published(cell),
            how.measured(cell, is_best=(row, column) in best),
            cell.within_tolerance is False,
            table.is_side_by_side,
            None if attributes is None else attributes(cell),
        )

    rows = [[row, *(pair(row, column) for column in section.columns)] for row in section.rows]
    headings = [notation.heading(section, column) for column in section.columns]
    return Grid(rows, ["", *headings], section.title)


def records_of(table: Table) -> Grid:
    """The columns of the CSV, and a line for each cell in order of appearance.

    Values are as the metric gives them (fractions, never percent). A missing value is blank, never 0 and never NaN.
    ``measured`` and ``std`` are over ``n_runs`` runs, ``n_seeds`` on each of ``n_splits`` splits; a cell is
    ``tie_dependent`` if its best AP over all orders of ties is more than 0.1 above the worst; ``ci95_low`` and
    ``ci95_high`` are by Student's t over the runs, blank where the codes are the ``same_for_every_seed`` and ``std`` is
    0 by construction. ``settings`` and ``runs`` are lists with ``;`` between entries.
    """
    return records(COLUMNS, (map(_record(cell).get, COLUMNS) for cell in table.cells()))


def values_of(table: Table) -> dict[str, Any]:
    """The table as an object for JSON, numbers not rounded; fractions stay fractions, and a missing value is null."""
    named = {key: getattr(table, key) for key in ("title", "paper", "source", "notes")}
    sections = [
        {
            "section": section.title,
            "rows": section.rows,
            "columns": section.columns,
            "cells": [*map(_values_of_cell, section.cells.values())],
        }
        for section in table.sections
    ]
    return {"table": table.name, **named, "sections": sections}


def _values_of_cell(cell: TableCell) -> dict[str, Any]:
    line = _record(cell)
    measured = cell.measured
    return {
        **cell.declared.model_dump(exclude={"section", "printed_as", "no_tolerance", "fitted"}),
        **{name: line.get(name) for name in MEASURED},
        **{name: line.get(name, 0) for name in ("n_seeds", "n_splits", "n_runs")},
        "ci95": measured.interval if measured else None,
        "runs": [row.run for row in measured.rows] if measured else [],
        "within_tolerance": cell.within_tolerance,
    }


def _record(cell: TableCell) -> dict[str, Value]:
    declared = cell.declared
    measured = cell.measured
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
    pairs = []
    for key, value in sorted(settings.items()):
        word = str(value).lower() if isinstance(value, bool) else value
        pairs.append(f"{key}={word}")
    return ";".join(pairs)
