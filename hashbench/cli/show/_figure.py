"""A figure: its paper, what it shows, what of it is measured, and its commands."""

from collections.abc import Iterator
from typing import Any

from hashbench.cli._broken import say
from hashbench.cli.show import _layout


def describe(name: str) -> dict[str, Any]:
    """What --json prints of the figure called ``name``."""
    from hashbench import figures
    from hashbench.runs.store import Store

    figure, store = figures.load(name), Store.default()
    drawing = figure.fill(list(store.rows(say)), store)
    keys = {"kind", "title", "paper", "source", "notes", "width"}
    return {
        "name": figure.name,
        **figure.file.model_dump(include=keys),
        "summary": figure.kind.summary,
        "table": getattr(figure.file, "table", None),
        "n_cells": len(figure.cells.cells) if figure.cells else 0,
        "n_points": len(drawing.points),
        "n_measured": drawing.n_measured,
        "missing": drawing.missing,
    }


def _drawn(n_measured: int) -> str:
    return f"{n_measured} points are measured" if n_measured else "from its file alone: nothing has to be measured"


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The same as text."""
    yield from _layout.title(found["name"], "figure", found["title"])
    yield from _layout.facts(
        {
            "paper": f"{_layout.paper(found['paper'])}, {found['source']}",
            "kind": f"{found['kind']}: {found['summary']}",
            "cells": f"{found['n_cells']}" + (f", of table {found['table']}" if found["table"] else ""),
            "drawn": found["missing"] or _drawn(found["n_measured"]),
        }
    )
    yield from _layout.block("notes", (("-", note) for note in found["notes"]))
    runs = ("run", "status") if found["n_cells"] else ()
    yield from _layout.commands(f"hashbench {verb} {found['name']}" for verb in (*runs, "figure"))
