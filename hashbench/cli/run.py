"""``hashbench run`` trains and scores the missing cells of tables."""

import sys
import time
from collections.abc import Iterable
from typing import Annotated

from typer import Argument, Exit, Option

from hashbench import figures
from hashbench.cli import _interrupts
from hashbench.cli._options import TABLES, Budget, Device, Jobs, Splits, pairs_of
from hashbench.foundation import paths
from hashbench.foundation.errors import CheckFailed, HashbenchError
from hashbench.foundation.files import require_writable
from hashbench.foundation.parallel import available_cores
from hashbench.foundation.progress import bar as progress_bar
from hashbench.foundation.progress import note
from hashbench.runs.needs import lines_of, missing_inputs
from hashbench.runs.past import Past
from hashbench.runs.row import IMPORTED
from hashbench.runs.run import Options, Run
from hashbench.runs.run_all import Outcome, Plan, run_all
from hashbench.runs.store import Store
from hashbench.showing.sheet import Code, Grid, Sheet, records
from hashbench.tables import cell_runs
from hashbench.tables.cell import Cell

MEANWHILE = "meanwhile hashbench run digits needs no download"
UNFINISHED = 3  # the exit code where --minutes left runs for the next call
ELSEWHERE = "its codes were made elsewhere: hashbench results import makes its rows"


class RunsFailed(CheckFailed):
    """Some of ``n_runs`` failed, or were not tried; ``failures`` are all of these, each with its reason."""

    def __init__(self, failed: list[tuple[Run, str]], not_tried: list[tuple[Run, str]], n_runs: int) -> None:
        parts = [f"{len(failed)} of {n_runs} runs failed"] if failed else []
        if not_tried:
            parts.append(f"{len(not_tried)} of {n_runs} runs were not tried, for their inputs are missing")
        super().__init__("; ".join(parts))
        self.failures = failed + not_tried


