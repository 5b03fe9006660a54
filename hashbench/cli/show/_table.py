"""A table: its paper, rows and columns, what of it is measured, and its commands."""

from collections.abc import Iterator
from typing import Any

from hashbench.cli._broken import say
from hashbench.cli.show import _layout


def describe(name: str) -> dict[str, Any]:
    """What --json prints of the table called ``name``."""
    from hashbench.cli.status import status
    from hashbench.runs.store import Store
    from hashbench.tables import spec
    from hashbench.tables.estimate import PastSeconds

    table = spec.load(name)
    stored = {row.run: row for row in Store.default().rows(say)}
    found = status(table, stored, PastSeconds.of(stored.values()), 1)
    return {
        "name": table.name,
        "title": table.title,
        "paper": table.paper,
        "source": table.source,
        "notes": table.notes,
        "sections": _sections(table),
        "n_cells": len(table.cells),
        "n_published": sum(cell.published is not None for cell in table.cells),
        "methods": sorted({cell.method for cell in table.cells}),
        "datasets": sorted({cell.dataset for cell in table.cells}),
        "metrics": sorted({cell.metric for cell in table.cells}),
        **{key: value for key, value in found.as_json(1).items() if key not in ("table", "seeds", "splits")},
    }


def _sections(table: Any) -> list[dict[str, Any]]:
    sections: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for cell in table.cells:
        rows, columns = sections.setdefault(cell.section, ({}, {}))
        rows[cell.row], columns[cell.column] = None, None
    return [{"section": name, "rows": [*rows], "columns": [*columns]} for name, (rows, columns) in sections.items()]


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The same as text."""
    yield from _layout.title(found["name"], "table", found["title"])
    n_runs = found["done"] + found["failed"] + found["missing"]
    not_yet = f"; {found['unavailable']} cells cannot be run yet" if found["unavailable"] else ""
    yield from _layout.facts(
        {
            "paper": f"{_layout.paper(found['paper'])}, {found['source']}",
            "cells": f"{found['n_cells']}, {found['n_published']} of them with a published value",
            "runs": f"{found['done']} of {n_runs} done, {found['failed']} failed{not_yet}",
            "metrics": ", ".join(found["metrics"]),
            "data sets": ", ".join(found["datasets"]),
            "methods": ", ".join(found["methods"]),
        }
    )
    yield from _layout.block("rows x columns", (_section(each) for each in found["sections"]))
    yield from _layout.block("notes", (("-", note) for note in found["notes"]))
    yield from _layout.commands(f"hashbench {verb} {found['name']}" for verb in ("run", "status", "table"))


def _section(each: dict[str, Any]) -> tuple[str, str]:
    rows, columns = each["rows"], each["columns"]
    size = f"{len(rows)} x {len(columns)}"
    return size, f"{each['section']}{': ' if each['section'] else ''}{', '.join(rows)} by {', '.join(columns)}"
