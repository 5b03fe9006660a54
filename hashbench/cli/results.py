"""``hashbench results``: lists, shows, compares, imports, merges, adds and tidies the stored rows."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Context, Option, Typer, echo

from hashbench.cli._options import (
    AsJson,
    BitOrder,
    Layout,
    OfDataset,
    OfMethod,
    Output,
    ProtocolName,
    RowAsJson,
    RunName,
    SplitSeed,
)
from hashbench.cli._terminal import json_text, leave_out, print_sheet, rows_read
from hashbench.cli.catalogue import complete, grids_of, run_entry
from hashbench.foundation import paths
from hashbench.foundation.errors import FEW, CheckFailed, HashbenchError, counted, printable
from hashbench.foundation.progress import note
from hashbench.foundation.registry import canonical
from hashbench.showing.sheet import Sheet

if TYPE_CHECKING:
    from hashbench.runs.diff import FolderDiff, Pairs, RowDiff
    from hashbench.runs.merge import Merged
    from hashbench.runs.row import Row
    from hashbench.runs.store import Store

app = Typer(rich_markup_mode=None)
Prunable = StrEnum("Prunable", ["failed", "damaged", "folder"])  # as runs.prune.Useless.kind, which is imported later
shown = partial(printable, most=300)  # a text of a row of another machine


@app.command("list", short_help="List the stored rows.")
def list_(
    dataset: OfDataset = None,
    protocol: Annotated[str | None, Option(help="Only runs under this protocol.")] = None,
    method: OfMethod = None,
    bits: Annotated[int | None, Option(min=1, help="Only runs with codes of this length.")] = None,
    status: Annotated[Literal["ok", "failed"] | None, Option(help="Only runs that ended so.")] = None,
    output: Output = "text",
    as_json: AsJson = False,
) -> None:
    """List the stored rows, each with its first metric and its date."""
    names = {"dataset": dataset, "protocol": protocol, "method": method, "status": status}
    wanted = {key: canonical(value) for key, value in names.items() if value is not None}
    entries = [
        run_entry(shown(name), row)
        for name, row in rows_read().named_rows(leave_out)
        if all(getattr(row, key) == value for key, value in wanted.items()) and bits in (None, row.settings.get("bits"))
    ]
    sheet = Sheet(grids=grids_of(entries), values=lambda: {"runs": [entry.values for entry in entries]})
    print_sheet(sheet, output, as_json=as_json)


@app.command("show", short_help="Show one row.")
def show(context: Context, run: RunName, output: Output = "text", as_json: AsJson = False) -> None:
    """Show one row: its settings, scores, machine and commands. The same as hashbench show RUN --kind run."""
    from hashbench.cli import show

    show.command(context, run, "run", output, as_json=as_json)


@app.command("diff", short_help="Say what differs between two rows or two folders.")
def diff(
    a: Annotated[str, Argument(metavar="A", help="A run, or a folder.", autocompletion=complete("runs"))],
    b: Annotated[str, Argument(metavar="B", help="The same.", autocompletion=complete("runs"))],
    as_json: AsJson = False,
) -> None:
    """Say what differs between two rows, or between the rows of two results folders.

    Of rows: settings, metrics, and who made them. Of folders: rows of one only, or with other values. A - B.
    """
    from hashbench.runs.diff import diff_folders, diff_rows, store_at

    if Path(a).is_dir() != Path(b).is_dir():
        raise HashbenchError(f"{a}, {b}: two folders or two rows are expected, not one of each")
    found: RowDiff | FolderDiff
    if Path(a).is_dir():
        found = folders = diff_folders(store_at(Path(a)), store_at(Path(b)), leave_out)
        lines = _folder_lines(folders)
    else:
        found = rows = diff_rows(_row(a), _row(b))
        lines = _row_lines((a, b), rows)
    echo(json_text({"a": a, "b": b, **asdict(found)}) if as_json else "\n".join(lines))


def _row(name: str) -> "Row":
    from hashbench.runs.store import Store

    return Store.default().named(name)


def _row_lines(names: tuple[str, str], found: "RowDiff") -> Iterator[str]:
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
        yield f"  {shown(key):{width}}  {_text(a)}  {_text(b)}{f'  {a - b:+.4g}' if is_mean else ''}"


def _text(value: object) -> str:
    return "-" if value is None else printable(f"{value:.4f}" if isinstance(value, float) else str(value), 60)


def _folder_lines(found: "FolderDiff") -> Iterator[str]:
    yield from (f"only in A     {shown(name)}" for name in found.only_a)
    yield from (f"only in B     {shown(name)}" for name in found.only_b)
    for name, each in found.other_values.items():
        pairs = {**each.metrics, **each.results, **each.settings}
        first = [f"{shown(key)} {_text(a)} and {_text(b)}" for key, (a, b) in list(pairs.items())[:3]]
        yield f"other values  {shown(name)}: {', '.join([*first, *['...'] * (len(pairs) > 3)])}"
    yield (
        f"only in A: {len(found.only_a):,}; only in B: {len(found.only_b):,}; other values: "
        f"{len(found.other_values):,}; the same values, made elsewhere: {len(found.same_values):,}; "
        f"equal: {len(found.equal):,}"
    )


@app.command("merge", short_help="Copy the rows of other folders into this one.")
def merge(
    folders: Annotated[list[Path], Argument(metavar="FOLDER...", help="Results folders of other machines; bundles.")],
    dry_run: Annotated[bool, Option("--dry-run", help="Say what would be done, and write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the rows of other results folders, such as those of other machines, into this one.

    No row is changed or lost. A row of a run that is here with other values is kept beside it, under the name of the
    run, ~ and a digest; tables show the mean of the two, with a note. A good row takes the place of a failed one.

    What tables of record compare of each query (results/queries) is copied with the rows that it fits.

    Of a bundle, the archive that hashbench bundle wrote, the histograms are kept too, in results/evidence, so that
    hashbench compare compares its runs. Nothing in it is trusted: each must be the one that its row states.

    A new row is scored again from the counts and codes beside it, as hashbench verify does, and left out with exit code
    1 if they give another value. The rows beside which there is nothing to score are named.
    """
    from hashbench.bundle import archive, pack
    from hashbench.bundle.verify import score_again
    from hashbench.runs import query_scores
    from hashbench.runs.diff import store_at
    from hashbench.runs.merge import MergeOutcome
    from hashbench.runs.merge import merge as merged
    from hashbench.runs.store import Store

    into, kept, not_scored = Store.default(), list[Path](), list[str]()

    def verify(row: "Row", source: Store) -> None:
        if not score_again(row, source, note):
            not_scored.append(row.run)

    with ExitStack() as open_until_merged:
        bundles = {
            each: open_until_merged.enter_context(archive.results_in(each)) for each in folders if each.is_file()
        }
        stores = [Store(bundles[each]) if each in bundles else store_at(each) for each in folders]
        done = merged(stores, into, leave_out, dry_run=dry_run, verify=verify)
        new = {each.row.run for each in done if each.outcome in MergeOutcome.written()}
        not_scored = [run for run in not_scored if run in new]
        for folder in () if dry_run else bundles.values():
            kept += pack.collect((each.row for each in done), Store(folder), note, into)
        for source in () if dry_run else stores:
            query_scores.merge(source, into)
    if as_json:
        named = [(each.row.run, each.outcome.name, paths.shown(each.path), each.name) for each in done]
        rows = [dict(zip(("run", "outcome", "row", "name"), each, strict=True)) for each in named]
        values = {"into": str(into.folder), "written": not dry_run, "rows": rows, "evidence": [*map(str, kept)]}
        echo(json_text({**values, "not_scored": not_scored}))
    else:
        echo("\n".join(_merge_lines(done, into, dry_run=dry_run)))
        if kept:
            echo(f"  {len(kept):,} histograms kept in {paths.shown(into.folder / 'evidence')}")
        if not_scored:
            some = ", ".join(map(shown, not_scored[:FEW])) + (", ... (--json has all)" if not_scored[FEW:] else "")
            echo(f"  {len(not_scored):,} not scored again, for neither counts nor codes are beside them: {some}")


