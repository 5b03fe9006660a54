"""``hashbench results``: lists, shows, imports, merges and tidies the stored rows."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Context, Option, echo

from hashbench.bundle import pack, state
from hashbench.bundle.receive import source_at
from hashbench.cli._command import Answer, Commands, lines
from hashbench.cli._options import (
    AsJson,
    BitOrder,
    Layout,
    OfDataset,
    OfMethod,
    ProtocolName,
    RunName,
    SplitSeed,
)
from hashbench.cli._row_text import answer_of_row
from hashbench.cli._terminal import json_text, leave_out, rows_read
from hashbench.cli.catalogue import complete, grids_of, run_entry
from hashbench.cli.show import command as show_entry
from hashbench.codes.files import Explicit
from hashbench.foundation import paths
from hashbench.foundation.errors import FEW, CheckFailed, counted, printable
from hashbench.foundation.progress import note
from hashbench.foundation.registry import canonical
from hashbench.runs import query_scores
from hashbench.runs.imported import import_codes
from hashbench.runs.merge import Merged, MergeOutcome
from hashbench.runs.merge import merge as merged
from hashbench.runs.prune import useless
from hashbench.runs.row import IMPORTED, Row
from hashbench.runs.run import Run
from hashbench.runs.store import Store
from hashbench.showing.sheet import Sheet
from hashbench.tables.spec import load

app = Commands()
Prunable = StrEnum("Prunable", ["failed", "damaged", "folder"])  # as runs.prune.Useless.kind, which is imported later
shown = partial(printable, most=300)  # a text of a row of another machine


@app.command("list", short_help="List the stored rows.")
def list_(
    dataset: OfDataset = None,
    protocol: Annotated[str | None, Option(help="Only runs under this protocol.")] = None,
    method: OfMethod = None,
    bits: Annotated[int | None, Option(min=1, help="Only runs with codes of this length.")] = None,
    status: Annotated[Literal["ok", "failed"] | None, Option(help="Only runs that ended so.")] = None,
) -> Sheet:
    """List the stored rows, each with its first metric and its date."""
    names = {"dataset": dataset, "protocol": protocol, "method": method, "status": status}
    wanted = {key: canonical(value) for key, value in names.items() if value is not None}
    entries = [
        run_entry(shown(name), row)
        for name, row in rows_read().named_rows(leave_out)
        if all(getattr(row, key) == value for key, value in wanted.items()) and bits in (None, row.settings.get("bits"))
    ]
    return Sheet(grids=grids_of(entries), values=lambda: {"runs": [entry.values for entry in entries]})


@app.command("show", short_help="Show one row.")
def show(context: Context, run: RunName) -> Sheet:
    """Show one row: its settings, scores, machine and commands. The same as hashbench show RUN --kind run."""
    return show_entry(context, run, "run")


@app.command("merge", short_help="Copy the rows of other folders into this one.")
def merge(
    folders: Annotated[
        list[Path], Argument(metavar="FOLDER...", help="Results folders of other machines; packed states; bundles.")
    ],
    dry_run: Annotated[bool, Option("--dry-run", help="Say what would be done, and write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the rows of other results folders, such as those of other machines, into this one.

    No row is changed or lost. A row of a run that is here with other values is kept beside it, under the name of the
    run, ~ and a digest; tables show the mean of the two, with a note. A good row takes the place of a failed one.

    What tables of record compare of each query (results/queries) is copied with the rows that it fits.

    Of a packed state, the folder that hashbench results pack-state wrote, the working files of the runs are taken up
    too, where they came further than here. hashbench run goes on with them.

    Of a bundle, the archive that hashbench bundle wrote, the histograms are kept too, in results/evidence, so that
    hashbench compare compares its runs; who made its rows (hashbench bundle --by) stays in them. Nothing in it is
    trusted: its codes are scored by the data that are here, or, where the data set is not, by the labels beside them.

    A new row is scored again from the counts and codes beside it, as hashbench verify does, and left out with exit code
    1 if they give another value. The rows beside which there is nothing to score are named.
    """
    into = Store.default()
    kept = list[Path]()
    not_scored = list[str]()
    with ExitStack() as open_until_merged:
        sources = [open_until_merged.enter_context(source_at(path)) for path in folders]
        source_of = {source.store.folder: source for source in sources}

        def verify(row: Row, store: Store) -> Row:
            row, is_scored = source_of[store.folder].scored(row, note)
            if not is_scored:
                not_scored.append(row.run)
            return row

        taken: dict[str, bool] = {}
        for source in sources:
            if source.is_packed_state:
                taken |= state.take_up(source.store, into, dry_run=dry_run)
        done = merged([source.store for source in sources], into, leave_out, dry_run=dry_run, verify=verify)
        for source in () if dry_run else sources:
            query_scores.merge(source.store, into)
            if source.is_bundle:
                kept += pack.collect((each.row for each in done), source.store, note, into)
    new = {each.row.run for each in done if each.outcome in MergeOutcome.written()}
    not_scored = [run for run in not_scored if run in new]
    if as_json:
        rows = [
            {"run": each.row.run, "outcome": each.outcome.name, "row": paths.shown(each.path), "name": each.name}
            for each in done
        ]
        values = {"into": str(into.folder), "written": not dry_run, "rows": rows, "evidence": [*map(str, kept)]}
        echo(json_text({**values, "not_scored": not_scored, "taken_up": [run for run in taken if taken[run]]}))
    else:
        echo("\n".join([*_merge_lines(done, into, dry_run=dry_run), *_lines_beside(taken, kept, not_scored, into)]))


