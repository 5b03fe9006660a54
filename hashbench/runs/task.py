"""A run as a task: on this machine, by several processes that torchrun starts, or on a node of a cluster."""

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree

from hashbench.contract import PIXELS
from hashbench.datasets.protocol import Percentiles
from hashbench.datasets.store import path_of
from hashbench.features import path_of as features_path
from hashbench.foundation import parallel, paths
from hashbench.foundation.errors import HashbenchError
from hashbench.jobs.local import LocalPool
from hashbench.jobs.node import RESULTS
from hashbench.jobs.task import Died, DriverFile, Input, Postponed, Task
from hashbench.models import MODELS
from hashbench.runs.command import command_of
from hashbench.runs.data import open_data
from hashbench.runs.guard import row_of, stored_row
from hashbench.runs.lock import HOLDER, LOCK, is_held, locked_folder
from hashbench.runs.options import Options
from hashbench.runs.row import Row
from hashbench.runs.run import Run
from hashbench.runs.score import failed_row
from hashbench.runs.store import Store
from hashbench.training.settings import N_SHOWN, OFFICIAL, SHA256

OUTPUT = "output.txt"  # in the folder of a run: what the run printed in a worker


@dataclass(frozen=True)
class Made:
    """What a node made: the row of a run, and its working files by name."""

    row: Row
    files: dict[str, bytes]


@dataclass(frozen=True)
class RunTask(Task):
    """Executes a run, unless its row is stored; with ``failure`` it stores a row that gives this reason instead.

    ``processes`` train the run together, as far as its method can. On a node of a cluster it has so many ``cores``, and
    ends after ``timeout_s``; there ``base_row`` is the row of the run that it starts from.
    """

    spec: Run
    store: Store
    options: Options
    processes: int = 1
    failure: str | None = None
    timeout_s: float | None = None
    cores: int = 1
    base_row: Row | None = None

    @property
    def name(self) -> str:
        """The run's name."""
        return str(self.spec.name)

    @property
    def output(self) -> Path:
        """The file in the folder of the run."""
        return self.store.run_folder(self.name) / OUTPUT

    def run(self) -> Row | Postponed:
        """The row; Postponed if another process executes the run at this moment."""
        if self.failure is not None:
            return self._record(self.failure)
        if is_held(self.spec, self.store):
            return Postponed()
        several = self.processes > 1 and self.spec.base is None and self.spec.method.several_processes
        return self._row_by_torchrun() if several else row_of(self.spec, self.store, self.options)

    def _record(self, reason: str) -> Row:
        """The measured row if there is one by now, else the row of the failure, which is stored."""
        try:
            with locked_folder(self.store.run_folder(self.name), wait=True):
                row = stored_row(self.spec, self.store)
                if row is None:
                    row = failed_row(open_data(self.spec, self.options), reason, self.options)
                    self.store.write(row)
        except HashbenchError as error:
            raise HashbenchError(f"{reason}; no row could be stored: {error}") from None
        return row

    def _row_by_torchrun(self) -> Row:
        """The row that ``hashbench train`` stores in several processes; raises HashbenchError if it stores none."""
        if (row := stored_row(self.spec, self.store)) is not None:
            return row
        train = shlex.split(command_of(self.spec.name, self.spec.name.identity))[1:]
        torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={self.processes}"]
        command = [sys.executable, *torchrun, "-m", "hashbench", *train, "--device", self.options.device]
        share = max(1, parallel.available_cores() // self.processes)
        environment = {**os.environ, "HASHBENCH_RESULTS": str(self.store.folder), parallel.N_THREADS: str(share)}
        status = subprocess.run(command, env=environment, check=False).returncode  # noqa: S603  (words, and no shell)
        row = self.store.find(self.spec.name.dataset, self.spec.name.protocol, self.name)
        if row is None:
            raise HashbenchError(f"torchrun ended with exit code {status} and stored no row")
        return row

    def for_node(self) -> "RunTask":
        """The same task with the row of its base."""
        base = self.spec.base
        return self if base is None else replace(self, base_row=stored_row(base, self.store))

    def inputs(self) -> list[Input]:
        """The files here that the run needs; it will say itself which ones are missing."""
        found = [path for path in _data_files(self.spec) if path.is_file()]
        inputs = [Input(path, DriverFile.at(path), _place(path)) for path in found]
        if self.spec.base is not None:
            of_base = _working_files(self.store.run_folder(str(self.spec.base.name)))
            inputs += [Input(p, DriverFile.at(p), f"{RESULTS}/{p.relative_to(self.store.folder)}") for p in of_base]
        return inputs

    def run_on_node(self, folder: Path, places: Mapping[Path, Path]) -> Made | Died | Postponed:  # noqa: ARG002
        """What the node made, in a process of its own; errors name the machine, and the node keeps no result."""
        store = Store(folder / RESULTS)
        here = replace(self, store=store, options=replace(self.options, progress=True))
        environment = {"HASHBENCH_DATA": str(folder / "data"), parallel.N_THREADS: str(self.cores)}
        try:
            base = self.base_row
            if base is not None and store.find(base.dataset, base.protocol, base.run) is None:
                store.write(base)
            with closing(LocalPool([environment], self.timeout_s)) as pool:
                pool.give(0, here)
                ((_, found),) = pool.ended()
            if isinstance(found, HashbenchError):
                raise found
        except HashbenchError as error:
            raise HashbenchError(f"on {platform.node()}: {error}") from None
        if isinstance(found, Died | Postponed):
            return found
        made = Made(found, {path.name: path.read_bytes() for path in _working_files(store.run_folder(self.name))})
        rmtree(store.run_folder(self.name), ignore_errors=True)
        with suppress(HashbenchError):  # a second run of this node would find it
            store.remove(store.rows_path(self.spec.name.dataset, self.spec.name.protocol), [self.name])
        return made


def _working_files(folder: Path) -> list[Path]:
    """The files of a run, without those that only serve its training or say who made it."""
    unneeded = (LOCK, HOLDER, OUTPUT)
    return sorted(
        path
        for path in folder.glob("*")
        if path.is_file() and path.name not in unneeded and not path.name.startswith(("checkpoint", "."))
    )


def _data_files(spec: Run) -> Iterator[Path]:
    """The data set, the features and the weights that the run may need."""
    card = spec.card
    yield paths.own_cards() / f"{card.name}.toml"  # there is one if the data set is the user's own
    if not card.embedded:
        yield path_of(card)
    rule = spec.protocol.relevance
    compared = rule.features if isinstance(rule, Percentiles) else None
    yield from (features_path(card.name, str(name)) for name in {spec.settings.features, compared} - {None, PIXELS})
    weights, model = getattr(spec.settings, "weights", None), getattr(spec.settings, "model", None)
    if isinstance(weights, str) and weights.startswith(SHA256):
        end = f"*-{weights.removeprefix(SHA256)[:N_SHOWN]}.*"
        yield from (path for folder in (paths.weights(), paths.committed_weights()) for path in folder.glob(end))
    elif weights == OFFICIAL and model is not None and (pretrained := MODELS.get(model).pretrained) is not None:
        yield paths.weights() / pretrained.weights.file


def _place(path: Path) -> str:
    """Where a run on a node looks for the file; committed weights lie among those that were downloaded."""
    return f"data/{path.relative_to(paths.data()) if path.is_relative_to(paths.data()) else f'weights/{path.name}'}"
