"""``hashbench show``: all about one method, data set, table, figure, run, metric, model or set of features."""

import shlex
from collections.abc import Iterator
from typing import Annotated, Any

from typer import Argument, Context

from hashbench.cli._options import program
from hashbench.cli._terminal import rows_read
from hashbench.cli.catalogue import KINDS, Kind, complete
from hashbench.foundation.errors import HashbenchError, nearest
from hashbench.foundation.registry import canonical
from hashbench.learning.models import MODELS, canonical_model
from hashbench.showing.sheet import Cell, Grid, Sheet

NAMES = complete("methods", "datasets", "tables", "figures", "runs")
COLUMNS = ("kind", "part", "name", "value", "note")  # of CSV
SHOWN = {kind.one: kind for kind in KINDS.values() if kind.one is not None}


def command(
    context: Context,
    name: Annotated[
        str,
        Argument(
            help="A method, data set, table, figure, metric, model, features, run or its start.", autocompletion=NAMES
        ),
    ],
) -> Sheet:
    """Show all about one entry.

    table/NAME is the table of this name, where another kind has the name too; method/NAME, and so on.

    Of a method: its paper, its settings with their sources, what it needs. Of a data set: its items, licence, protocols
    and state. Of a table or figure: its parts, and what is measured. Of a run: configuration, scores and provenance.
    """
    kinds = SHOWN
    kind, slash, rest = name.partition("/")
    if slash and kind in SHOWN:
        kinds = {kind: SHOWN[kind]}
        name = rest
    first = shlex.join(program(context))
    sheets: dict[str, Sheet] = {}
    for singular, entry in _entries_called(name, kinds).items():
        sheets[singular] = kinds[singular].sheet(entry).begun_with(first)

    def values() -> dict[str, Any]:
        return {singular: sheet.values() for singular, sheet in sheets.items() if sheet.values is not None}

    def rows() -> Iterator[list[Cell]]:
        for singular, sheet in sheets.items():
            for grid in sheet.grids:
                for name, value, *note in grid.rows:
                    yield [singular, grid.title, name, value, *(note or [None])]

    return Sheet(parts=[*sheets.values()], values=values, records=lambda: Grid([*rows()], COLUMNS))


def _entries_called(name: str, kinds: dict[str, Kind]) -> dict[str, str]:
    """The kinds that have an entry called ``name``, with its name; else the run whose name begins so."""
    names = {singular: kind.names() for singular, kind in kinds.items()}
    exact: dict[str, str] = {}
    for singular, entries in names.items():
        for spelling in (canonical(name), name):
            if spelling in entries:
                exact[singular] = spelling
    if exact:
        return exact
    rows_read()  # for its note: the names of runs are looked through
    begun = [run for run in names.get("run", []) if run.startswith(name) and "~" not in run]
    if len(begun) == 1:
        return {"run": begun[0]}
    # one of a size in pixels, a part of one, or a network of torchvision: they are in no list
    if "model" in kinds and name in MODELS:
        return {"model": canonical_model(name)}
    kind_of = {entry: kind for kind, entries in reversed(names.items()) if kind != "run" for entry in entries}
    hints = []
    if begun:
        hints.append(f"{len(begun)} runs begin so (hashbench list runs)")
    if close := [f"{entry} ({kind_of[entry]})" for entry in nearest(name, kind_of)]:
        hints.append(f"did you mean {', '.join(close)}? hashbench list KIND shows all of a kind")
    unlike_all = f"it is no {', '.join(names)} (hashbench list shows the names)"
    raise HashbenchError(f"nothing is called {name!r}: {'; '.join(hints) or unlike_all}")
