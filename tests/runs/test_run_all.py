"""Many runs: all are executed, whatever dies or hangs; nothing is lost or stored twice, and nothing outlives them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
from support.dying import Doomed
from support.on_digits import on_digits
from support.stored_toy import small_images
from support.waiting import lives, until

from hashbench.foundation.execution import Execution
from hashbench.running.jobs import follow
from hashbench.running.jobs.task import AUTO
from hashbench.running.runs import run_all as running
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.run_all import Outcome, Plan, run_all
from hashbench.running.runs.store import HOLDER, OUTPUT, Store

KILLED = "the worker was ended by SIGKILL: out of memory?"
HERE = Plan()
WHERE = "; what it printed is in output.txt of its folder"


@pytest.fixture(autouse=True)
def toy(tmp_path: Path) -> None:
    small_images(tmp_path / "root")


def lsh(seed: int = 0) -> Run:
    return Run.resolve("toy", "s1", "lsh", {"bits": 16}, seed=seed)


def outcomes(specs: list[Run], store: Store, plan: Plan = HERE) -> dict[int, Outcome]:
    """How each run ended, by its seed, in the order in which they ended; each ends once."""
    ended = list(run_all(specs, store, Execution(device="cpu"), plan))
    assert sorted(entry.spec.name.seed for entry in ended) == sorted(spec.name.seed for spec in specs)
    return {entry.spec.name.seed: entry for entry in ended}


def test_all_are_executed_in_any_number_of_processes(tmp_path: Path) -> None:
    specs = [lsh(seed) for seed in range(3)]
    alone = row_of(specs[0], Store(tmp_path / "alone"))
    for jobs in (1, 2, AUTO):
        store = Store(tmp_path / str(jobs))
        row_of(specs[1], store)
        results = outcomes(specs, store, Plan(jobs))
        for spec in specs:
            assert results[spec.name.seed].row is not None
            assert store.find("toy", "s1", str(spec.name)) == results[spec.name.seed].row
        row = results[0].row
        assert row is not None
        assert row.searches == alone.searches
        assert row.artefacts == alone.artefacts
    assert list(run_all([], store, Execution())) == []


def test_one_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    store = Store(tmp_path)
    too_long = Run.resolve("toy", "s1", "itq", {"bits": 96}, seed=1)
    no_data = Run.resolve("cifar10", "s1", "lsh", {"bits": 8}, seed=2)
    results = outcomes([too_long, no_data, lsh()], store)
    assert results[0].failure is None
    assert results[1].failure == "96 bits from 64 features: at most 64 bits"
    assert results[2].row is None and "hashbench download cifar10" in str(results[2].failure)
    assert store.find("toy", "s1", str(too_long.name)) is None  # wrong usage, not a result


def test_a_training_that_fails_is_stored_as_failed(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    store = Store(tmp_path)
    wild = on_digits("dpsh", {"bits": 8, "lr": 1e30})
    results = outcomes([wild], store)[0]
    assert results.row is not None and store.find("digits", "s1", str(wild.name)) == results.row
    assert "smaller lr" in str(results.failure)


def test_runs_whose_workers_die_or_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One is tried again, one is stored as failed, of one no row can be stored, and one is ended after a while."""
    monkeypatch.setattr(running, "RunTask", Doomed)
    store = Store(tmp_path / "many")
    specs = [lsh(seed) for seed in range(5)]
    store.folder.mkdir()
    for seed, deaths in {0: "endless", 1: "1", 2: "2", 3: "3"}.items():  # the endless one first: others run beside it
        (store.folder / f"deaths-{seed}").write_text(deaths)
    results = outcomes(specs, store, Plan(jobs=2, timeout_s=12))
    reasons = {2: f"{KILLED}, 2 times{WHERE}", 0: f"it took longer than 0.2 minutes (--timeout){WHERE}"}
    for seed in (0, 1, 2, 4):
        row = store.find("toy", "s1", str(specs[seed].name))
        assert row is not None and row == results[seed].row
        assert row.reason == reasons.get(seed)
        assert row.status == ("failed" if seed in reasons else "ok")
    alone = row_of(specs[1], Store(tmp_path / "alone"), Execution(device="cpu"))
    assert results[1].row is not None and results[1].row.artefacts["histogram"] == alone.artefacts["histogram"]
    assert results[3].row is None and store.find("toy", "s1", str(specs[3].name)) is None
    assert results[3].failure == f"{KILLED}, 2 times{WHERE}; no row could be stored: {KILLED}, 3 times"
    notes = capsys.readouterr().err.splitlines()
    assert sorted(notes) == [f"note: {specs[seed].name}: {KILLED}: it is tried again" for seed in (1, 2, 3)]
    assert (store.run_folder(str(specs[2].name)) / OUTPUT).exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_another_process_executes_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    """Its row is taken, and the others do not wait."""
    monkeypatch.setattr(follow, "POLL_S", 0.1)
    store = Store(tmp_path)
    specs = [lsh(0), lsh(1), lsh(2)]
    theirs = row_of(specs[0], Store(tmp_path / "others"), Execution(device="cpu"))
    let_go = Event()

    def hold() -> None:
        with store.run_lock(str(specs[0].name), wait=True):
            let_go.wait()
            store.write(theirs)

    thread = Thread(target=hold)
    thread.start()
    assert until((store.run_folder(str(specs[0].name)) / HOLDER).exists)
    ended = []
    for outcome in run_all(specs, store, Execution(device="cpu"), Plan(jobs)):
        ended.append(outcome)
        if len(ended) == 2:
            let_go.set()
    thread.join()
    assert ended[-1].spec == specs[0] and ended[-1].row == theirs
    assert sorted(entry.spec.name.seed for entry in ended) == [0, 1, 2]


