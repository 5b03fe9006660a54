"""JSON: the cells of a table with numbers that are not rounded."""

from support.fake_rows import assert_golden, sample_table

from hashbench.foundation.config import canonical_json
from hashbench.tables.sheet import values_of


def test_golden() -> None:
    assert_golden("sample.json", canonical_json(values_of(sample_table())) + "\n")


def test_a_cell_has_its_runs_and_the_interval_of_its_mean() -> None:
    first, second = values_of(sample_table())["sections"][0]["cells"][:2]
    assert len(first["runs"]) == first["n_runs"] == 3
    low, high = first["ci95"]
    assert low < first["measured"] < high
    assert len(second["runs"]) == 1
    assert second["ci95"] is None