def _merge_lines(done: "list[Merged]", into: "Store", *, dry_run: bool) -> Iterator[str]:
    from hashbench.runs.merge import MergeOutcome

    yield from (f"{shown(each.name)}: {each.outcome}" for each in done if each.outcome is MergeOutcome.beside)
    counts = Counter(each.outcome for each in done)
    yield f"{paths.shown(into.folder)}: {len(done):,} rows{' would be merged (--dry-run)' if dry_run else ' merged'}"
    yield from (f"  {counts[outcome]:,} {outcome}" for outcome in MergeOutcome if counts[outcome])


@app.command("add", short_help="Add the rows of other people's bundles.")
def add(
    bundles: Annotated[list[Path], Argument(metavar="BUNDLE...", help="Archives that hashbench bundle wrote.")],
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print the new rows beside reference rows; write nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add the rows of other people's bundles, scored again from their codes: all of them, or with one fault none.

    A bundle is verified as hashbench verify does. Then its data, ids and protocol must be those that are here, and its
    codes must give the same histograms and metrics by the labels that are here. A run that is stored with another
    result is refused. Who made the rows (hashbench bundle --by) stays in them. --dry-run prints Markdown.
    """
    from hashbench.bundle.add import add as added
    from hashbench.bundle.difference import markdown
    from hashbench.runs.store import Store

    into = Store.default()
    done = added(bundles, into, note, dry_run=dry_run)
    if as_json:
        rows = [{"run": each.row.run, "outcome": each.outcome.name, "maker": each.row.maker} for each in done.rows]
        values = {"into": str(into.folder), "written": not dry_run, "rows": rows, "evidence": [*map(str, done.kept)]}
        echo(json_text(values))
        return
    if dry_run and done.new:
        echo(f"{markdown(done.new, into.rows())}\n")
    for each in () if dry_run else done.new:
        echo(f"added {shown(each.run)}{f', by {each.maker}' if each.maker else ''}")
    would, n_known = "would be " if dry_run else "", len(done.rows) - len(done.new)
    known = f"; {counted(n_known, 'row')} with these values already here: nothing to do" if n_known else ""
    echo(f"{counted(len(done.new), 'row')} {would}added to {paths.shown(into.folder)}{known}")


@app.command("import", short_help="Make a row of codes that were made elsewhere.")
def import_(
    codes: Annotated[list[Path], Argument(metavar="CODES...", help="Codes of queries and database, as for eval.")],
    method: Annotated[str, Option(help="Who made them: any name, in the catalogue or not.")],
    dataset: Annotated[str, Option(help="A data set that is here.", autocompletion=complete("datasets"))],
    bits: Annotated[int, Option(min=1, help="The code length.")],
    protocol: ProtocolName = None,
    features: Annotated[
        str | None, Option(help="The features that were hashed; without it the images themselves, by any network.")
    ] = None,
    seed: Annotated[int, Option(min=0, help="The seed with which they were made.")] = 0,
    split: SplitSeed = None,
    bit_order: BitOrder = None,
    layout: Layout = None,
    output: Output = "text",
    as_json: RowAsJson = False,
) -> None:
    """Make a row of codes that other code made, scored as the codes of a run; hashbench marks it as imported.

    query_ids and database_ids beside the codes are numbers of items, in any order (hashbench split writes them).
    Without them the codes must be in the order of the protocol, and the labels beside them must agree.
    """
    from hashbench.cli._row_text import print_row
    from hashbench.codes.files import Explicit
    from hashbench.runs.imported import import_codes
    from hashbench.runs.row import IMPORTED
    from hashbench.runs.run import Run
    from hashbench.runs.store import Store

    store = Store.default()
    known: dict[str, int | str] = {"bits": bits, **({} if features is None else {"features": features})}
    run = Run.resolve(dataset, protocol, method, known, seed=seed, budget=IMPORTED, split_seed=split)
    explicit = Explicit(bits=bits, bit_order=bit_order, layout=layout)
    print_row(import_codes(run, codes, explicit, store), None, store, output, as_json=as_json)


@app.command("collect", short_help="Keep the histograms of a table's runs beside its rows.")
def collect(
    table: Annotated[str, Argument(help="See hashbench list tables.", autocompletion=complete("tables"))],
    as_json: AsJson = False,
) -> None:
    """Keep the histograms of a table's runs in results/evidence, small, so that they can be committed with the rows.

    Only those in results/runs with the checksum of the row. hashbench bundle packs them where results/runs is not.
    """
    from hashbench.bundle import pack
    from hashbench.tables.spec import load

    store = rows_read()
    rows = pack.rows_of(load(table), store, None)
    written = pack.collect(rows, store, note)
    without = [row.run for row in rows if not all(path.is_file() for path in store.evidence(row).values())]
    kept = f"{len(rows) - len(without):,} of {len(rows):,} runs have theirs in {paths.shown(store.folder)}/evidence"
    values = {"written": [*map(str, written)], "without": without}
    echo(json_text(values) if as_json else f"histograms written: {len(written):,}; {kept}")


@app.command("prune", short_help="Remove failed and damaged rows, and folders of no use.")
def prune(
    only: Annotated[list[Prunable] | None, Option(help="Only rows, or folders, of this kind; repeatable.")] = None,
    yes: Annotated[bool, Option("--yes", help="Remove them; without it they are only listed.")] = False,
    as_json: AsJson = False,
) -> None:
    """List, or remove with --yes, what is of no use: failed rows, damaged rows, folders that no run continues from.

    A good row is never removed, nor a row of another schema version, nor what a process works on at the moment, nor
    the folder of a run that was interrupted: hashbench list runs has the command that continues it.
    """
    from hashbench.runs.prune import useless

    store = rows_read()
    found = [each for each in useless(store, leave_out) if not only or each.kind in only]
    listed = [each for each in found if each.remove(store)] if yes else found
    n_damaged = sum(each.kind == "damaged" for each in found)
    if as_json:
        runs = [{} if each.line is None else {"run": each.line.name} for each in listed]
        named = [{"kind": each.kind, "path": str(each.path), "why": each.why} for each in listed]
        values = [{**of, **run} for of, run in zip(named, runs, strict=True)]
        echo(json_text({"removed": yes, "found": values}))
        _require_none_damaged(0 if yes else n_damaged)
        return
    for each in listed:
        place = paths.shown(each.path) + ("" if each.line is None else f": {each.line.name}")
        echo(f"{'removed' if yes else 'would remove'} {shown(place)}: {each.kind}: {shown(each.why)}")
    if not found:
        echo(f"{paths.shown(store.folder)}: nothing to remove")
    elif not yes:
        echo(f"{len(found):,} to remove: --yes removes them")
        _require_none_damaged(n_damaged)


def _require_none_damaged(n: int) -> None:
    if n:
        raise CheckFailed(f"{counted(n, 'row')} damaged: hashbench results prune --only damaged --yes removes them")
