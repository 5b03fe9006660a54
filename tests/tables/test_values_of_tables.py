"""JSON: the cells of a table with numbers that are not rounded."""

from support.fake_rows import assert_golden, sample_table

from hashbench.foundation.config import canonical_json
from hashbench.showing.tables.sheet import values_of


def test_golden() -> None:
    assert_golden("sample.json", canonical_json(values_of(sample_table())) + "\n")
