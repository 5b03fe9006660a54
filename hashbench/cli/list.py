"""``hashbench list``: the entries of each kind."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Context, Option, echo

from hashbench.cli._options import AsJson, OfDataset, OfMethod, program
from hashbench.cli._terminal import in_columns, json_text, leave_out, rows_read
from hashbench.cli.catalogue import KINDS, complete, text_of
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.registry import canonical

if TYPE_CHECKING:
    from hashbench.runs.interrupted import Interrupted

KNOWN = (*KINDS, "settings")  # settings are listed for one table only


def _kinds(incomplete: str) -> list[str]:
    return [kind for kind in KNOWN if kind.startswith(incomplete)]


def command(
    context: Context,
    kind: Annotated[str | None, Argument(metavar="KIND", help=", ".join(KNOWN), autocompletion=_kinds)] = None,
    dataset: OfDataset = None,
    method: OfMethod = None,
    table: Annotated[str | None, Option(help="Of list settings: the table.", autocompletion=complete("tables"))] = None,
    markdown: Annotated[bool, Option("--markdown", help="Print the settings as a Markdown page.")] = False,
    bibtex: Annotated[bool, Option("--bibtex", help="Print the papers as BibTeX entries.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the entries of a kind, or without KIND the kinds and how many entries each has.

    hashbench show NAME tells more of one entry. hashbench list papers --bibtex prints entries to copy. hashbench list
    settings --table NAME prints the settings of a table's runs beside the settings that the authors released.
    """
    if kind != "settings" and (table is not None or markdown):
        raise HashbenchError("--table and --markdown can be used with hashbench list settings --table NAME only")
    if kind != "papers" and bibtex:
        raise HashbenchError("--bibtex can be used with hashbench list papers --bibtex only")
    if bibtex:
        from hashbench.tables import papers

        text = "\n\n".join(papers.bibtex(key, paper) for key, paper in papers.papers(leave_out).items())
    elif kind == "settings":
        text = _settings(table, markdown, as_json)
    elif kind is None:
        text = _overview(as_json)
    else:
        text = _entries(kind, {"dataset": dataset, "method": method}, program(context), as_json)
    if text:
        echo(text)


def _overview(as_json: bool) -> str:
    rows_read()  # for its note: the runs are counted
    counts = {name: kind.n() for name, kind in KINDS.items()}
    if as_json:
        return json_text({"kinds": counts})
    width = max(len(f"{n:,}") for n in counts.values())
    lines = in_columns((name, f"{n:{width},}  {KINDS[name].what}") for name, n in counts.items())
    return "\n".join([*lines, "", "hashbench list KIND lists them, hashbench show NAME shows one"])


def _entries(kind: str, only: dict[str, str | None], program: list[str], as_json: bool) -> str:
    if kind not in KINDS:
        raise unknown("kind", kind, KNOWN)
    wanted = {key: canonical(value) for key, value in only.items() if value is not None}
    for key, kinds in (("dataset", ("runs", "protocols")), ("method", ("runs",))):
        if key in wanted and kind not in kinds:
            raise HashbenchError(f"--{key} can be used with hashbench list {' and '.join(kinds)} only")
    found = [each for each in KINDS[kind].entries() if wanted.items() <= each.more.items()]
    cut_off = _interrupted(wanted, program) if kind == "runs" else []
    if not as_json:
        return "\n".join([*filter(None, [text_of(found)]), *(each.line for each in cut_off)])
    more = {"interrupted": [asdict(each) for each in cut_off]} if kind == "runs" else {}
    groups = [{"group": each.group} if each.group else {} for each in found]
    return json_text({kind: [{"name": e.name, **g, **e.more} for e, g in zip(found, groups, strict=True)], **more})


def _interrupted(wanted: dict[str, str], program: list[str]) -> "list[Interrupted]":
    from hashbench.runs.interrupted import interrupted

    found = interrupted(rows_read(), program)
    return [each for each in found if all(getattr(each, key) == value for key, value in wanted.items())]


def _settings(table: str | None, markdown: bool, as_json: bool) -> str:
    from hashbench.tables import spec
    from hashbench.tables.settings import render_settings, settings_of_table

    if table is None:
        raise HashbenchError("settings are listed for one table: --table NAME is needed (hashbench list tables)")
    declared = spec.load(table)
    if markdown and not as_json:
        return render_settings(declared).removesuffix("\n")
    runs = settings_of_table(declared)
    if as_json:
        return json_text({"table": declared.name, "runs": [each.as_values() for each in runs]})
    blocks = []
    for each in runs:
        recipes = in_columns(((f"recipe {name}", why) for name, why in each.recipes().items()), "  ")
        blocks.append("\n".join([each.title, *recipes, *in_columns(each.lines(), "  ")]))
    return "\n\n".join(blocks)
