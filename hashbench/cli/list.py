"""``hashbench list``: the entries of each kind."""

from dataclasses import asdict
from typing import Annotated, Any

from typer import Argument, Context, Option, echo

from hashbench.cli._command import Answer
from hashbench.cli._options import OfDataset, OfMethod, program
from hashbench.cli._terminal import leave_out, rows_read
from hashbench.cli.catalogue import KINDS, complete, grids_of
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.registry import canonical
from hashbench.runs.interrupted import Interrupted, interrupted
from hashbench.showing.sheet import Code, Grid, Sheet
from hashbench.tables import papers, spec
from hashbench.tables.settings import sheet_of_settings

KNOWN = (*KINDS, "settings")  # settings are listed for one table only


def _kinds(incomplete: str) -> list[str]:
    return [kind for kind in KNOWN if kind.startswith(incomplete)]


def command(
    context: Context,
    kind: Annotated[str | None, Argument(metavar="KIND", help=", ".join(KNOWN), autocompletion=_kinds)] = None,
    dataset: OfDataset = None,
    method: OfMethod = None,
    table: Annotated[str | None, Option(help="Of list settings: the table.", autocompletion=complete("tables"))] = None,
    bibtex: Annotated[bool, Option("--bibtex", help="Print the papers as BibTeX entries.")] = False,
) -> Sheet | Answer | None:
    """List the entries of a kind, or without KIND the kinds and how many entries each has.

    hashbench show NAME tells more of one entry. hashbench list papers --bibtex prints entries to copy. hashbench list
    settings --table NAME prints the settings of a table's runs beside the settings that the authors released.
    """
    if kind != "settings" and table is not None:
        raise HashbenchError("--table can be used with hashbench list settings --table NAME only")
    if kind != "papers" and bibtex:
        raise HashbenchError("--bibtex can be used with hashbench list papers --bibtex only")
    if bibtex:
        echo("\n\n".join(papers.bibtex(key, paper) for key, paper in papers.papers(leave_out).items()))
        return None
    if kind == "settings":
        return Answer(_settings(table), level=1)
    if kind is None:
        return _overview()
    return _entries(kind, {"dataset": dataset, "method": method}, program(context))


def _overview() -> Sheet:
    rows_read()  # for its note: the runs are counted
    counts = {name: kind.n() for name, kind in KINDS.items()}
    rows = [(name, n, KINDS[name].what) for name, n in counts.items()]
    notes = ["hashbench list KIND lists them, hashbench show NAME shows one"]
    return Sheet(grids=[Grid(rows)], notes=notes, values=lambda: {"kinds": counts})


def _entries(kind: str, only: dict[str, str | None], program: list[str]) -> Sheet:
    if kind not in KINDS:
        raise unknown("kind", kind, KNOWN)
    wanted = {key: canonical(value) for key, value in only.items() if value is not None}
    for key, kinds in (("dataset", ("runs", "protocols")), ("method", ("runs",))):
        if key in wanted and kind not in kinds:
            raise HashbenchError(f"--{key} can be used with hashbench list {' and '.join(kinds)} only")
    entries = [entry for entry in KINDS[kind].entries() if wanted.items() <= entry.more.items()]
    cut_off = _interrupted(wanted, program) if kind == "runs" else []

    def values() -> dict[str, Any]:
        more = {"interrupted": [asdict(run) for run in cut_off]} if kind == "runs" else {}
        return {kind: [entry.values for entry in entries], **more}

    interrupted = Grid([((Code(run.line),),) for run in cut_off])
    return Sheet(grids=[*grids_of(entries), interrupted], values=values)


def _interrupted(wanted: dict[str, str], program: list[str]) -> list[Interrupted]:
    found = interrupted(rows_read(), program)
    return [each for each in found if all(getattr(each, key) == value for key, value in wanted.items())]


def _settings(table: str | None) -> Sheet:
    if table is None:
        raise HashbenchError("settings are listed for one table: --table NAME is needed (hashbench list tables)")
    return sheet_of_settings(spec.load(table))
