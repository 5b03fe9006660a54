"""A table as a value for JSON: its labels and, for each cell, what the CSV says of it, with numbers not rounded."""

from typing import Any

from hashbench.tables.table import Section, Table, TableCell


def json_table(table: Table) -> dict[str, Any]:
    """The table as an object; fractions are never percent, and a missing value is null."""
    return {
        "table": table.name,
        "title": table.title,
        "paper": table.paper,
        "source": table.source,
        "notes": list(table.notes),
        "sections": [_section(section) for section in table.sections],
    }


def _section(section: Section) -> dict[str, Any]:
    cells = [_cell(cell) for cell in section.cells.values()]
    return {"section": section.title, "rows": section.rows, "columns": section.columns, "cells": cells}


def _cell(cell: TableCell) -> dict[str, Any]:
    measured = cell.measured
    return {
        **cell.declared.model_dump(exclude={"section", "printed_as"}),
        "measured": measured.mean if measured else None,
        "std": measured.std if measured else None,
        "n_seeds": measured.n_seeds if measured else 0,
        "n_splits": measured.n_splits if measured else 0,
        "n_runs": measured.n_runs if measured else 0,
        "worst": measured.worst if measured else None,
        "best": measured.best if measured else None,
        "tie_dependent": measured.is_tie_dependent if measured else None,
        "distinct_queries": measured.distinct_queries if measured else None,
        "distinct_database": measured.distinct_database if measured else None,
        "ci95": measured.interval if measured else None,
        "runs": [row.run for row in measured.rows] if measured else [],
        "difference": cell.difference,
        "within_tolerance": cell.within_tolerance,
    }
