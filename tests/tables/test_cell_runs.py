"""The runs of a table: which they are, and what is stored of them."""

from pathlib import Path

import pytest
from support.fake_rows import row_of_run
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.running.datasets.protocol import nth_seed
from hashbench.running.runs.past import Past
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.showing.tables import spec
from hashbench.showing.tables.cell_runs import cell_runs, run_of, sort_out
from hashbench.showing.tables.status import table_status


def lsh(seed: int = 0) -> Run:
    return on_digits("lsh", {"bits": 16}, seed=seed)


def test_the_grid_of_a_table_is_its_distinct_runs() -> None:
    digits = cell_runs(spec.load("digits"), seeds=2)
    assert len({str(run.name) for needed in digits for run in needed.runs}) == 8 * 4 * 2
    waits = spec.load("digits").model_copy(update={"not_installed": ["lsh"]})
    reasons = {(needed.cell.method, needed.unavailable) for needed in cell_runs(waits, seeds=1)}
    assert ("lsh", "needs method lsh, which is not installed here") in reasons
    assert ("itq", None) in reasons


def test_a_column_of_asymmetric_distances_asks_it_of_the_runs_of_its_cells(tmp_path: Path) -> None:
    digits = spec.load("digits")
    asked = {cell.run_key for cell in digits.cells[:3]}
    more = [cell.model_copy(update={"column": "more", "evaluation": "asymmetric"}) for cell in digits.cells[:3]]
    runs = cell_runs(digits.model_copy(update={"cells": [*digits.cells, *more]}), seeds=2)
    assert [str(run.name) for each in runs for run in each.runs] == [
        str(run.name) for each in cell_runs(digits, seeds=2) for run in each.runs
    ]
    assert all(run.asymmetric == (each.cell.run_key in asked) for each in runs for run in each.runs)
    run = lsh().with_asymmetric()
    store = Store(tmp_path)
    row = row_of_run(run, ap=0.5)
    store.write(row)
    assert sort_out([run], store).missing == [run]
    assert sort_out([lsh()], store).measured == [lsh()]
    store.write(row.model_copy(update={"searches": {"asymmetric": row.metrics}}))
    assert sort_out([run], store).measured == [run]
    assert store.find("digits", "s1", row.run).searches == {"database": row.metrics, "asymmetric": row.metrics}
    with one_line("is written once"):
        store.write(row)


def test_a_stored_run_without_the_search_that_is_asked_for_is_missing() -> None:
    digits = spec.load("digits")
    cell = next(cell for cell in digits.cells if cell.method == "lsh")
    asked = digits.model_copy(update={"cells": [cell.model_copy(update={"evaluation": "asymmetric"})]})
    row = row_of_run(run_of(cell), ap=0.5)
    for searches, done in ((row.searches, 0), ({**row.searches, "asymmetric": row.metrics}, 1)):
        held = row.model_copy(update={"searches": searches})
        counts = table_status(asked, {row.run: held}, Past.of([])).counts()
        assert counts["done"] == done
        assert counts["missing"] == 1 - done


def test_runs_are_sorted_by_what_is_stored_of_them(tmp_path: Path) -> None:
    runs = [lsh(seed) for seed in range(5)]
    store = Store(tmp_path)
    store.write(row_of_run(runs[1], ap=0.5))
    for failed in (runs[2], runs[4]):
        store.write(row_of_run(failed, "failed"))
    found = sort_out(runs, store)
    assert found.measured == [runs[1]]
    assert found.failed == [runs[2], runs[4]]
    assert found.missing == [runs[0], runs[3]]


@pytest.mark.parametrize("name", ["cifar10_s1_lite0", "digits"])
def test_a_run_on_another_split_is_the_one_that_is_resolved_on_it(name: str) -> None:
    """Cells with and without a base run."""
    for cell in {(cell.method, cell.section): cell for cell in spec.load(name).cells}.values():
        for split in (None, nth_seed(cell.card.protocol(cell.protocol), 1)):
            stated = {"budget": cell.budget, "recipe": cell.recipe, "split_seed": split}
            resolved = Run.resolve(cell.dataset, cell.protocol, cell.method, cell.settings, **stated)
            run = run_of(cell, split)
            assert str(run.name) == str(resolved.name)
            assert run.protocol == resolved.protocol
            assert (run.base and str(run.base.name)) == (resolved.base and str(resolved.base.name))