MANY = """
import signal, sys
from pathlib import Path
from support.dying import Doomed
from hashbench.running.runs import run_all as running
from hashbench.foundation.execution import Execution
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
running.RunTask = Doomed
signal.signal(signal.SIGINT, signal.default_int_handler)
if __name__ == "__main__":
    specs = [Run.resolve("digits", "s1", "lsh", {"bits": 16}, seed=seed) for seed in range(3)]
    try:
        list(running.run_all(specs, Store(Path(sys.argv[1])), Execution(device="cpu"), running.Plan(jobs=2)))
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.fixture
def two_workers(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", list[int]]]:
    """A process whose two workers would not come to an end, and the numbers of these."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc to see which processes live")
    for seed in range(3):
        (tmp_path / f"deaths-{seed}").write_text("endless")

    def workers() -> list[int]:
        return [int(path.name) for path in tmp_path.iterdir() if path.name.isdecimal()]

    command = [sys.executable, "-c", MANY, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[1:3]))}
    parent = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment)
    try:
        assert until(lambda: len(workers()) == 2)
        yield parent, workers()
    finally:
        for process in (parent.pid, *workers()):
            if lives(process):
                os.kill(process, signal.SIGKILL)
        parent.communicate()


def test_workers_end_with_a_parent_that_is_killed(two_workers: tuple["subprocess.Popen[str]", list[int]]) -> None:
    parent, children = two_workers
    assert all(map(lives, children))
    parent.kill()
    assert until(lambda: not any(map(lives, children)), 30)


def test_an_interrupt_ends_the_workers_without_a_warning(
    two_workers: tuple["subprocess.Popen[str]", list[int]],
) -> None:
    """Of the whole group, as Ctrl-C in a terminal sends it."""
    parent, children = two_workers
    os.killpg(parent.pid, signal.SIGINT)
    _, message = parent.communicate(timeout=60)
    assert parent.returncode == 130
    assert message == ""
    assert until(lambda: not any(map(lives, children)), 30)
