"""``hashbench status``: which runs of all tables, or of the cells of one, are done or missing."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from typer import Argument, Context, Option

from hashbench import figures
from hashbench.cli._options import TABLES, Budget, Splits, program
from hashbench.cli._terminal import KEPT, json_text, kept, leave_out, rows_read, width, wrapped
from hashbench.foundation.progress import with_bar
from hashbench.foundation.registry import each_usable
from hashbench.runs.interrupted import interrupted
from hashbench.runs.past import Past
from hashbench.tables import spec
from hashbench.tables.status import UNKNOWN, CellStatus, TableStatus, table_status

# the sign of each state of a cell, and its colour on a terminal (None: that of the text)
SIGNS = {
    "done": ("#", typer.colors.GREEN),
    "partly": ("+", typer.colors.YELLOW),
    "failed": ("x", typer.colors.RED),
    "missing": (".", None),
    "not available yet": ("-", typer.colors.BRIGHT_BLACK),
}


def command(
    context: Context,
    table: Annotated[str | None, Argument(metavar="TABLE", help="A table or figure.", autocompletion=TABLES)] = None,
    seeds: Annotated[int, Option(min=1, help="Look for seeds 0 .. SEEDS - 1.")] = 1,
    splits: Splits = 1,
    budget: Budget = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object; for one table with its cells.")] = False,
) -> None:
    """Show which cells of a table are done, partly done, failed, missing or not available yet: a sign for each cell.

    A cell is done when all its runs are; cells that show several metrics of a run share it. The signs have colours on a
    terminal; NO_COLOR turns them off. Without TABLE: a line for each table, and for each figure that has cells of its
    own, with the numbers of its runs, and of its cells that cannot be run yet. The hours left are those that runs of
    the same method, data set and code size took before, one at a time.
    """
    store = rows_read()
    stored = {row.run: row for row in store.rows(leave_out)}
    cut_off = list(interrupted(store, program(context)))
    past = Past.of(stored.values())

    def status(name: str) -> TableStatus:
        return table_status(figures.cells_of(name, budget, splits), stored, past, seeds)

    if table is not None:
        one = status(table)
        runs = {run for cell in one.cells.values() for run in cell.runs}
        cut_off = [each for each in cut_off if each.run in runs]
        objects: dict[str, Any] = {**one.as_json(seeds), "cells": [cell.as_json() for cell in one.cells.values()]}
        lines = _of_table(one)
    else:
        names = [*spec.names(), *figures.names_with_own_cells()]
        usable = each_usable(names, status, leave_out)
        found = [each for _, each in with_bar(usable, "status", "table", len(names))]
        objects = {"tables": [each.as_json(seeds) for each in found]}
        lines = _overview(found)
    objects["interrupted"] = [asdict(each) for each in cut_off]
    typer.echo(json_text(objects) if as_json else "\n".join([*lines, *(each.line for each in cut_off)]))


def _overview(tables: list[TableStatus]) -> Iterator[str]:
    headings = ("missing", "failed", "cells not yet", "hours left")
    lines = [("table", "runs done", *headings)]
    for each in tables:
        of = each.counts()
        done = f"{of['done']} of {of['done'] + of['failed'] + of['missing']}"
        numbers = str(of["missing"]), str(of["failed"]), str(of["unavailable"])
        lines.append((each.spec.name, done, *numbers, each.hours()))
    widest = max(len(name) for name, *_ in lines)
    for name, done, *others in lines:
        columns = (f"{text:>{max(7, len(heading))}}" for text, heading in zip(others, headings, strict=True))
        yield f"{name:{widest}}  {done:>10}  {'  '.join(columns)}"


def _of_table(found: TableStatus) -> Iterator[str]:
    """The map of each section of the table, a row with how many of its cells are measured; then the sum."""
    sections: dict[str, dict[str, dict[str, CellStatus]]] = {}
    for cell in found.spec.cells:
        row = sections.setdefault(cell.section, {}).setdefault(cell.row, {})
        row[cell.column] = found.cells[cell.run_key]
    label_width = max((len(cell.row) for cell in found.spec.cells), default=0)
    for title, rows in sections.items():
        yield from _map(title, rows, label_width)
    yield ", ".join(f"{_sign(state)} {state}" for state in SIGNS)
    of = found.counts()
    runs = f"{of['done']} runs done, {of['failed']} failed, {of['missing']} missing"
    measured = f"{found.cell_states()['done']} of {len(found.spec.cells)} cells measured"
    hours = found.hours()
    how = " (hashbench speed measures a run)" if hours == UNKNOWN else ""
    yield f"{found.spec.name}: {runs}; {measured}, {of['unavailable']} not available yet; hours left: {hours}{how}"


def _map(title: str, rows: Mapping[str, Mapping[str, CellStatus]], label_width: int) -> Iterator[str]:
    """The lines of a section: title, headings (numbers where they do not fit), and each row's signs and a text."""
    if title:
        yield title
    columns = list(dict.fromkeys(column for cells in rows.values() for column in cells))
    headings = columns
    if sum(len(column) + 2 for column in columns) + label_width + 2 > width():
        headings = [str(place) for place in range(1, len(columns) + 1)]
    yield f"  {'':{label_width}}  {'  '.join(headings)}"
    for label, cells in rows.items():
        signs = []
        for column, heading in zip(columns, headings, strict=True):
            sign = _sign(cells[column].state) if column in cells else " "
            left = (len(heading) - 1) // 2  # under the middle of the heading; its colour takes no place
            signs.append(f"{' ' * left}{sign}{' ' * (len(heading) - 1 - left)}")
        yield f"  {label:{label_width}}  {'  '.join(signs)}  {_counts(list(cells.values()))}"
    if headings != columns:
        named = (kept(f"{n} {column}") for n, column in zip(headings, columns, strict=True))
        yield from (line.replace(KEPT, " ") for line in wrapped("  columns: ", ", ".join(named)))


def _sign(state: str) -> str:
    sign, colour = SIGNS[state]
    is_coloured = colour and sys.stdout.isatty() and not os.environ.get("NO_COLOR")  # no-color.org
    return typer.style(sign, fg=colour, bold=True) if is_coloured else sign


def _counts(cells: Sequence[CellStatus]) -> str:
    """How many of the cells have all their runs, and why the others have not."""
    parts = [f"{sum(cell.state == 'done' for cell in cells)} of {len(cells)} measured"]
    failures = {failure for cell in cells for failure in cell.failed.items()}
    in_order = sorted(failures, key=lambda failure: (isinstance(failure[0], str), failure))
    parts += [f"seed {seed} failed: {reason}" for seed, reason in in_order]
    reasons = dict.fromkeys(cell.unavailable for cell in cells if cell.unavailable is not None)
    return "; ".join([*parts, *(f"not available yet: {reason}" for reason in reasons)])
