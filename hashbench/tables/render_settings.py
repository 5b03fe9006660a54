"""The settings of a table's runs as Markdown, as lines of text, and as plain values for JSON."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from hashbench.foundation.config import Setting
from hashbench.tables.render_markdown import escape
from hashbench.tables.settings import Entry, Runs
from hashbench.tables.spec import TableSpec

HEADING = ("setting", "ours", "released", "source", "where it comes from, and why it differs")


def render_markdown(spec: TableSpec, runs: list[Runs]) -> str:
    """One page: a table of settings for each method and data set, as ``hashbench list settings`` prints it."""
    blocks = [f"# {escape(spec.title)}", _introduction(spec)]
    for each in runs:
        blocks += [f"## {escape(each.title)}", *_reasons(each), _grid(each)]
    return "\n\n".join(blocks) + "\n"


def lines(runs: Runs) -> Iterator[tuple[str, str]]:
    """The name of each setting, with the sizes that have the value, and what is said of it."""
    for name, entries in runs.entries().items():
        for each in entries:
            sizes = f" [{', '.join(each.sizes)}]" if each.sizes else ""
            released = f" (released: {shown(each.released)})" if each.differs and each.released is not None else ""
            said = f": {each.note}" if each.note else ""
            yield f"{name}{sizes}", f"{shown(each.value)}{released}; {each.source}{said}"


def as_values(runs: Runs) -> dict[str, Any]:
    """What --json prints of the runs."""
    entries = {name: [asdict(each) for each in found] for name, found in runs.entries().items()}
    named = {key: getattr(runs.name, key) for key in ("method", "dataset", "protocol", "budget")}
    return {"title": runs.title, **named, "given": runs.given, "recipes": runs.recipes(), "settings": entries}


def shown(value: Setting | None) -> str:
    """A value as it is written: ``-`` for none.

    >>> [shown(value) for value in (0.0005, True, "step", None, "", 9.523809523809524e-4)]
    ['0.0005', 'true', 'step', '-', '-', '0.000952381']
    """
    if value in (None, ""):
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _introduction(spec: TableSpec) -> str:
    return (
        f"The settings of the runs of the table `{spec.name}`, beside those that the authors printed or released. "
        f"`hashbench list settings --table {spec.name}` prints them. *paper* and *code* are the authors'; *ours* was "
        "chosen here. A released value is given where it is not the one used; `-` means that none is known. Settings "
        "at a default of the program are left out."
    )


def _reasons(runs: Runs) -> list[str]:
    return [f"Recipe `{name}`: {escape(why)}." for name, why in runs.recipes().items()]


def _grid(runs: Runs) -> str:
    rows = [_row(name, each) for name, entries in runs.entries().items() for each in entries]
    rule = ("---",) * len(HEADING)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (HEADING, rule, *rows))


def _row(name: str, entry: Entry) -> tuple[str, ...]:
    sizes = f" ({', '.join(entry.sizes)})" if entry.sizes else ""
    released = shown(entry.released) if entry.differs else "same"
    return f"`{name}`{sizes}", shown(entry.value), released, escape(entry.source), escape(entry.note)