def command(
    tables: Annotated[list[str], Argument(metavar="TABLE...", help="Tables or figures.", autocompletion=TABLES)],
    seeds: Annotated[int, Option(min=1, help="Number of runs of each cell, with seeds 0 .. SEEDS - 1.")] = 1,
    splits: Splits = 1,
    only: Annotated[
        list[str] | None, Option(metavar="KEY=VALUE", help="Only runs with this dataset, method, seed or setting, ...")
    ] = None,
    jobs: Jobs = 1,
    device: Device = "auto",
    budget: Budget = None,
    minutes: Annotated[
        float | None, Option(metavar="M", help="Stop after M minutes at a checkpoint; the same command goes on.")
    ] = None,
    timeout: Annotated[float | None, Option(min=0, metavar="MINUTES", help="End a longer run, as failed.")] = None,
    retry_failed: Annotated[bool, Option("--retry-failed", help="Run again what failed in an earlier call.")] = False,
    ray: Annotated[str | None, Option(metavar="ADDRESS", help="On a Ray cluster: auto, host:port; or local.")] = None,
    cores: Annotated[int, Option(min=1, help="Cores of each run on the Ray cluster.")] = 1,
    memory: Annotated[float, Option(min=0, metavar="GIB", help="Memory of a run on Ray; 0: not reserved.")] = 0,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the missing runs and how long they take.")] = False,
) -> Sheet | None:
    """Train and score every cell of the tables that is not measured yet.

    All seeds of a cell share the protocol's own split; with --splits N each cell is run on N splits. In a table whose
    file says repeats = "splits" seed r is on split r. --only bits=32 --only method=itq --only method=lsh leaves two
    methods at 32 bits: several values of one key are alternatives.

    Runs whose data set or weights are not here are not tried: what is missing is said first, and the others are made.

    --jobs auto executes one run, measures its memory, and then as many at the same time as fit into the memory of the
    machine and of its GPUs, at most one for each core.

    After an interruption the same command continues. With --jobs each run has a process of its own, with its share of
    the cores and a GPU of its own where there are several; what it prints is in output.txt of its folder. If the
    process dies, the run is tried once more; then it is stored as failed.

    --minutes 12 makes a slice of the work: no run begins after 12 minutes, and each training stops at the checkpoint
    before; a run that is past its training is finished. The exit code is then 3. --timeout is no such limit: it ends a
    single run that hangs, and stores it as failed.

    With --ray the runs are tasks of a cluster, whose nodes need the same hashbench and no shared disk: the data are
    sent to a node that lacks them, and rows and working files come back.
    """
    _require_minutes(minutes, ray)
    if ray is not None and jobs != 1:
        raise HashbenchError("--jobs cannot be combined with --ray: the cluster runs as many as fit")
    store = Store.default()
    plan = Plan(jobs, None if timeout is None else 60 * timeout, ray, cores, memory)
    specs = [figures.cells_of(table, budget, splits) for table in tables]
    cells = [each for spec in specs for each in cell_runs.cell_runs(spec, seeds)]
    runs = sorted(
        (run for each in cells for run in each.runs if run.name.budget != IMPORTED), key=lambda r: r.asymmetric
    )
    wanted = list({str(run.name): run for run in runs}.values())  # of two, that which asks for more
    if only:
        wanted = cell_runs.select(wanted, pairs_of(only, "--only", "bits=32"))
    stored = cell_runs.sort_out(wanted, store)
    left = [] if retry_failed else stored.failed
    settled = {str(run.name) for run in (*stored.measured, *left)}
    todo = [run for run in wanted if str(run.name) not in settled]
    unavailable = [(each.cell, each.unavailable) for each in cells if each.unavailable]
    unavailable += [(each.cell, ELSEWHERE) for each in cells if each.cell.budget == IMPORTED]
    _note_what_is_left_out(unavailable)
    note(f"{len(wanted)} runs, {len(stored.measured)} done, {len(todo)} to do")
    _note_what_is_stored(stored.measured, left)
    not_tried = _not_tried(todo, dry_run=dry_run)
    waiting = {str(run.name) for run, _ in not_tried}
    ready = [run for run in todo if str(run.name) not in waiting]
    if dry_run:
        return _planned(todo, store, jobs)
    failed = [(run, "it failed in an earlier call") for run in left]
    n_left = 0
    try:
        if ready:
            require_writable(store.folder)
            stop_at = None if minutes is None else time.monotonic() + 60 * minutes
            outcomes = run_all(ready, store, Options(device=device, progress=True, stop_at=stop_at), plan)
            n_jobs = (jobs or None) if ray is None else None
            n_ended, newly_failed = _follow(outcomes, len(ready), n_jobs, " ".join(tables))
            failed += newly_failed
            n_left = len(ready) - n_ended
            note(f"rows in {paths.shown(store.folder / 'rows')}")
    finally:  # after an interrupt too: the histograms of what is done are here now
        _interrupts.do_not_repeat()
        for path in [path for spec in specs for path in cell_runs.keep_query_scores(spec, store)]:
            note(f"the scores of each query in {paths.shown(path)}")
    _end(n_left, failed, not_tried, len(wanted))
    return None


def _end(n_left: int, failed: list[tuple[Run, str]], not_tried: list[tuple[Run, str]], n_runs: int) -> None:
    """Ends the command with ``UNFINISHED`` where the time left runs for the next call; RunsFailed where some failed."""
    if n_left:
        note(f"the time is over: {n_left} of {n_runs} runs are not done: the same command goes on")
        raise Exit(UNFINISHED)
    if failed or not_tried:
        raise RunsFailed(failed, not_tried, n_runs)


def _require_minutes(minutes: float | None, ray: str | None) -> None:
    """Raises HashbenchError where runs cannot be stopped after so many minutes."""
    if minutes is None:
        return
    if not minutes > 0:
        raise HashbenchError(f"--minutes {minutes:g}: more than 0 is expected, such as --minutes 12")
    if ray is not None:
        raise HashbenchError("--minutes cannot be combined with --ray: it stops the runs of this machine")


def _note_what_is_left_out(unavailable: list[tuple[Cell, str]]) -> None:
    for line in dict.fromkeys(f"{cell.method} on {cell.dataset} {cell.protocol}: {why}" for cell, why in unavailable):
        note(f"left out: {line}")  # once for each data set, method and reason


