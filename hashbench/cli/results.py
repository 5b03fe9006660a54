"""``hashbench results``: imports, merges and packs stored rows."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from hashbench.cli._command import Answer, Commands, lines
from hashbench.cli._options import ProtocolName, SplitSeed
from hashbench.cli._row_text import answer_of_row
from hashbench.cli._scoring import CodesLayout, explicit_of
from hashbench.cli._terminal import leave_out
from hashbench.cli.catalogue import complete
from hashbench.foundation import paths
from hashbench.foundation.errors import FEW, counted, printable
from hashbench.foundation.progress import note
from hashbench.running.runs.imported import import_codes
from hashbench.running.runs.merge import MergeOutcome
from hashbench.running.runs.row import IMPORTED
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.showing.bundle import state
from hashbench.showing.bundle.receive import Received, receive
from hashbench.showing.sheet import Grid, Sheet, records

app = Commands()
shown = partial(printable, most=300)  # a text of a row of another machine


@app.command("merge", short_help="Copy the rows of other folders into this one.")
def merge(
    folders: Annotated[
        list[Path], Argument(metavar="FOLDER...", help="Results folders of other machines; packed states; bundles.")
    ],
    dry_run: Annotated[bool, Option("--dry-run", help="Say what would be done, and write nothing.")] = False,
) -> Sheet:
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
    received = receive(folders, into, leave_out, note, dry_run=dry_run)
    return _sheet_of_merged(received, into, dry_run=dry_run)


def _sheet_of_merged(received: Received, into: Store, *, dry_run: bool) -> Sheet:
    """How many rows had each outcome, those that are beside another one, and what came with them."""
    rows = [
        {"run": merged.row.run, "outcome": merged.outcome.name, "row": paths.shown(merged.path), "name": merged.name}
        for merged in received.rows
    ]
    values = {
        **{"into": str(into.folder), "written": not dry_run, "rows": rows},
        "evidence": [*map(str, received.evidence)],
        "not_scored": received.not_scored,
        "taken_up": [run for run, is_taken in received.taken_up.items() if is_taken],
    }
    counts = Counter(merged.outcome for merged in received.rows)
    lines = [f"{counts[outcome]:,} {outcome}" for outcome in MergeOutcome if counts[outcome]]
    lines += _lines_beside(received, into)
    beside = [merged.name for merged in received.rows if merged.outcome is MergeOutcome.beside]
    verb = "would be merged (--dry-run)" if dry_run else "merged"
    total = f"{paths.shown(into.folder)}: {counted(len(received.rows), 'row')} {verb}"
    return Sheet(
        texts=[] if lines else [total],
        grids=[
            Grid([(f"{shown(name)}: {MergeOutcome.beside}",) for name in beside]),
            Grid([(line,) for line in lines], title=total),
        ],
        values=lambda: values,
        records=lambda: records(("run", "outcome", "row", "name"), (row.values() for row in rows)),
    )


def _lines_beside(received: Received, into: Store) -> Iterator[str]:
    if received.taken_up:
        n_taken = sum(received.taken_up.values())
        n_left = len(received.taken_up) - n_taken
        line = f"the working state of {counted(n_taken, 'run')} taken up"
        if n_left:
            line += f"; of {n_left:,} as much or more is here"
        yield line
    if received.evidence:
        yield f"{len(received.evidence):,} histograms kept in {paths.shown(into.folder / 'evidence')}"
    if received.not_scored:
        first = ", ".join(map(shown, received.not_scored[:FEW]))
        if received.not_scored[FEW:]:
            first += ", ... (--json has all)"
        why = "neither counts nor codes are beside them"
        yield f"{len(received.not_scored):,} not scored again, for {why}: {first}"


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
    layout: CodesLayout = None,
) -> Answer:
    """Make a row of codes that other code made, scored as the codes of a run; hashbench marks it as imported.

    query_ids and database_ids beside the codes are item numbers, in any order (hashbench split writes them).
    Without them the codes must be in the order of the protocol, and the labels beside them must agree.
    """
    store = Store.default()
    known: dict[str, int | str] = {"bits": bits}
    if features is not None:
        known["features"] = features
    run = Run.resolve(dataset, protocol, method, known, seed=seed, budget=IMPORTED, split_seed=split)
    explicit = replace(explicit_of(layout), bits=bits)
    return answer_of_row(import_codes(run, codes, explicit, store), None, store)
