"""Runs of a grid: all are executed, whether one fails or not."""

from pathlib import Path

import pytest

from hashbench.grid.execute import OUTPUT, Execution
from hashbench.grid.local import Plan, run_all
from hashbench.runs.guard import row_of
from hashbench.runs.options import Options
from hashbench.runs.run import Run
from hashbench.runs.store import Store


def lsh(seed: int = 0) -> Run:
    return Run.resolve("digits", "s1", "lsh", {"bits": 16}, seed=seed)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_grid_runs_in_any_number_of_processes(tmp_path: Path, jobs: int) -> None:
    cells = [lsh(seed) for seed in range(3)]
    store = Store(tmp_path)
    row_of(cells[1], store)
    rows = {outcome.spec.run: outcome.row for outcome in run_all(cells, Execution(store, Options()), Plan(jobs))}
    assert set(rows) == {cell.run for cell in cells}
    assert all(store.find("digits", "s1", cell.run) == rows[cell.run] for cell in cells)
    alone = row_of(cells[0], Store(tmp_path / "alone"))
    assert alone.metrics == rows[cells[0].run].metrics
    assert alone.histogram_sha256 == rows[cells[0].run].histogram_sha256


def test_a_cell_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    store = Store(tmp_path)
    too_long = Run.resolve("digits", "s1", "itq", {"bits": 96})
    outcomes = list(run_all([too_long, lsh()], Execution(store, Options())))
    assert [bool(outcome.failure) for outcome in outcomes] == [True, False]
    assert outcomes[0].failure == "96 bits from 64 principal components: at most 64 bits"
    assert store.find("digits", "s1", too_long.run) is None  # wrong usage, not a result
    wild = Run.resolve("digits", "s1", "dpsh", {"bits": 8, "lr": 1e30})
    (outcome,) = run_all([wild], Execution(store, Options()))
    assert outcome.row is not None
    assert store.find("digits", "s1", wild.run) == outcome.row
    assert "smaller lr" in str(outcome.failure)
    missing_data = Run.resolve("cifar10", "s1", "lsh", {"bits": 8})
    (outcome,) = run_all([missing_data], Execution(store, Options()))
    assert outcome.row is None
    assert "hashbench download cifar10" in str(outcome.failure)


@pytest.mark.slow
def test_a_run_can_have_several_processes(tmp_path: Path) -> None:
    """torchrun starts them; a method that trains in one process has one."""
    pytest.importorskip("torch")
    store = Store(tmp_path)
    specs = [Run.resolve("digits", "s1", "talr_ap", {"bits": 8, "epochs": 2}), lsh()]
    found = {each.spec.method: each for each in run_all(specs, Execution(store, Options(device="cpu"), 2), Plan(2))}
    assert [each.failure for each in found.values()] == [None, None]
    row = found["talr_ap"].row
    assert row is not None and row.arithmetic is not None and row.arithmetic.processes == 2
    assert store.find("digits", "s1", specs[0].run) == row
    assert (store.run_folder(lsh().run) / OUTPUT).exists()
