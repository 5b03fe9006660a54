"""What fills a cell, and what never may."""

from pathlib import Path
from statistics import stdev
from typing import Any

import numpy as np
import pytest
from support.fake_rows import fake_hash, fake_row, sample_spec
from support.one_line import one_line

from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring.histogram import Histogram
from hashbench.showing.tables.cell import Cell
from hashbench.showing.tables.cell_runs import cell_hash
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.spec import TableSpec, load
from hashbench.showing.tables.table import Measured, TableCell


def one_cell(**keys: Any) -> TableSpec:
    cell = {"label": "LSH", "method": "lsh", "values": [0.5]}
    defaults = {"dataset": "digits", "protocol": "s1", "metric": "ap", "tolerance": 0.02, "settings": {"bits": 2}}
    groups = [{"columns": [{"label": "2 bits"}], "rows": [cell]}]
    return sample_spec(defaults={**defaults, **keys}, groups=groups)


def measured(spec: TableSpec, rows: list[Row], store: Store | None = None) -> Measured | None:
    (filled,) = collect(spec, rows, store, hash_of=fake_hash).cells()
    return filled.measured


def rows_of(spec: TableSpec, *means: float | None, **more: Any) -> list[Row]:
    return [fake_row(spec.cells[0], seed, ap=mean, **more) for seed, mean in enumerate(means)]


def test_mean_and_sample_deviation_are_over_seeds() -> None:
    spec = one_cell()
    found = measured(spec, rows_of(spec, 0.5, 0.6, 0.8))
    assert found is not None
    assert found.mean == pytest.approx(1.9 / 3)
    assert found.std == pytest.approx(stdev([0.5, 0.6, 0.8]))
    assert found.n_seeds == 3


def test_failed_rows_and_null_means_never_count() -> None:
    spec = one_cell()
    rows = [*rows_of(spec, 0.5, None), fake_row(spec.cells[0], 7, status="failed", ap=0.9)]
    assert measured(spec, rows) == Measured(0.5, None, 1)
    assert measured(spec, rows[1:]) is None


def test_rows_of_other_cells_never_count() -> None:
    spec = one_cell()
    others = [one_cell(settings={"bits": 4}), one_cell(protocol="s2"), one_cell(dataset="cifar10")]
    assert measured(spec, [row for other in others for row in rows_of(other, 0.9)]) is None


@pytest.mark.parametrize("evaluation", ["test", "weighted", "asymmetric"])
def test_cell_of_another_evaluation_takes_no_value_of_the_unweighted_search(evaluation: str) -> None:
    spec = one_cell(evaluation=evaluation)
    (row,) = rows_of(spec, 0.5, metric=0.5)
    assert measured(spec, [row]) is None
    held = row.model_copy(update={"searches": {evaluation: row.metrics}})
    assert measured(spec, [held]) == Measured(0.5, None, 1)
    assert measured(one_cell(), [held]) is None


def test_a_budget_that_stands_in_is_said_and_has_rows_of_its_own() -> None:
    declared = load("sparse_hash_table1@smoke")
    assert {cell.budget for cell in declared.cells} == {"smoke"}
    assert {cell.tolerance for cell in declared.cells} == {None}
    table = collect(declared, [], None)
    assert table.name == "sparse_hash_table1_smoke"
    assert table.title == "Triplet network on CIFAR-100, on the schedule smoke"
    assert "Measured on the schedule smoke, which is not that of the published figures." in table.notes
    assert any(note.startswith("Sparse hash on the schedule smoke: 300 iterations") for note in table.notes)
    own = {cell.row: cell_hash(cell) for cell in load("sparse_hash_table1").cells}
    assert not set(own.values()) & {cell_hash(cell) for cell in declared.cells}


def test_a_budget_that_a_method_does_not_have_is_one_line() -> None:
    with one_line("unknown budget of DPSH 'smoke': one of full"):
        load("cifar10_small_cnn@smoke")


@pytest.mark.parametrize("metric", ["suff", "ap@0", "ap(norm=min)"])
def test_cell_with_a_metric_that_does_not_exist_is_an_error(metric: str) -> None:
    spec = one_cell(metric=metric)
    with one_line("metric"):
        measured(spec, rows_of(spec, 0.5))


def test_metric_is_found_by_its_canonical_name() -> None:
    spec = one_cell(metric="AP(norm=all)@5")
    assert measured(spec, rows_of(spec, 0.1, **{"ap@5": 0.4})) == Measured(0.4, None, 1)


def test_interval_is_the_mean_over_seeds_of_worst_and_best_ap() -> None:
    spec = one_cell()
    rows = [fake_row(spec.cells[0], 0, ap=0.5, ap_worst=0.4, ap_best=0.6), *rows_of(spec, 0.5)]
    rows[1] = fake_row(spec.cells[0], 1, ap=0.5, ap_worst=0.2, ap_best=0.9)
    found = measured(spec, rows)
    assert found is not None
    assert found.worst == pytest.approx(0.3)
    assert found.best == pytest.approx(0.75)


