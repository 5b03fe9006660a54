"""``hashbench results``: lists, shows, compares, merges and tidies the stored rows."""

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hashbench.cli._options import AsJson
from hashbench.cli._terminal import LeftOutRows
from hashbench.cli.catalogue import complete, run_entry, text_of
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError

if TYPE_CHECKING:
    from hashbench.runs.diff import FolderDiff, Pairs, RowDiff
    from hashbench.runs.merge import Merged
    from hashbench.runs.prune import Useless
    from hashbench.runs.row import Row
    from hashbench.runs.store import Store

app = typer.Typer(rich_markup_mode=None)


class Status(StrEnum):
    """How a run ended."""

    ok = "ok"
    failed = "failed"


class Prunable(StrEnum):
    """What ``prune`` removes."""

    failed = "failed"
    damaged = "damaged"
    folder = "folder"


@app.command("list", short_help="List the stored rows.")
def list_(
    dataset: Annotated[
        str | None, typer.Option(help="Only runs on this data set.", autocompletion=complete("datasets"))
    ] = None,
    protocol: Annotated[str | None, typer.Option(help="Only runs under this protocol.")] = None,
    method: Annotated[
        str | None, typer.Option(help="Only runs of this method.", autocompletion=complete("methods"))
    ] = None,
    bits: Annotated[int | None, typer.Option(min=1, help="Only runs with codes of this length.")] = None,
    status: Annotated[Status | None, typer.Option(help="Only runs that ended so.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the stored rows, each with its first metric and its date."""
    from dataclasses import replace

    from hashbench.foundation.config import canonical_json
    from hashbench.foundation.registry import canonical
    from hashbench.runs.store import Store

    names = {"dataset": dataset, "protocol": protocol, "method": method}
    wanted = {key: canonical(value) for key, value in names.items() if value is not None}
    wanted |= {} if status is None else {"status": status.value}
    left_out = LeftOutRows()
    entries = [
        replace(run_entry(row), name=_shown(name))
        for name, row in Store.default().named_rows(left_out)
        if all(getattr(row, key) == value for key, value in wanted.items()) and bits in (None, row.settings.get("bits"))
    ]
    if as_json:
        typer.echo(canonical_json({"runs": [{"name": each.name, **each.more} for each in entries]}))
    elif entries:
        typer.echo(text_of(entries))
    left_out.check()


@app.command("show", short_help="Show one row.")
def show(
    run: Annotated[str, typer.Argument(help="The name of a run, or the start of it.", autocompletion=complete("runs"))],
    as_json: AsJson = False,
) -> None:
    """Show one row: its settings, scores, machine and commands. The same as hashbench show RUN --kind run."""
    from hashbench.cli import show as shown

    shown.command(run, "run", as_json)


@app.command("diff", short_help="Say what differs between two rows or two folders.")
def diff(
    a: Annotated[
        str,
        typer.Argument(metavar="A", help="A run, the file of a row, or a folder.", autocompletion=complete("runs")),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The same.", autocompletion=complete("runs"))],
    as_json: AsJson = False,
) -> None:
    """Say what differs between two rows, or between the rows of two results folders.

    Of rows: the settings, the metrics, and who made them. Of folders: the rows of one only, and rows of the same run
    with other values. Differences are A - B.
    """
    from hashbench.foundation.config import canonical_json

    left_out = LeftOutRows()
    if Path(a).is_dir() != Path(b).is_dir():
        raise HashbenchError(f"{a}, {b}: a folder and a row: two of one kind are expected")
    if Path(a).is_dir():
        found, lines = _diff_of_folders(Path(a), Path(b), left_out)
    else:
        found, lines = _diff_of_rows(a, b)
    typer.echo(canonical_json(found) if as_json else "\n".join(lines))
    left_out.check()


def _diff_of_rows(a: str, b: str) -> tuple[dict[str, Any], Iterator[str]]:
    from dataclasses import asdict

    from hashbench.runs.diff import diff_rows

    of_a, of_b = _row(a), _row(b)
    found = diff_rows(of_a, of_b)
    return {"a": a, "b": b, **asdict(found)}, _row_lines((a, b), found)


def _row(name: str) -> "Row":
    from hashbench.runs import schema_1
    from hashbench.runs.store import Store

    return schema_1.read(Path(name)) if Path(name).is_file() else Store.default().named(name)


def _row_lines(names: tuple[str, str], found: "RowDiff") -> Iterator[str]:
    """The differences of two rows as text."""
    yield from (f"{letter}  {name}" for letter, name in zip("AB", names, strict=True))
    blocks = (("settings", found.settings), ("metrics, A - B", found.metrics))
    for heading, pairs in (*blocks, ("other results", found.results), ("made by", found.made_by)):
        if pairs:
            yield from ("", heading, *_pairs(pairs))
    if found.same_values:
        yield from ("", "the same settings and values")


def _pairs(pairs: "Pairs") -> Iterator[str]:
    """A line for each key: both values, and the difference of numbers of metrics."""
    width = max(map(len, pairs))
    for key, (a, b) in pairs.items():
        is_mean = isinstance(a, float) and isinstance(b, float)
        yield f"  {_shown(key):{width}}  {_text(a)}  {_text(b)}{f'  {a - b:+.4g}' if is_mean else ''}"


def _text(value: object) -> str:
    return "-" if value is None else _shown(f"{value:.4f}" if isinstance(value, float) else str(value), 60)


def _shown(text: str, most: int = 300) -> str:
    """``text`` of a row of another machine, safe to print."""
    from hashbench.foundation.errors import printable

    return printable(text, most)


def _diff_of_folders(a: Path, b: Path, left_out: LeftOutRows) -> tuple[dict[str, Any], Iterator[str]]:
    from dataclasses import asdict

    from hashbench.runs.diff import diff_folders, store_at

    found = diff_folders(store_at(a), store_at(b), left_out)
    return {"a": str(a), "b": str(b), **asdict(found)}, _folder_lines(found)


def _folder_lines(found: "FolderDiff") -> Iterator[str]:
    """The differences of two folders as text, a line for each row, then how many there are of each."""
    yield from (f"only in A     {_shown(name)}" for name in found.only_a)
    yield from (f"only in B     {_shown(name)}" for name in found.only_b)
    for name, each in found.other_values.items():
        yield f"other values  {_shown(name)}: {_changes(each)}"
    yield (
        f"only in A: {len(found.only_a):,}; only in B: {len(found.only_b):,}; other values: "
        f"{len(found.other_values):,}; the same values, made elsewhere: {len(found.same_values):,}; "
        f"equal: {len(found.equal):,}"
    )


def _changes(found: "RowDiff") -> str:
    """The first few things that differ between two rows of a run."""
    pairs = {**found.metrics, **found.results, **found.settings}
    shown = [f"{_shown(key)} {_text(a)} and {_text(b)}" for key, (a, b) in list(pairs.items())[:3]]
    return ", ".join([*shown, *(["..."] if len(pairs) > len(shown) else [])])


@app.command("merge", short_help="Copy the rows of other folders into this one.")
def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Results folders of other machines.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the rows of other results folders, such as those of other machines, into this one.

    No row is changed or lost. A row of a run that is here with other values is kept beside it, under the name of the
    run, ~ and a digest; tables show the mean of the two, with a note. A good row takes the place of a failed one.
    """
    from hashbench.foundation.config import canonical_json
    from hashbench.runs.diff import store_at
    from hashbench.runs.merge import merge as merged
    from hashbench.runs.store import Store

    into, left_out = Store.default(), LeftOutRows()
    done = merged([store_at(folder) for folder in folders], into, left_out, dry_run=dry_run)
    if as_json:
        rows = [
            {"run": each.row.run, "outcome": each.outcome.name, "row": paths.shown(each.path), "name": each.name}
            for each in done
        ]
        typer.echo(canonical_json({"into": str(into.folder), "written": not dry_run, "rows": rows}))
    else:
        typer.echo("\n".join(_merge_lines(done, into, dry_run=dry_run)))
    left_out.check()


def _merge_lines(done: "list[Merged]", into: "Store", *, dry_run: bool) -> Iterator[str]:
    """A line for each row that is kept beside another one, then how many rows there are of each outcome."""
    from hashbench.runs.merge import Outcome

    yield from (f"{_shown(each.name)}: {each.outcome}" for each in done if each.outcome is Outcome.beside)
    counts = Counter(each.outcome for each in done)
    yield f"{paths.shown(into.folder)}: {len(done):,} rows{' would be merged (--dry-run)' if dry_run else ' merged'}"
    yield from (f"  {counts[outcome]:,} {outcome}" for outcome in Outcome if counts[outcome])


@app.command("prune", short_help="Remove failed and damaged rows, and folders without a row.")
def prune(
    only: Annotated[
        list[Prunable] | None,
        typer.Option(help="Only failed rows, damaged rows, or folders of runs without a row; repeatable."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove them; without it they are only listed.")] = False,
    as_json: AsJson = False,
) -> None:
    """List, or remove with --yes, what is of no use: failed rows, damaged rows, folders of runs without a row.

    A good row is never removed, nor a row of another schema version, nor what a process works on at the moment.
    The folder of a run that was interrupted has no row: it is lost with the work that the run would continue from.
    """
    from hashbench.foundation.config import canonical_json
    from hashbench.runs.prune import useless
    from hashbench.runs.store import Store

    store = Store.default()
    kinds = {each.value for each in only or Prunable}
    found = [each for each in useless(store) if each.kind.value in kinds]
    removed = [each for each in found if yes and each.remove(store)]
    if as_json:
        listed = [_useless_json(each) for each in (removed if yes else found)]
        typer.echo(canonical_json({"removed": yes, "found": listed}))
        return
    for each in removed if yes else found:
        typer.echo(f"{'removed' if yes else 'would remove'} {_shown(_place(each))}: {each.kind}: {_shown(each.why)}")
    if not found:
        typer.echo(f"{paths.shown(store.folder)}: nothing to remove")
    elif not yes:
        typer.echo(f"{len(found):,} to remove: --yes removes them")


def _place(each: "Useless") -> str:
    return paths.shown(each.path) + ("" if each.line is None else f": {each.line.name}")


def _useless_json(each: "Useless") -> dict[str, str]:
    named = {} if each.line is None else {"run": each.line.name}
    return {"kind": each.kind.value, "path": str(each.path), **named, "why": each.why}
