"""A row holds how many distinct codes its queries and its database have; every view of the row shows them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.on_digits import on_digits

from hashbench.running.runs.guard import row_of
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import files, pack
from hashbench.scoring.codes.distinct import DistinctCodes, count_distinct


def distinct_of(path: Path) -> DistinctCodes:
    """The distinct codes of a file, counted one by one."""
    saved = files.load(path)
    query, database = (len(set(map(bytes, codes.bits()))) for codes in (saved.query, saved.database))
    return DistinctCodes(queries=query, database=database)


@given(st.integers(0, 1000), st.sampled_from([1, 64, 65, 130]), st.integers(0, 40))
def test_distinct_codes_are_those_of_a_set(seed: int, n_bits: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (3, n_bits), np.uint8)[rng.integers(0, 3, n)]
    assert count_distinct(pack(bits).words) == len(set(map(bytes, bits)))


@pytest.mark.parametrize("bits", [1, 4, 70])
def test_a_row_counts_the_codes_that_the_run_saved(tmp_path: Path, bits: int) -> None:
    store = Store(tmp_path)
    row = row_of(on_digits("lsh", {"bits": bits}), store)
    assert row.distinct_codes == distinct_of(store.run_folder(row.run) / "codes.npz")
    assert row.distinct_codes.queries <= min(500, 2**bits)
    assert store.find("digits", "s1", row.run) == row


def test_a_run_of_sparse_codes_counts_them_and_a_search_without_codes_does_not(tmp_path: Path) -> None:
    small = {"epochs": 1, "steps_per_epoch": 3, "batch_size": 10, "classes_per_batch": 5, "augment": "none"}
    small |= {"augment_per": "item", "model": "mlp"}
    store = Store(tmp_path)
    settings = {"d": 8, "k": 2, "model": "mlp", **{f"base.{key}": value for key, value in small.items()}}
    row = row_of(on_digits("sparse_th", settings), store)
    with np.load(store.run_folder(row.run) / "codes.npz") as saved:
        n_items = len(set(map(bytes, saved["buckets"])))
        top = np.sort(np.argsort(-saved["query_activations"], axis=1, kind="stable")[:, :2], axis=1)
    assert row.distinct_codes == DistinctCodes(queries=len(set(map(bytes, top))), database=n_items)
    (base,) = (row for row in store.rows() if row.method == "exhaustive_search")
    assert base.distinct_codes is None