def test_interval_belongs_to_ap_alone() -> None:
    spec = one_cell(metric="ndcg")
    assert measured(spec, rows_of(spec, 0.5, ndcg=0.7, ap_worst=0.1, ap_best=0.9)) == Measured(0.7, None, 1)


@pytest.mark.parametrize(
    "worst, best, expected", [(0.5, 0.6, False), (0.6, 0.7, False), (0.5, 0.601, True), (0.15, 0.79, True)]
)
@pytest.mark.parametrize("metric", ["ap", "ap(norm=retrieved)@5"])
def test_a_cell_is_tie_dependent_if_worst_and_best_ap_lie_more_than_a_tenth_apart(
    metric: str, worst: float, best: float, expected: bool
) -> None:
    spec = one_cell(metric=metric)
    found = measured(spec, rows_of(spec, 0.5, 0.5, metric=0.5, ap_worst=worst, ap_best=best))
    assert found is not None and found.is_tie_dependent is expected
    assert (found.worst is None) == (metric != "ap")


def test_distinct_codes_are_the_means_of_the_rows_and_unknown_if_one_row_has_none() -> None:
    spec = one_cell()
    rows = [fake_row(spec.cells[0], seed, ap=0.5, distinct_codes=(seed + 2, 10)) for seed in range(3)]
    found = measured(spec, rows)
    assert found is not None
    assert found.distinct_queries == 3
    assert found.distinct_database == 10
    found = measured(spec, [*rows, fake_row(spec.cells[0], 3, ap=0.5)])
    assert found is not None
    assert found.distinct_queries is None
    assert found.distinct_database is None


def test_rows_of_other_splits_do_not_count() -> None:
    spec = one_cell()
    means = {(0, None): 0.5, (1, None): 0.6, (0, 1): 0.7, (0, 2): 0.9}
    rows = [fake_row(spec.cells[0], seed, split_seed=split, ap=mean) for (seed, split), mean in means.items()]
    assert measured(spec, rows) == Measured(0.55, stdev([0.5, 0.6]), 2)


def test_of_a_table_whose_repeats_are_splits_seed_r_counts_on_split_r() -> None:
    spec = one_cell().model_copy(update={"repeats": "splits"})
    of_repeats = {(0, None): 0.5, (1, 1): 0.7, (3, 3): 0.9}
    others = {(1, None): 0.1, (0, 1): 0.1, (2, 1): 0.1, (5, 5): 0.1}
    stored = (of_repeats | others).items()
    rows = [fake_row(spec.cells[0], seed, split_seed=split, ap=mean) for (seed, split), mean in stored]
    found = measured(spec, rows)
    assert found is not None and found.mean == pytest.approx(0.7) and found.std == pytest.approx(0.2)
    assert found.n_splits == 3
    assert found.n_seeds == 1
    assert found.n_runs == 3
    assert not found.lacks_splits


def test_without_rows_of_further_splits_all_seeds_of_the_first_are_shown_and_nothing_is_claimed() -> None:
    spec = one_cell().model_copy(update={"repeats": "splits"})
    other_pairs = [fake_row(spec.cells[0], 0, split_seed=1, ap=0.9)]  # seed 0 on split 1 is no repeat
    found = measured(spec, rows_of(spec, 0.5, 0.6) + other_pairs)
    assert found == Measured(0.55, stdev([0.5, 0.6]), 2, lacks_splits=True)


def test_repeats_of_a_split_that_is_given_are_its_seeds() -> None:
    spec = one_cell(dataset="cifar10", protocol="s2_official").model_copy(update={"repeats": "splits"})
    found = measured(spec, rows_of(spec, 0.5, 0.6))
    assert found is not None
    assert found.n_seeds == 2
    assert found.lacks_splits is True


def test_two_cells_at_one_place_are_refused() -> None:
    row = {"label": "LSH", "method": "lsh"}
    group = {"columns": [{"label": "a"}], "rows": [row, row]}
    spec = sample_spec(groups=[group])
    with one_line("two cells at row 'LSH', column 'a'"):
        collect(spec, [], None, hash_of=fake_hash)


# a query: one relevant item at distance 0, then a tie of a relevant and an irrelevant one at distance 1
COUNTS = np.array([[[0, 1], [1, 1], [0, 0]]], np.int64)


def kept(tmp_path: Path, spec: TableSpec, sha256: str | None = None) -> tuple[list[Row], Store]:
    store = Store(tmp_path)
    histogram = Histogram(COUNTS, np.array([0, 1]))
    row = rows_of(spec, 0.5)[0].model_copy(update={"artefacts": {"histogram": sha256 or histogram.sha256()}})
    histogram.save(store.run_folder(row.run) / "histogram.npz")
    return [row], store


def test_metric_that_the_row_lacks_comes_from_the_kept_histogram(tmp_path: Path) -> None:
    spec = one_cell(metric="precision@2")
    assert measured(spec, *kept(tmp_path, spec)) == Measured(0.75, None, 1)


def test_interval_that_the_row_lacks_comes_from_the_kept_histogram(tmp_path: Path) -> None:
    spec = one_cell()
    found = measured(spec, *kept(tmp_path, spec))
    assert found is not None
    assert found.mean == 0.5
    assert found.worst == pytest.approx((1 + 2 / 3) / 2)
    assert found.best == 1.0


