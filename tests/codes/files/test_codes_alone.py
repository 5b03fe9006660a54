"""Codes without labels: what a search reads."""

from pathlib import Path

import numpy as np
from support.one_line import one_line

from hashbench.scoring.codes import files

rng = np.random.default_rng(3)
QUERY = rng.integers(0, 2, (3, 12), np.uint8)
DATABASE = rng.integers(0, 2, (5, 12), np.uint8)


def test_packed_codes_and_bits_by_items_are_read_as_eval_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "codes.npz"
    np.savez(path, query_codes=np.packbits(QUERY, axis=1), database_codes=np.packbits(DATABASE, axis=1), n_bits=12)
    query, database, _ = files.load_codes(path)
    assert query.bits().tolist() == QUERY.tolist()
    assert database.bits().tolist() == DATABASE.tolist()
    np.savez(path, query_codes=QUERY.T, database_codes=DATABASE.T)
    query, _, notes = files.load_codes(path)
    assert query.bits().tolist() == QUERY.tolist()
    assert notes == [f"{path}: codes are bits x items"]


def test_what_is_missing_is_said_without_labels(tmp_path: Path) -> None:
    path = tmp_path / "codes.npz"
    np.savez(path, database_codes=DATABASE)
    with one_line() as raised:
        files.load_codes(path)
    assert str(raised.value) == (
        f"{path}: query_codes is missing: query_codes, database_codes are expected, or --array query-codes=FILE:KEY; "
        "there is database_codes"
    )
