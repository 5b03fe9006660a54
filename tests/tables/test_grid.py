"""The runs of a table: which they are, which are missing, and all of them run, whether one fails or not."""

from pathlib import Path

from hashbench.runs.options import Options
from hashbench.runs.run import run
from hashbench.runs.spec import RunSpec, resolve
from hashbench.runs.store import Store
from hashbench.tables import spec
from hashbench.tables.grid import cell_runs, missing, run_all


def lsh(seed: int = 0) -> RunSpec:
    return resolve("digits", "s1", "lsh", {"bits": 16}, seed=seed)


def test_the_grid_of_a_table_is_its_distinct_runs() -> None:
    digits = cell_runs(spec.load("digits"), seeds=2)
    assert [each.unavailable for each in digits] == [None] * 32
    assert len({e.run for each in digits for e in each.runs}) == 8 * 4 * 2
    talr = cell_runs(spec.load("talr_table1"), seeds=1)
    assert {each.cell.method for each in talr if each.runs} == {
        *("bre", "fasthash", "machash", "structhash"),
        *("dpsh", "dtsh", "mihash", "talr_ap"),
    }
    digits_spec = spec.load("digits")
    waits = digits_spec.model_copy(update={"to_come": {**digits_spec.to_come, "method": ["lsh"]}})
    reasons = {(each.cell.method, each.unavailable) for each in cell_runs(waits, seeds=1)}
    assert ("lsh", "needs method lsh, still to come") in reasons
    assert ("itq", None) in reasons


def test_a_grid_runs_what_is_missing_in_any_number_of_processes(tmp_path: Path) -> None:
    cells = [lsh(seed) for seed in range(3)]
    store = Store(tmp_path)
    run(cells[1], store)
    todo = missing(cells, store)
    assert todo == [cells[0], cells[2]]
    rows = {outcome.spec.run: outcome.row for outcome in run_all(todo, store, Options(), jobs=2)}
    assert set(rows) == {cell.run for cell in todo}
    assert missing(cells, store) == []
    alone = run(cells[0], Store(tmp_path / "alone"))
    assert alone.metrics == rows[cells[0].run].metrics
    assert alone.histogram_sha256 == rows[cells[0].run].histogram_sha256


def test_a_cell_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    store = Store(tmp_path)
    too_long = resolve("digits", "s1", "itq", {"bits": 96})
    outcomes = list(run_all([too_long, lsh()], store, Options(), jobs=1))
    assert [bool(outcome.failure) for outcome in outcomes] == [True, False]
    assert outcomes[0].failure == "96 bits from 64 principal components: at most 64 bits"
    assert store.find("digits", "s1", too_long.run) is None  # wrong usage, not a result
    wild = resolve("digits", "s1", "dpsh", {"bits": 8, "lr": 1e30})
    (outcome,) = run_all([wild], store, Options(), jobs=1)
    assert outcome.row is not None
    assert store.find("digits", "s1", wild.run) == outcome.row
    assert "smaller lr" in str(outcome.failure)
    missing_data = resolve("cifar10", "s1", "lsh", {"bits": 8})
    (outcome,) = run_all([missing_data], store, Options(), jobs=1)
    assert outcome.row is None
    assert "hashbench download cifar10" in str(outcome.failure)
