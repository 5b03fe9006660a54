"""The codes file: what it may hold, and what is said about anything else."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line
from support.strategies import CodeSet, code_sets

from hashbench.scoring.codes import files, pack
from hashbench.scoring.codes.files import SavedCodes
from hashbench.scoring.relevance.labels import ClassRelevance, SharedLabelRelevance

rng = np.random.default_rng(7)
QUERY = rng.integers(0, 2, (3, 12), np.uint8)
DATABASE = rng.integers(0, 2, (5, 12), np.uint8)
IDS = np.array([0, 1, 2]), np.array([0, 1, 2, 0, 1])

Arrays = dict[str, Any]


def arrays() -> Arrays:
    return {"query_codes": QUERY, "database_codes": DATABASE, "query_labels": IDS[0], "database_labels": IDS[1]}


def written(folder: Path, content: Arrays) -> Path:
    path = folder / "codes.npz"
    np.savez(path, **content)
    return path


def loaded(folder: Path, **changed: Any) -> SavedCodes:
    return files.load(written(folder, {**arrays(), **changed}))


@given(drawn=code_sets())
def test_what_is_saved_comes_back(drawn: CodeSet, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("codes") / "codes.npz"
    files.save(path, SavedCodes(pack(drawn.query), pack(drawn.database), drawn.relevance))
    again = files.load(path)
    assert np.array_equal(again.query.bits(), drawn.query)
    assert np.array_equal(again.database.bits(), drawn.database)
    rows = slice(0, len(drawn.query))
    columns = slice(0, len(drawn.database))
    levels = [kind.levels[kind.block(rows, columns)] for kind in (again.relevance, drawn.relevance)]
    assert np.array_equal(*levels)
    assert again.notes == ()


def test_multi_hot_labels_count_what_is_shared(tmp_path: Path) -> None:
    hot = np.eye(4, dtype=np.int64)
    twice = np.vstack([hot, hot[:1] + hot[1:2]]).astype(float)
    read = loaded(tmp_path, query_labels=hot[:3] + hot[1:] == 1, database_labels=twice)
    assert isinstance(read.relevance, SharedLabelRelevance)
    assert read.relevance.block(slice(0, 1), slice(0, 5)).tolist() == [[1, 1, 0, 0, 2]]


def test_one_hot_labels_are_classes_and_a_row_of_none_is_no_class(tmp_path: Path) -> None:
    hot = np.eye(4, dtype=np.int64)
    hot[2, 2] = 0
    read = loaded(tmp_path, query_labels=hot[:3] == 1, database_labels=np.vstack([hot, hot[:1]]).astype(float))
    assert isinstance(read.relevance, ClassRelevance)
    assert read.relevance.query_labels.tolist() == [0, 1, -1]
    assert read.relevance.database_labels.tolist() == [0, 1, -1, 3, 0]


def without(key: str) -> Arrays:
    return {name: array for name, array in arrays().items() if name != key}


def but(**changed: Any) -> Arrays:
    return {**arrays(), **changed}


nan_codes = QUERY.astype(float)
nan_codes[1, 2] = np.nan

FAULTS: dict[str, tuple[Arrays, str]] = {
    "a missing array": (without("query_labels"), "query_labels is missing"),
    "no array at all": ({}, "query_codes is missing"),
    "text": (but(query_codes=QUERY.astype(str)), "query_codes: <U3 is not numeric"),
    "complex numbers": (but(database_codes=DATABASE.astype(complex)), "database_codes: complex128 is not numeric"),
    "dates": (but(query_labels=np.zeros(3, "M8[D]")), "query_labels: datetime64[D] is not numeric"),
    "Python objects": (
        but(query_labels=np.array([1, None, 2], object)),
        "query_labels: Python objects, that is a pickle",
    ),
    "NaN codes": (but(query_codes=nan_codes), "query_codes: not finite"),
    "NaN labels": (but(database_labels=np.full(5, np.nan)), "database_labels: not finite"),
    "a 2": (but(query_codes=QUERY + 1), "query_codes: 2 is no bit: whole numbers are 0 and 1"),
    "a half": (but(query_codes=QUERY / 2 + 0.5), "query_codes: 0.5 is in it"),
    "-1 and 0": (but(query_codes=QUERY.astype(int) - 1, database_codes=-DATABASE.astype(int)), "no +1 are in it"),
    "real values on one side of 0": (but(query_codes=QUERY + 0.25), "query_codes: 1.25 is in it"),
    "integers": (but(query_codes=7 * QUERY.astype(int) - 3), "query_codes: 4 is no bit"),
    "packed without n_bits": (
        but(query_codes=np.full((3, 2), 200, np.uint8), database_codes=np.full((5, 2), 201, np.uint8)),
        "query_codes: 200 is no bit: whole numbers are 0 and 1, or -1 and +1: codes > 0 are",
    ),
    "other bits": (
        but(query_codes=QUERY[:, :8]),
        "query_codes uint8(3, 8) and database_codes uint8(5, 12): codes of the same 1 to 4096 bits",
    ),
    "no queries": (
        but(query_codes=QUERY[:0], query_labels=IDS[0][:0]),
        "query_codes: shape (0, 12): items x bits, one or more of both",
    ),
    "no items": (
        but(database_codes=DATABASE[:0], database_labels=IDS[1][:0]),
        "database_codes: shape (0, 12): items x bits",
    ),
    "no bits": (but(query_codes=QUERY[:, :0]), "query_codes: shape (3, 0): items x bits"),
    "too many bits": (but(query_codes=np.zeros((3, 4097), np.uint8)), "codes of the same 1 to 4096 bits"),
    "flat codes": (but(query_codes=QUERY[0]), "query_codes: shape (12,): items x bits"),
    "fewer labels": (
        but(query_labels=IDS[0][:2]),
        "query_labels (2,) and database_labels (5,) beside query_codes uint8(3, 12)",
    ),
    "more labels": (but(database_labels=np.arange(9)), "database_labels (9,) beside"),
    "one label for all": (but(query_labels=np.array(3)), "query_labels: shape (): class ids [items] or multi-hot"),
    "ids beside multi-hot": (
        but(query_labels=np.eye(3)),
        "a label each is expected, class ids or names [items] on both sides",
    ),
    "multi-hot of two widths": (
        but(query_labels=np.eye(3), database_labels=np.eye(5)),
        "or multi-hot [items, labels] on both",
    ),
    "multi-hot of 2": (but(query_labels=2 * np.eye(3), database_labels=np.zeros((5, 3))), "multi-hot labels"),
    "half an id": (but(query_labels=IDS[0] + 0.5), "query_labels: class ids are whole numbers"),
    "a huge id": (but(query_labels=np.full(3, 1e300)), "query_labels: class ids are whole numbers that fit"),
    "an id of 2^63": (but(query_labels=np.full(3, 2**63, np.uint64)), "whole numbers that fit 64 bits"),
    "n_bits of 0": (but(n_bits=0), "n_bits: 0 bits; 1 to 4096"),
    "n_bits with a point": (but(n_bits=12.0), "n_bits: float64"),
    "n_bits of two": (but(n_bits=np.array([12, 12])), "one integer is expected"),
    "n_bits that the width does not hold": (but(n_bits=16), "codes of n_bits = 16 are expected"),
    "packed in another type": (
        but(query_codes=np.packbits(QUERY, axis=1).astype(np.int32), n_bits=12),
        "query_codes int32(3, 2) and database_codes uint8(5, 12): codes of n_bits = 12",
    ),
    "bits beyond n_bits": (
        but(query_codes=np.full((3, 2), 255, np.uint8), database_codes=np.packbits(DATABASE, axis=1), n_bits=12),
        "bits beyond n_bits = 12",
    ),
    "a layout that is none": (but(layout=np.array("rows")), "layout: one of items-by-bits, bits-by-items"),
    "fewer ids": (but(query_ids=np.arange(2)), "query_ids: int64 of shape (2,): 3 integers or texts"),
    "ids with a point": (but(database_ids=np.arange(5.0)), "database_ids: float64"),
}


@pytest.mark.parametrize("content, says", FAULTS.values(), ids=FAULTS)
def test_a_faulty_array_is_named_in_one_line(tmp_path: Path, content: Arrays, says: str) -> None:
    path = written(tmp_path, content)
    with one_line() as caught:
        files.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert says in str(caught.value)


def test_a_checksum_after_the_last_value_is_compared(tmp_path: Path) -> None:
    for role in arrays():
        path = written(tmp_path, arrays())
        content = bytearray(path.read_bytes())
        entry = content.rindex(f"{role}.npy".encode()) - 46
        assert content[entry : entry + 4] == b"PK\x01\x02"
        content[entry + 16] ^= 1
        path.write_bytes(content)
        with one_line("CRC"):
            files.load(path)


@given(sizes=st.lists(st.integers(0, 9), max_size=12), n=st.integers(1, 10))
def test_regrouped_rows_are_the_same_rows(sizes: list[int], n: int) -> None:
    rows = np.arange(sum(sizes))
    pieces = list(files.regrouped(np.split(rows, np.cumsum(sizes))[:-1], n))
    assert [len(piece) for piece in pieces] == [n] * (len(rows) // n) + [len(rows) % n] * (len(rows) % n > 0)
    assert np.array_equal(np.concatenate([rows[:0], *pieces]), rows)