def _note_what_is_stored(measured: list[Run], failed: list[Run]) -> None:
    if measured:
        note("note: the rows of the runs done are stored; hashbench train ... --again trains one and compares it")
    if failed:
        failures = f"{len(failed)} runs failed in an earlier call, {failed[0].name} the first"
        note(f"note: {failures}: --retry-failed runs them again")


def _not_tried(todo: list[Run], *, dry_run: bool) -> list[tuple[Run, str]]:
    """The runs whose inputs are not here, each with what is missing; lines say how to get it, and what is run.

    HashbenchError, with how to get it, where no run can begin.
    """
    missing_by_run = missing_inputs(todo)
    not_tried = [(run, lines_of(missing)[0]) for run in todo if (missing := missing_by_run[str(run.name)])]
    if not_tried:
        missing_line, remedy = lines_of(each for inputs in missing_by_run.values() for each in inputs)
        note(f"{missing_line} ({len(not_tried)} of {len(todo)} runs need it)")
        n_ready = len(todo) - len(not_tried)
        if not (n_ready or dry_run):
            raise HashbenchError(f"no run can begin; {remedy}; {MEANWHILE}")
        note(remedy)
        if n_ready:
            note(f"meanwhile: the {n_ready} other runs, which need none of it")
    return not_tried


def _planned(todo: list[Run], store: Store, jobs: int) -> Sheet:
    """The names of the runs; a note says how long they take."""
    past = Past.of(store.rows(damaged=lambda _: None))
    known = [seconds for seconds in map(past.of_run, todo) if seconds is not None]
    together = None
    if known:
        together = max(sum(known) / min(jobs or available_cores(), len(todo)), *known)
        unknown = f", and {len(todo) - len(known)} runs that no past row tells about" if len(known) < len(todo) else ""
        note(f"{_about(together)}, by past rows on the machines that made them{unknown}")
    names = [str(run.name) for run in todo]
    values = {"runs": names, "seconds": together, "runs_of_unknown_duration": len(todo) - len(known)}
    return Sheet(
        grids=[Grid([((Code(name),),) for name in names])],
        values=lambda: values,
        records=lambda: records(["run"], ([name] for name in names)),
    )


def _about(seconds: float) -> str:
    if seconds >= 3600:
        return f"about {seconds / 3600:.1f} hours"
    return f"about {seconds / 60:.0f} minutes" if seconds >= 60 else "less than a minute"


def _follow(
    outcomes: Iterable[Outcome], n_runs: int, at_once: int | None, title: str
) -> tuple[int, list[tuple[Run, str]]]:
    """The number of outcomes, and the failed runs with their reasons, after it has shown each outcome as it arrives.

    So many run ``at_once``; on a Ray cluster, and with --jobs auto, nobody knows. On a terminal that is one line: done,
    running and failed runs, the time left, and the last result.
    """
    _interrupts.say_that_it_continues()
    failed, started, on_terminal = list[tuple[Run, str]](), time.monotonic(), sys.stderr.isatty()
    n = 0
    with progress_bar(title, "run", n_runs, shown=on_terminal) as bar:
        bar.set_postfix_str(f"{_running(n_runs, at_once)}, 0 failed")
        for n, outcome in enumerate(outcomes, 1):
            bar.update()
            if outcome.failure is not None:
                failed.append((outcome.spec, outcome.failure))
                bar.write(f"failed: {outcome.spec.name}: {outcome.failure}", file=sys.stderr)
            others = f"{_running(n_runs - n, at_once)}, {len(failed)} failed"
            bar.set_postfix_str(f"{others}; {outcome.spec.name.method}: {_result(outcome)}")
            if not on_terminal:
                left = bar.format_interval((time.monotonic() - started) / n * (n_runs - n))
                so_far = f"{n - len(failed)} of {n_runs} runs done, {others}, {left} left"
                note(f"{so_far}: {outcome.spec.name} {_result(outcome)}")
    return n, failed


def _running(n_left: int, at_once: int | None) -> str:
    return f"{n_left} waiting or running" if not at_once else f"{min(at_once, n_left)} running"


def _result(outcome: Outcome) -> str:
    if outcome.row is None or outcome.failure is not None:
        return "failed"
    name, value = next(iter(outcome.row.all_metrics().items()))
    return f"{name} {value.mean or 0:.3f}"
