"""Codes without labels: what a search reads."""

from pathlib import Path

import numpy as np
import pytest
from support.together import together

from hashbench.codes import files
from hashbench.foundation.errors import HashbenchError

rng = np.random.default_rng(3)
QUERY = rng.integers(0, 2, (3, 12), np.uint8)
DATABASE = rng.integers(0, 2, (5, 12), np.uint8)


def bits_of(*sources: Path, **said: str | int) -> tuple[list[list[int]], list[list[int]]]:
    query, database, _ = files.load_codes(sources, explicit=files.Explicit(**said))
    return query.bits().tolist(), database.bits().tolist()


BOTH = QUERY.tolist(), DATABASE.tolist()


@together("names", [("query_codes", "database_codes"), ("qB", "rB"), ("tst_binary", "trn_binary")])
def test_the_names_of_other_code_are_known(names: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "codes.npz"
    np.savez(path, **{names[0]: QUERY * 2.0 - 1, names[1]: DATABASE * 2.0 - 1})
    assert bits_of(path) == BOTH


def test_packed_codes_and_bits_by_items_are_read_as_eval_reads_them(tmp_path: Path) -> None:
    packed = tmp_path / "packed.npz"
    np.savez(packed, query_codes=np.packbits(QUERY, axis=1), database_codes=np.packbits(DATABASE, axis=1), n_bits=12)
    assert bits_of(packed) == BOTH
    np.savez(tmp_path / "turned.npz", query_codes=QUERY.T, database_codes=DATABASE.T)
    query, _, notes = files.load_codes(tmp_path / "turned.npz")
    assert (query.bits().tolist(), notes) == (BOTH[0], [f"{tmp_path / 'turned.npz'}: codes are bits x items"])


def test_two_files_are_named_by_their_options(tmp_path: Path) -> None:
    np.save(tmp_path / "q.npy", QUERY)
    np.savez(tmp_path / "d.npz", codes=DATABASE, other=QUERY)
    assert bits_of(query_codes=str(tmp_path / "q.npy"), database_codes=f"{tmp_path / 'd.npz'}:codes") == BOTH


def test_what_is_missing_is_said_without_labels(tmp_path: Path) -> None:
    path = tmp_path / "codes.npz"
    np.savez(path, database_codes=DATABASE)
    message = (
        f"{path}: query_codes is missing: query_codes, database_codes are expected, or --query-codes FILE:KEY; "
        "there is database_codes"
    )
    with pytest.raises(HashbenchError) as raised:
        files.load_codes(path)
    assert str(raised.value) == message


def test_as_many_items_as_bits_are_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "codes.npz"
    np.savez(path, query_codes=QUERY, database_codes=1 - QUERY)
    with pytest.raises(HashbenchError, match="can be read both ways: say --layout items-by-bits or"):
        files.load_codes(path)
    assert bits_of(path, layout="items-by-bits") == (QUERY.tolist(), (1 - QUERY).tolist())


def test_other_lengths_of_codes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "codes.npz"
    np.savez(path, query_codes=QUERY[:, :11], database_codes=DATABASE)
    with pytest.raises(HashbenchError, match="query_codes has 11 bits and database_codes 12: they must agree"):
        files.load_codes(path)
