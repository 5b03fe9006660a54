"""A grid in several processes: nothing outlives it, and several grids at once share the work."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.waiting import lives, until

from hashbench.grid import execute
from hashbench.grid.execute import Execution
from hashbench.grid.local import run_all
from hashbench.runs.guard import row_of
from hashbench.runs.lock import HOLDER, LOCK
from hashbench.runs.options import Options
from hashbench.runs.run import Run
from hashbench.runs.store import Store

GRID = """
import signal, sys
from pathlib import Path
from hashbench.runs.options import Options
from hashbench.runs.run import Run
from hashbench.runs.store import Store
from hashbench.grid.execute import Execution
from hashbench.grid.local import Plan, run_all
specs = [Run.resolve("digits", "s1", "talr_ap", {"bits": 8, "epochs": 10**6}, seed=seed) for seed in range(3)]
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    how = Execution(Store(Path(sys.argv[1])), Options(device="cpu", checkpoint_every_s=1e9))
    list(run_all(specs, how, Plan(jobs=2)))
except KeyboardInterrupt:
    sys.exit(130)
"""


def lsh(seed: int = 0) -> Run:
    return Run.resolve("digits", "s1", "lsh", {"bits": 16}, seed=seed)


def workers(store: Path) -> list[int]:
    """The processes that train at the moment."""
    found = [re.match(r"process (\d+) ", path.read_text()) for path in store.glob(f"runs/*/{HOLDER}")]
    return [int(match[1]) for match in found if match]


@pytest.fixture
def two_workers(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", list[int]]]:
    """A grid whose two workers train and would not come to an end, and the numbers of these."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc to see which processes live")
    command = [sys.executable, "-c", GRID, str(tmp_path)]
    grid_process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert until(lambda: len(workers(tmp_path)) == 2)
        yield grid_process, workers(tmp_path)
    finally:
        for process in (grid_process.pid, *workers(tmp_path)):
            if lives(process):
                os.kill(process, signal.SIGKILL)
        grid_process.communicate()


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
    _, said = parent.communicate(timeout=60)
    assert (parent.returncode, said) == (130, "")
    assert until(lambda: not any(map(lives, children)), 30)


def test_a_grid_that_ends_warns_of_nothing(tmp_path: Path) -> None:
    short = GRID.replace('"talr_ap", {"bits": 8, "epochs": 10**6}', '"lsh", {"bits": 8}')
    done = subprocess.run([sys.executable, "-c", short, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert len(list(tmp_path.glob("rows/*/*.json"))) == 3


def test_runs_of_other_processes_come_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that several grids at once share the work; the rows that the others stored are taken."""
    store, others = Store(tmp_path), Store(tmp_path / "others")
    held = {lsh(seed).run for seed in (0, 2)}
    monkeypatch.setattr(execute, "is_held", lambda spec, _store: spec.run in held)
    stored = {spec.run: row_of(spec, others) for spec in map(lsh, (0, 2))}
    ended = []
    for outcome in run_all([lsh(seed) for seed in range(4)], Execution(store, Options())):
        ended.append(outcome.spec.seed)
        if len(ended) == 2:
            for row in stored.values():
                store.write(row)
        assert outcome.failure is None
        if outcome.spec.run in held:
            assert outcome.row == stored[outcome.spec.run]
    assert ended == [1, 3, 0, 2]
    assert (store.run_folder(lsh(1).run) / LOCK).exists()
    assert not (store.run_folder(lsh(0).run) / LOCK).exists()
