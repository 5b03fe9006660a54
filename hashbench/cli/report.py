"""``hashbench report``: one page with all tables, figures, machines and what is missing."""

import os
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from hashbench.cli._command import Answer, lines
from hashbench.cli._terminal import print_each_error_once, rows_read
from hashbench.cli.catalogue import complete
from hashbench.foundation import paths
from hashbench.foundation.errors import CheckFailed
from hashbench.foundation.files import write_text
from hashbench.showing.report.contents import gather
from hashbench.showing.report.page import render
from hashbench.showing.tables import spec


def command(
    tables: Annotated[
        list[str] | None,
        Argument(metavar="TABLE...", help="Only these tables.", autocompletion=complete("tables")),
    ] = None,
    out: Annotated[Path | None, Option(metavar="FILE.html", help="The file; results/report.html by default.")] = None,
) -> Answer:
    """Write one page with every table, the figures, the machines, and what is missing with the command that makes it.

    Of the tables that are named: these, the figures drawn of them, and the runs in their cells.

    The page is one file that needs no network. It filters by data set, method and bits, sorts by a column, and shows
    the runs behind a cell. A row, table or figure that cannot be read is left out, and named; then the exit code is 1.

    In a clone it links to the documentation that make docs has built.
    """
    store = rows_read()
    named = [spec.load(name).name for name in tables or []]  # a wrong one is no line of the page, but an error
    broken = print_each_error_once()
    contents = gather(store, broken, named)
    path = out or store.folder / "report.html"
    built = paths.shipped() / "docs" / "_build" / "html" / "index.html"
    documentation = None
    if built.is_file():
        documentation = os.path.relpath(built, path.parent)
    write_text(path, render(contents, documentation))
    shown = contents.tables
    n_cells = sum(part.table.n_cells for part in shown)
    n_measured = sum(part.table.n_measured for part in shown)
    n_figures = sum(bool(picture.data_uri) for picture in contents.pictures)
    n_missing = sum(len(part.missing) for part in shown)
    counts = {"tables": len(shown), "cells": n_cells, "measured": n_measured, "figures": n_figures}
    counts |= {"runs": len(contents.rows), "missing_runs": n_missing}
    values = {"path": str(path), "size_bytes": path.stat().st_size, **counts, "left_out": contents.left_out}
    error = None
    if contents.left_out:
        error = CheckFailed(f"left out of the report: {len(contents.left_out)}: see the errors above")
    return Answer(lines([paths.shown(path)], lambda: values), error=error)
