"""``hashbench run`` trains and scores the missing cells of tables."""

import re
import time
from dataclasses import replace
from typing import Annotated, NamedTuple

from typer import Argument, Exit, Option

from hashbench.cli._fill import fill_tables
from hashbench.cli._options import SEEDS, TABLES, Device, Jobs, pairs_of
from hashbench.cli._terminal import duration
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.execution import Execution
from hashbench.foundation.parallel import available_cores
from hashbench.foundation.progress import note
from hashbench.running.runs.needs import require_device
from hashbench.running.runs.past import Past
from hashbench.running.runs.run import Run
from hashbench.running.runs.run_all import Plan
from hashbench.running.runs.store import Store
from hashbench.showing import figures
from hashbench.showing.sheet import Code, Grid, Sheet, records
from hashbench.showing.tables.fill import left_by_time, work_of

LONGEST = 30_000  # minutes that the system waits for a process: about three weeks
UNFINISHED = 3  # the exit code where --minutes left runs for the next call


def command(
    tables: Annotated[
        list[str], Argument(metavar="TABLE[@BUDGET]...", help="Tables or figures.", autocompletion=TABLES)
    ],
    seeds: Annotated[int, Option(min=1, help=SEEDS)] = 1,
    only: Annotated[
        list[str] | None, Option(metavar="KEY=VALUE", help="Only runs of this method, bits, seed, ...; repeatable.")
    ] = None,
    jobs: Jobs = 1,
    device: Device = "auto",
    minutes: Annotated[float | None, Option(metavar="M", help="Stop after M minutes at a checkpoint.")] = None,
    timeout: Annotated[float | None, Option(metavar="MINUTES", help="End a longer run, as failed.")] = None,
    retry_failed: Annotated[bool, Option("--retry-failed", help="Run again what failed before.")] = False,
    ray: Annotated[
        list[str] | None,
        Option(metavar="ADDRESS,...", help="On Ray: auto or host:port; ,cores=4,memory=8 (GiB) for each run."),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the missing runs and their hours.")] = False,
) -> Sheet | None:
    """Train and score every cell of tables that is not measured yet.

    --only bits=32 --only method=itq --only method=lsh leaves two methods at 32 bits. TABLE@cpu is the table at the
    budget cpu. Runs whose data or weights are not here are named first, and left out. After an interruption the same
    command continues.

    With --jobs each run has a process, a share of the cores and a GPU of its own; what it prints is in output.txt of
    its folder. --jobs auto measures the memory of the first run.

    With --minutes M no run but the first begins after M minutes, and each training stops at a checkpoint; the exit
    code is then 3.

    With --ray runs are tasks of a cluster of nodes with the same hashbench: data are sent to them, rows come back.
    """
    cluster = _cluster(ray)
    for option, value in (("--minutes", minutes), ("--timeout", timeout)):
        if value is not None and not 0 < value <= LONGEST:
            raise HashbenchError(f"{option} {value:g}: minutes are expected, more than 0 and at most {LONGEST:,}")
    if cluster.address is not None and (jobs != 1 or minutes is not None):
        raise HashbenchError("--jobs and --minutes cannot be combined with --ray: they are of the runs of this machine")
    execution = Execution(device=device, progress=True)
    if cluster.address is None and not dry_run:
        require_device(device)
    store = Store.default()
    specs = [figures.cells_of(table) for table in tables]
    chosen = pairs_of(only or [], "--only", "bits=32")
    work = work_of(specs, seeds, store, only=chosen, retry_failed=retry_failed, dry_run=dry_run)
    if dry_run:
        return _planned(work.todo, store, jobs)
    stop_at = None
    if minutes is not None:
        stop_at = time.monotonic() + 60 * minutes
    plan = Plan(jobs, None if timeout is None else 60 * timeout, *cluster)
    if n_left := fill_tables(specs, work, store, replace(execution, stop_at=stop_at), plan):
        note(f"{left_by_time(n_left, work.n_runs)}: the same command goes on")
        raise Exit(UNFINISHED)
    return None


class Cluster(NamedTuple):
    """The address of a Ray cluster, or None, and what each run has there: cores, and memory that is reserved."""

    address: str | None = None
    cores: int = 1
    memory_gib: float = 0.0


def _cluster(texts: list[str] | None) -> Cluster:
    """What --ray says; several texts are read as one."""
    cluster = Cluster()
    if not texts:
        return cluster
    for text in ",".join(texts).split(","):
        key, _, value = text.partition("=")
        if key == "cores" and re.fullmatch("[1-9][0-9]{0,3}", value):
            cluster = cluster._replace(cores=int(value))
        elif key == "memory" and re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", value):
            cluster = cluster._replace(memory_gib=float(value))
        elif text and "=" not in text and cluster.address is None:
            cluster = cluster._replace(address=text)
        else:
            raise HashbenchError(f"--ray {printable(text)}: an address is expected, as in --ray auto,cores=4,memory=8")
    if cluster.address is None:
        raise HashbenchError("--ray: the address is missing, such as --ray auto,cores=4")
    return cluster


def _planned(todo: list[Run], store: Store, jobs: int) -> Sheet:
    """The names of the runs; a note says how long they take."""
    past = Past.of_lines(store.lines(damaged=lambda _: None))
    known = [seconds for seconds in map(past.of_run, todo) if seconds is not None]
    n_unknown = len(todo) - len(known)
    together = None
    if known:
        together = max(sum(known) / min(jobs or available_cores(), len(todo)), *known)
        text = f"about {duration(together)}, by past rows on the machines that made them"
        if n_unknown:
            text += f", and {n_unknown} runs that no past row tells about"
        note(text)
    names = [str(run.name) for run in todo]
    values = {"runs": names, "seconds": together, "runs_of_unknown_duration": n_unknown}
    return Sheet(
        grids=[Grid([((Code(name),),) for name in names])],
        values=lambda: values,
        records=lambda: records(["run"], ([name] for name in names)),
    )
