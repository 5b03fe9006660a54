"""Executing one run of a grid: here, or by several processes that torchrun starts."""

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from hashbench.foundation import parallel
from hashbench.foundation.errors import HashbenchError
from hashbench.grid.outcome import Outcome
from hashbench.methods import METHODS
from hashbench.runs.command import command_of
from hashbench.runs.data import open_data
from hashbench.runs.guard import row_of, stored_row
from hashbench.runs.lock import is_held, locked_folder
from hashbench.runs.options import Options
from hashbench.runs.run import Run
from hashbench.runs.score import failed_row
from hashbench.runs.store import Row, Store

OUTPUT = "output.txt"  # in the folder of a run: what the run printed in a worker


@dataclass(frozen=True)
class Execution:
    """What all runs of a grid share: where the rows go, the options, and the number of processes that train one run."""

    store: Store
    options: Options
    processes: int = 1


def output_of(spec: Run, store: Store) -> Path:
    """The file of what the run prints in a worker."""
    return store.run_folder(spec.run) / OUTPUT


def execute(spec: Run, how: Execution) -> Outcome:
    """Executes the run, unless its row is stored; a run that another process executes is waited for."""
    try:
        return Outcome(
            spec, _row_of_several(spec, how) if _takes_several(spec, how) else row_of(spec, how.store, how.options)
        )
    except HashbenchError as error:
        return Outcome(spec, None, str(error))


def execute_unless_held(spec: Run, how: Execution) -> Outcome | None:
    """Executes the run; None if another process executes it at this moment."""
    return None if is_held(spec, how.store) else execute(spec, how)


def record_failure(spec: Run, how: Execution, reason: str) -> Outcome:
    """Stores a row that says that the run failed, and why, unless there is a measurement; returns the row."""
    try:
        with locked_folder(how.store.run_folder(spec.run), wait=True):
            row = stored_row(spec, how.store)
            if row is None:
                row = failed_row(open_data(spec, how.options), reason, how.options)
                how.store.write(row)
    except HashbenchError as error:
        return Outcome(spec, None, f"{reason}; no row could be stored: {error}")
    return Outcome(spec, row)


def _takes_several(spec: Run, how: Execution) -> bool:
    """Whether several processes train this run: not every method can, and a run that starts from another one cannot."""
    return how.processes > 1 and spec.base is None and METHODS.get(spec.method).several_processes


def _row_of_several(spec: Run, how: Execution) -> Row:
    """The row that ``hashbench train`` stores, started by torchrun; raises HashbenchError if it stores none."""
    if (row := stored_row(spec, how.store)) is not None:
        return row
    train = shlex.split(command_of(spec, spec.identity))[1:]
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={how.processes}"]
    command = [sys.executable, *torchrun, "-m", "hashbench", *train, "--device", how.options.device]
    share = max(1, parallel.available_cores() // how.processes)
    environment = {**os.environ, "HASHBENCH_RESULTS": str(how.store.folder), parallel.N_THREADS: str(share)}
    status = subprocess.run(command, env=environment, check=False).returncode  # noqa: S603  (words, and no shell)
    row = how.store.find(spec.dataset, spec.protocol, spec.run)
    if row is None:
        raise HashbenchError(f"torchrun ended with exit code {status} and stored no row")
    return row
