"""The runs that cells of tables lack: which they are, and how they are made, with a line for each on stderr."""

import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hashbench.foundation import paths
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import CheckFailed, HashbenchError
from hashbench.foundation.execution import Execution
from hashbench.foundation.files import require_writable
from hashbench.foundation.progress import bar as progress_bar
from hashbench.foundation.progress import note
from hashbench.running.runs.needs import lines_of, missing_inputs
from hashbench.running.runs.row import IMPORTED
from hashbench.running.runs.run import Run
from hashbench.running.runs.run_all import Outcome, Plan, run_all
from hashbench.running.runs.store import Store
from hashbench.showing.tables.cell_runs import cell_runs, select, sort_out
from hashbench.showing.tables.spec import TableSpec

MEANWHILE = "meanwhile hashbench run digits needs no download"
ELSEWHERE = "its codes were made elsewhere: hashbench results import makes its rows"

Failure = tuple[Run, str]  # a run, and why it has no scores


class RunsFailed(CheckFailed):
    """Some of ``n_runs`` failed, or were not tried; ``failures`` are all of these, each with its reason.

    The time left ``n_left`` others for the next call.
    """

    def __init__(self, failed: list[Failure], not_tried: list[Failure], n_runs: int, n_left: int = 0) -> None:
        parts = []
        if failed:
            parts.append(f"{len(failed)} of {n_runs} runs failed")
        if not_tried:
            parts.append(f"{len(not_tried)} of {n_runs} runs were not tried, for their inputs are missing")
        if n_left:
            parts.append(left_by_time(n_left, n_runs))
        super().__init__("; ".join(parts))
        self.failures = failed + not_tried


def left_by_time(n_left: int, n_runs: int) -> str:
    """That the time left so many of the runs."""
    return f"the time is over: {n_left} of {n_runs} runs are not done"


@dataclass(frozen=True)
class Work:
    """The runs that tables need: their number, those without a row, and those of them that can begin.

    ``failed`` are those that failed in an earlier call and are left alone, ``not_tried`` those whose inputs are not
    here.
    """

    n_runs: int
    todo: list[Run]
    ready: list[Run]
    failed: list[Failure]
    not_tried: list[Failure]


def work_of(
    specs: Sequence[TableSpec],
    seeds: int,
    store: Store,
    *,
    only: Iterable[tuple[str, Setting]] = (),
    retry_failed: bool = False,
    dry_run: bool = False,
) -> Work:
    """The runs that the tables need, of ``only`` these settings; notes say what is done, left out or missing.

    HashbenchError where no run can begin, but for a ``dry_run``.
    """
    cells = [needed for spec in specs for needed in cell_runs(spec, seeds)]
    runs = [run for needed in cells for run in needed.runs if run.name.budget != IMPORTED]
    runs.sort(key=lambda run: run.asymmetric)
    wanted = list({str(run.name): run for run in runs}.values())  # of two, that which asks for more
    only = list(only)
    if only:
        wanted = select(wanted, only)
    stored = sort_out(wanted, store)
    left = [] if retry_failed else stored.failed
    settled = {str(run.name) for run in (*stored.measured, *left)}
    todo = [run for run in wanted if str(run.name) not in settled]
    unavailable = [(needed.cell, needed.unavailable) for needed in cells if needed.unavailable]
    unavailable += [(needed.cell, ELSEWHERE) for needed in cells if needed.cell.budget == IMPORTED]
    for line in dict.fromkeys(f"{cell.method} on {cell.dataset} {cell.protocol}: {why}" for cell, why in unavailable):
        note(f"left out: {line}")  # once for each data set, method and reason
    note(f"{len(wanted)} runs, {len(stored.measured)} done, {len(todo)} to do")
    if stored.measured:
        note("note: the rows of the runs done are stored; hashbench train ... --again trains one and compares it")
    if left:
        failures = f"{len(left)} runs failed in an earlier call, {left[0].name} the first"
        note(f"note: {failures}: --retry-failed runs them again")
    not_tried = _not_tried(todo, dry_run=dry_run)
    waiting = {str(run.name) for run, _ in not_tried}
    ready = [run for run in todo if str(run.name) not in waiting]
    return Work(len(wanted), todo, ready, [(run, "it failed in an earlier call") for run in left], not_tried)


def fill(work: Work, store: Store, execution: Execution, plan: Plan, title: str) -> int:
    """Makes the runs that can begin; the number of those that the time left for the next call.

    RunsFailed where some failed now, and, where the time left none, where some failed before or were not tried.
    """
    newly_failed: list[Failure] = []
    n_left = 0
    if work.ready:
        require_writable(store.folder)
        n_ended, newly_failed = _follow(run_all(work.ready, store, execution, plan), len(work.ready), title)
        n_left = len(work.ready) - n_ended
        note(f"rows in {paths.shown(store.folder / 'rows')}")
    if newly_failed or (not n_left and (work.failed or work.not_tried)):
        raise RunsFailed(work.failed + newly_failed, work.not_tried, work.n_runs, n_left)
    return n_left


def _not_tried(todo: list[Run], *, dry_run: bool) -> list[tuple[Run, str]]:
    """The runs whose inputs are not here, each with what is missing; lines say how to get it, and what is run.

    HashbenchError, with how to get it, where no run can begin.
    """
    missing_by_run = missing_inputs(todo)
    not_tried = [(run, lines_of(missing)[0]) for run in todo if (missing := missing_by_run[str(run.name)])]
    if not_tried:
        missing_line, remedy = lines_of(need for needs in missing_by_run.values() for need in needs)
        note(f"{missing_line} ({len(not_tried)} of {len(todo)} runs need it)")
        n_ready = len(todo) - len(not_tried)
        if not (n_ready or dry_run):
            raise HashbenchError(f"no run can begin; {remedy}; {MEANWHILE}")
        note(remedy)
        if n_ready:
            note(f"meanwhile: the {n_ready} other runs, which need none of it")
    return not_tried


def _follow(outcomes: Iterable[Outcome], n_runs: int, title: str) -> tuple[int, list[Failure]]:
    """The number of outcomes, and the failed runs with their reasons, after it has shown each outcome as it arrives.

    On a terminal that is one line: done and failed runs, the time left, and the last result.
    """
    failed: list[Failure] = []
    started = time.monotonic()
    on_terminal = sys.stderr.isatty()
    n = 0
    with progress_bar(title, "run", n_runs, shown=on_terminal) as bar:
        for n, outcome in enumerate(outcomes, 1):
            bar.update()
            if outcome.failure is not None:
                failed.append((outcome.spec, outcome.failure))
                bar.write(f"failed: {outcome.spec.name}: {outcome.failure}", file=sys.stderr)
            bar.set_postfix_str(f"{len(failed)} failed; {outcome.spec.name.method}: {_result(outcome)}")
            if not on_terminal:
                left = bar.format_interval((time.monotonic() - started) / n * (n_runs - n))
                so_far = f"{n - len(failed)} of {n_runs} runs done, {len(failed)} failed, {left} left"
                note(f"{so_far}: {outcome.spec.name} {_result(outcome)}")
    return n, failed


def _result(outcome: Outcome) -> str:
    if outcome.row is None or outcome.failure is not None:
        return "failed"
    name, value = next(iter(outcome.row.all_metrics().items()))
    return f"{name} {value.mean or 0:.3f}"
