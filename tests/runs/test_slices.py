"""A run in slices of time is the undisturbed run, to the bit, and what goes on elsewhere says so."""

import time
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from support.command_line import CommandLine
from support.on_digits import on_digits
from support.waiting import until

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TimeIsOver
from hashbench.learning.training import checkpoint
from hashbench.running.jobs import follow
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.run_all import Plan, run_all
from hashbench.running.runs.store import HOLDER, Store

ROUNDS = {"model": "mlp", "augment": "none", "epochs": 3, "steps_per_epoch": 4, "batch_size": 10}
SPARSE = {**ROUNDS, "classes_per_batch": 5, "augment_per": "item", "d": 8}
OF_BASE = {f"base.{key}": value for key, value in SPARSE.items() if key not in ("model", "d")}
RUNS = [("sparse_hash", {**SPARSE, **OF_BASE}), ("classifier", {**ROUNDS, "classes": 10}), ("mihash", {"epochs": 3})]
AT_ONCE = Execution(device="cpu", stop_at=0.0)  # the time of a call is over after one epoch


def run_called(method: str, settings: dict[str, Any]) -> Run:
    return on_digits(method, settings if method != "mihash" else {"bits": 8, **settings})


@pytest.mark.parametrize("method, settings", RUNS)
def test_a_run_in_slices_is_the_undisturbed_one(method: str, settings: dict[str, Any], tmp_path: Path) -> None:
    run = run_called(method, settings)
    undisturbed = row_of(run, Store(tmp_path / "undisturbed"), Execution(device="cpu"))
    store = Store(tmp_path / "slices")
    n_slices = 0
    row = None
    while row is None:
        n_slices += 1
        try:
            row = row_of(run, store, AT_ONCE)
        except TimeIsOver:
            assert list(store.folder.glob(f"runs/*/{checkpoint.FILE}"))
    assert n_slices == (5 if method == "sparse_hash" else 3)
    assert row.searches == undisturbed.searches
    assert row.artefacts == undisturbed.artefacts
    assert row.objective == undisturbed.objective
    for path in (tmp_path / "undisturbed").glob("runs/*/codes.npz"):
        with np.load(path) as a, np.load(store.folder / path.relative_to(tmp_path / "undisturbed")) as b:
            assert all(np.array_equal(a[name], b[name]) for name in a.files)


def test_the_time_of_a_table_is_over_with_a_line(hashbench: CommandLine) -> None:
    table = ("run", "digits", "--only", "method=lsh", "--only", "bits=12", "--only", "seed=0", "--minutes")
    for wrong in ("0", "-1", "nan"):
        code, _, err = hashbench(*table, wrong)
        assert code == 2
        assert err == f"error: --minutes {wrong}: minutes are expected, more than 0 and at most 30,000\n"
    assert hashbench(*table, "12 --ray auto").code == 2
    assert hashbench(*table, "12 --timeout inf").code == 2
    code, _, err = hashbench(*table, 1e-9, "--only bits=24")
    assert code == 3
    assert err.splitlines()[-1] == "the time is over: 1 of 2 runs are not done: the same command goes on"
    hashbench.done(*table, 1e-9, "--only bits=24")


def test_a_slice_does_not_wait_for_another_process_when_its_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for the run itself nor for the one that it starts from."""
    monkeypatch.setattr(follow, "POLL_S", 0.1)
    store = Store(tmp_path)
    run = run_called(*RUNS[0])
    assert run.base is not None
    let_go = Event()

    def hold(name: str) -> None:
        with store.run_lock(name, wait=True):
            let_go.wait()

    for held in (run, run.base):
        thread = Thread(target=hold, args=(str(held.name),))
        thread.start()
        assert until((store.run_folder(str(held.name)) / HOLDER).exists)
        assert list(run_all([run], store, Execution(device="cpu", stop_at=time.monotonic() + 0.3))) == []
        let_go.set()
        thread.join()
        let_go.clear()


@pytest.mark.parametrize("jobs, seconds", [(1, 1.0), (2, 0.0)], ids=["in this process", "too late, in workers"])
def test_one_run_begins_and_stops_after_an_epoch(jobs: int, seconds: float, tmp_path: Path) -> None:
    runs = [on_digits("mihash", {"bits": 8, "epochs": 10**6}, seed=seed) for seed in range(2)]
    execution = Execution(device="cpu", stop_at=time.monotonic() + seconds)
    assert list(run_all(runs, Store(tmp_path), execution, Plan(jobs))) == []
    assert len(list(tmp_path.glob(f"runs/*/{checkpoint.FILE}"))) == 1
