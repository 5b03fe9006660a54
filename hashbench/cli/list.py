"""``hashbench list``: the entries of each kind."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from typer import Argument, Context, Option, echo

from hashbench.cli._command import Answer
from hashbench.cli._options import pairs_of, program
from hashbench.cli._terminal import leave_out, rows_read
from hashbench.cli.catalogue import KINDS, complete, grids_of
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.registry import canonical
from hashbench.running.runs.interrupted import Interrupted, interrupted
from hashbench.showing.sheet import Code, Grid, Sheet, records
from hashbench.showing.tables import papers, spec
from hashbench.showing.tables.settings import sheet_of_settings

KNOWN = (*KINDS, "settings")  # settings are listed for one table only


def command(
    context: Context,
    kind: Annotated[
        str | None,
        Argument(
            metavar="KIND",
            help=", ".join(KNOWN),
            autocompletion=lambda incomplete: [kind for kind in KNOWN if kind.startswith(incomplete)],
        ),
    ] = None,
    table: Annotated[
        str | None, Argument(metavar="[TABLE]", help="Of settings: the table.", autocompletion=complete("tables"))
    ] = None,
    only: Annotated[
        list[str] | None,
        Option(metavar="KEY=VALUE", help="Only runs or protocols of this dataset; runs also by method, bits, status."),
    ] = None,
    bibtex: Annotated[bool, Option("--bibtex", help="Print the papers as BibTeX entries.")] = False,
) -> Sheet | Answer | None:
    """List the entries of a kind, or without KIND the kinds and how many entries each has.

    hashbench show NAME tells more of one entry. hashbench list papers --bibtex prints entries to copy. hashbench list
    settings TABLE prints the settings of a table's runs beside the settings that the authors released.

    hashbench list runs --only dataset=digits --only bits=32 lists some of the runs, by any of their settings; several
    values of one key are alternatives.
    """
    for option, value, kinds in (
        ("a table", table, ["settings"]),
        ("--bibtex", bibtex, ["papers"]),
        ("--only", only, ["runs", "protocols"]),
    ):
        if value and kind not in kinds:
            raise HashbenchError(f"{option} can be used with hashbench list {' and '.join(kinds)} only")
    if bibtex:
        echo("\n\n".join(papers.bibtex(key, paper) for key, paper in papers.papers(leave_out).items()))
        return None
    if kind == "settings":
        if table is None:
            raise HashbenchError(
                "settings are listed for one table: hashbench list settings TABLE (hashbench list tables)"
            )
        return Answer(sheet_of_settings(spec.load(table)), level=1)
    if kind is None:
        return _overview()
    return _entries(kind, pairs_of(only or [], "--only", "bits=32"), program(context))


def _overview() -> Sheet:
    rows_read()  # for its note: the runs are counted
    counts = {name: kind.n() for name, kind in KINDS.items()}
    rows = [(name, n, KINDS[name].what) for name, n in counts.items()]
    notes = ["hashbench list KIND lists them, hashbench show NAME shows one"]
    return Sheet(grids=[Grid(rows)], notes=notes, values=lambda: {"kinds": counts})


def _entries(kind: str, only: list[tuple[str, Setting]], program: list[str]) -> Sheet:
    if kind not in KINDS:
        raise unknown("kind", kind, KNOWN)
    wanted: dict[str, set[str]] = {}
    for key, value in only:
        wanted.setdefault(key, set()).add(canonical(str(value)))
    listed = list(KINDS[kind].entries())
    known = {key for entry in listed for key in entry.properties}
    if listed and (wrong := wanted.keys() - known):
        raise unknown("key of --only", min(wrong), known)
    entries = [entry for entry in listed if _has(entry.properties, wanted)]
    runs: list[Interrupted] = []
    if kind == "runs":
        runs = [run for run in interrupted(rows_read(), program) if _has(asdict(run), wanted)]

    def values() -> dict[str, Any]:
        values: dict[str, Any] = {kind: [entry.values for entry in entries]}
        if kind == "runs":
            values["interrupted"] = [asdict(run) for run in runs]
        return values

    columns = KINDS[kind].columns
    return Sheet(
        grids=[*grids_of(entries), Grid([((Code(run.line),),) for run in runs])],
        values=values,
        records=lambda: records(("name", *columns), (entry.record(columns) for entry in entries)),
    )


def _has(properties: Mapping[str, Any], wanted: Mapping[str, set[str]]) -> bool:
    """Whether each key that is ``wanted`` has one of its values."""
    return all(canonical(str(properties.get(key))) in values for key, values in wanted.items())