def test_histogram_with_another_checksum_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spec = one_cell(metric="precision@2")
    assert measured(spec, *kept(tmp_path, spec, sha256="0" * 64)) is None
    assert "SHA-256 differs" in caplog.text


@pytest.mark.parametrize("keep", [0, 10, 200])
def test_damaged_histogram_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture, keep: int) -> None:
    spec = one_cell(metric="precision@2")
    rows, store = kept(tmp_path, spec)
    path = store.run_folder(rows[0].run) / "histogram.npz"
    path.write_bytes(path.read_bytes()[:keep])
    assert measured(spec, rows, store) is None
    assert "not a readable histogram" in caplog.text


def test_no_kept_histogram_leaves_the_cell_blank(tmp_path: Path) -> None:
    spec = one_cell(metric="precision@2")
    assert measured(spec, rows_of(spec, 0.5), Store(tmp_path)) is None
    assert measured(spec, rows_of(spec, 0.5), None) is None


def cell_with(published: float | None, mean: float | None, tolerance: float | None) -> TableCell:
    declared: Cell = one_cell().cells[0].model_copy(update={"published": published, "tolerance": tolerance})
    return TableCell(declared, None if mean is None else Measured(mean, None, 1))


@pytest.mark.parametrize(
    "published, mean, tolerance, verdict",
    [
        (0.73, 0.75, 0.02, True),  # the boundary, though 0.75 - 0.73 > 0.02 in binary
        (0.73, 0.7501, 0.02, False),
        (0.73, 0.70, 0.02, False),
        (0.73, 0.73, 0.0, True),
        (0.0, 0.5, 0.02, False),
        (None, 0.75, 0.02, None),
        (0.73, None, 0.02, None),
        (0.73, 0.75, None, None),
    ],
)
def test_tolerance(published: float | None, mean: float | None, tolerance: float | None, verdict: bool | None) -> None:
    assert cell_with(published, mean, tolerance).within_tolerance is verdict


def test_a_cell_is_filled_by_the_runs_of_its_names_settings_and_budget() -> None:
    for table, budget in (("digits", "full"), ("sparse_hash_table1", "smoke")):
        cell = load(table if budget == "full" else f"{table}@{budget}").cells[-1]
        names = cell.dataset, cell.protocol, cell.method
        assert cell.budget == budget
        assert cell_hash(cell) == Run.resolve(*names, cell.settings, budget=budget).name.cell_hash
        assert cell_hash(cell) == Run.resolve(*names, cell.settings, budget=budget, seed=7).name.cell_hash


def test_a_cell_holds_the_rows_behind_its_mean_in_the_order_of_seeds() -> None:
    spec = one_cell()
    rows = rows_of(spec, 0.1, 0.2, None)  # the third does not hold the metric
    found = measured(spec, rows[::-1])
    assert found is not None and found.rows == (rows[0], rows[1])


def elsewhere(**keys: Any) -> tuple[TableSpec, Cell]:
    """A table of one cell whose method is not installed here."""
    spec = one_cell(**keys)
    spec = spec.model_copy(update={"not_installed": ["lsh"]})
    return spec, spec.cells[0]


def made_with(cell: Cell, ap: float, bits: int = 2, **more: Any) -> Row:
    """A row of this method as it was made where the method is: it declares ``features``, which no cell states."""
    return fake_row(cell.model_copy(update={"settings": {"bits": bits, "features": "pixels", **more}}), ap=ap)


def test_without_its_method_a_cell_has_the_row_of_its_names_and_settings() -> None:
    spec, cell = elsewhere()
    own = made_with(cell, 0.5)
    others = [made_with(cell, 0.6, skip=2), made_with(cell, 0.7, bits=4), made_with(cell, 0.8, bits=4, skip=2)]
    others += [own.model_copy(update={"protocol": "s2", "cell_hash": "other"})]
    found = measured(spec, [*others, own])
    assert found is not None
    assert found.mean == 0.5
    assert found.n_runs == 1
    assert measured(spec, others) is None


def test_without_its_method_a_cell_is_blank_where_two_rows_fit_or_one_may_not() -> None:
    spec, cell = elsewhere()
    stale = made_with(cell, 0.6)
    stale = stale.model_copy(update={"cell_hash": "of other files"})
    assert measured(spec, [made_with(cell, 0.5), stale]) is None
    assert (
        measured(elsewhere(recipe="our_defaults")[0], [made_with(cell, 0.5)]) is None
    )  # its values are not known here


def test_a_method_that_is_not_installed_is_named_with_its_package() -> None:
    spec, cell = elsewhere()
    row = made_with(cell, 0.5).model_copy(update={"versions": {"numpy": "2", "their-hashing": "1.2"}})
    *_, note = collect(spec, [row], None, hash_of=fake_hash).notes
    assert note == (
        "Method lsh is not installed here (their-hashing 1.2 brings it): its cells show the rows that have their names "
        "and settings."
    )