def _lines_beside(taken: dict[str, bool], kept: list[Path], not_scored: list[str], into: Store) -> Iterator[str]:
    if taken:
        n_taken = sum(taken.values())
        here = f"; of {len(taken) - n_taken:,} as much or more is here" if n_taken < len(taken) else ""
        yield f"  the working state of {counted(n_taken, 'run')} taken up{here}"
    if kept:
        yield f"  {len(kept):,} histograms kept in {paths.shown(into.folder / 'evidence')}"
    if not_scored:
        some = ", ".join(map(shown, not_scored[:FEW])) + (", ... (--json has all)" if not_scored[FEW:] else "")
        yield f"  {len(not_scored):,} not scored again, for neither counts nor codes are beside them: {some}"


def _merge_lines(done: list[Merged], into: Store, *, dry_run: bool) -> Iterator[str]:
    yield from (f"{shown(each.name)}: {each.outcome}" for each in done if each.outcome is MergeOutcome.beside)
    counts = Counter(each.outcome for each in done)
    verb = "would be merged (--dry-run)" if dry_run else "merged"
    yield f"{paths.shown(into.folder)}: {counted(len(done), 'row')} {verb}"
    yield from (f"  {counts[outcome]:,} {outcome}" for outcome in MergeOutcome if counts[outcome])


@app.command("pack-state", short_help="Pack runs, finished or not, for another machine.")
def pack_state(
    out: Annotated[Path, Option(metavar="FOLDER", help="The folder of the packed state; an older one is replaced.")],
    runs: Annotated[
        list[str] | None, Argument(metavar="RUN...", help="How names of runs begin. Default: all in results/runs.")
    ] = None,
    part_size: Annotated[float, Option(metavar="MB", min=0.001, max=500, help="The most a file may have.")] = 16.0,
) -> Sheet:
    """Pack the working state of runs into files of limited size, so that another machine goes on with them.

    Unfinished runs are packed with their last checkpoint, finished ones with their rows and all files, and with both
    the runs that they start from. On a machine with the same hashbench, hashbench results merge FOLDER takes them up.
    """
    packed = state.pack(Store.default(), runs or [], out, int(part_size * state.MEGABYTE))
    size = f"{counted(packed.n_parts, 'part')}, {packed.n_bytes / state.MEGABYTE:,.2f} MB"
    packed_runs = f"{counted(len(packed.runs), 'run')} packed, {len(packed.unfinished)} of them unfinished: {size}"
    sizes = {"n_parts": packed.n_parts, "n_bytes": packed.n_bytes}
    values = {"folder": str(out), "runs": [*packed.runs], "unfinished": [*packed.unfinished], **sizes}
    next_step = f"hashbench results merge {paths.shown(out)} takes them up elsewhere"
    return lines([packed_runs, next_step], lambda: values)


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
) -> Answer:
    """Make a row of codes that other code made, scored as the codes of a run; hashbench marks it as imported.

    query_ids and database_ids beside the codes are numbers of items, in any order (hashbench split writes them).
    Without them the codes must be in the order of the protocol, and the labels beside them must agree.
    """
    store = Store.default()
    known: dict[str, int | str] = {"bits": bits, **({} if features is None else {"features": features})}
    run = Run.resolve(dataset, protocol, method, known, seed=seed, budget=IMPORTED, split_seed=split)
    explicit = Explicit(bits=bits, bit_order=bit_order, layout=layout)
    return answer_of_row(import_codes(run, codes, explicit, store), None, store)


@app.command("collect", short_help="Keep the histograms of a table's runs beside its rows.")
def collect(
    table: Annotated[str, Argument(help="See hashbench list tables.", autocompletion=complete("tables"))],
) -> Sheet:
    """Keep the histograms of a table's runs in results/evidence, small, so that they can be committed with the rows.

    Only those in results/runs with the checksum of the row. hashbench bundle packs them where results/runs is not.
    """
    store = rows_read()
    rows = pack.rows_of(load(table), store, None)
    written = pack.collect(rows, store, note)
    without = [row.run for row in rows if not all(path.is_file() for path in store.evidence(row).values())]
    kept = f"{len(rows) - len(without):,} of {len(rows):,} runs have theirs in {paths.shown(store.folder)}/evidence"
    values = {"written": [*map(str, written)], "without": without}
    return lines([f"histograms written: {len(written):,}; {kept}"], lambda: values)


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
