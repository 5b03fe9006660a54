"""Workers that die, runs that hang: the other runs go on, and nothing is lost or stored twice."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
from support.waiting import until

from hashbench.grid.execute import OUTPUT, Execution
from hashbench.grid.local import Plan, run_all
from hashbench.grid.outcome import Outcome
from hashbench.runs.guard import row_of
from hashbench.runs.lock import HOLDER
from hashbench.runs.options import Options
from hashbench.runs.run import Run
from hashbench.runs.store import Row, Store

pytest.importorskip("torch")


def talr(seed: int = 0, epochs: int = 30) -> Run:
    return Run.resolve("digits", "s1", "talr_ap", {"bits": 8, "epochs": epochs}, seed=seed)


@contextmanager
def killer(store: Store, spec: Run, times: int) -> Iterator[list[int]]:
    """Kills so many processes, one after another, that execute the run; the list is of those that were killed."""
    killed: list[int] = []
    over = Event()
    holder = store.run_folder(spec.run) / HOLDER

    def kill() -> None:
        while len(killed) < times and not over.wait(0.05):
            found = re.match(r"process (\d+) ", holder.read_text()) if holder.exists() else None
            if found and int(found[1]) not in killed:
                killed.append(int(found[1]))
                os.kill(killed[-1], signal.SIGKILL)

    thread = Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def outcomes(specs: list[Run], store: Store, plan: Plan) -> dict[int, Outcome]:
    """How each run ended, by its seed; each ends once."""
    ended = list(run_all(specs, Execution(store, Options(device="cpu")), plan))
    assert sorted(each.spec.seed for each in ended) == sorted(spec.seed for spec in specs)
    return {each.spec.seed: each for each in ended}


def stored(store: Store, spec: Run) -> Row | None:
    return store.find(spec.dataset, spec.protocol, spec.run)


def test_a_run_whose_worker_is_killed_is_tried_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, specs = Store(tmp_path / "grid"), [talr(0), talr(1), talr(2)]
    with killer(store, specs[1], 1) as killed:
        found = outcomes(specs, store, Plan(jobs=2))
    assert len(killed) == 1
    assert [found[seed].failure for seed in range(3)] == [None] * 3
    said = capsys.readouterr().err
    assert f"note: {specs[1].run}: the worker was ended by SIGKILL: out of memory?: it is tried again\n" in said
    row, undisturbed = stored(store, specs[1]), row_of(specs[1], Store(tmp_path / "alone"), Options(device="cpu"))
    assert row is not None and row == found[1].row
    assert (row.metrics, row.histogram_sha256) == (undisturbed.metrics, undisturbed.histogram_sha256)
    assert len(list(tmp_path.glob("grid/rows/*/*.json"))) == 3


def test_a_run_whose_worker_is_killed_again_is_stored_as_failed(tmp_path: Path) -> None:
    store, specs = Store(tmp_path), [talr(0), talr(1)]
    with killer(store, specs[0], 2) as killed:
        found = outcomes(specs, store, Plan(jobs=2))
    assert len(set(killed)) == 2
    reason = "the worker was ended by SIGKILL: out of memory?, 2 times; what it printed is in output.txt of its folder"
    assert (found[0].failure, found[1].failure) == (reason, None)
    row = stored(store, specs[0])
    assert row is not None and row == found[0].row
    assert (row.status, row.reason) == ("failed", reason)
    assert (store.run_folder(specs[0].run) / OUTPUT).exists()


def test_a_failure_that_cannot_be_stored_is_told(tmp_path: Path) -> None:
    store, specs = Store(tmp_path), [talr(0)]
    with killer(store, specs[0], 3) as killed:
        found = outcomes(specs, store, Plan(jobs=2))
    if len(killed) == 3:  # else the row was stored before the process was found
        assert found[0].row is None
        assert "; no row could be stored: the worker was ended by SIGKILL" in str(found[0].failure)
    assert str(found[0].failure).startswith("the worker was ended by SIGKILL: out of memory?, 2 times;")


def test_a_run_that_takes_too_long_is_ended_and_stored_as_failed(tmp_path: Path) -> None:
    store, specs = Store(tmp_path), [talr(0, epochs=10**6), talr(1, epochs=1)]
    found = outcomes(specs, store, Plan(jobs=1, timeout_s=20))
    assert found[1].failure is None
    assert str(found[0].failure).startswith("it took longer than 0.333333 minutes (--timeout); what it printed")
    row = stored(store, specs[0])
    assert row is not None and row.reason == found[0].failure


def test_a_run_that_another_process_executes_is_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its row is taken, and the others do not wait."""
    from hashbench.runs.lock import locked_folder

    store, specs = Store(tmp_path), [talr(0, 1), talr(1, 1)]
    theirs = row_of(specs[0], Store(tmp_path / "others"), Options(device="cpu"))
    let_go = Event()

    def hold() -> None:
        with locked_folder(store.run_folder(specs[0].run), wait=True):
            let_go.wait()
            store.write(theirs)

    thread = Thread(target=hold)
    thread.start()
    assert until((store.run_folder(specs[0].run) / HOLDER).exists)
    ended = []
    for outcome in run_all(specs, Execution(store, Options(device="cpu")), Plan(jobs=2)):
        ended.append(outcome)
        let_go.set()
    thread.join()
    assert [each.spec.seed for each in ended] == [1, 0]
    assert ended[1].row == theirs
