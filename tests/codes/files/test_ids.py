"""Ids of items are compared exactly: integers of any type and size, texts and bytes, in any number of pieces."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line

from hashbench.scoring.codes import files, pack
from hashbench.scoring.codes.files import SavedCodes, rows_of_ids
from hashbench.scoring.relevance.labels import ClassRelevance

TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i8", ">u8"]
EDGES = [0, 1 << 7, 1 << 8, 1 << 15, 1 << 31, 1 << 32, 1 << 53, 1 << 60, 1 << 63, 1 << 64]


@st.composite
def ids_of_one_type(draw: st.DrawFn, max_size: int) -> np.ndarray:
    """Ids near the ends of the types, so that those that float64 cannot tell apart are among them."""
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    ends = np.iinfo(dtype)
    near = st.builds(
        lambda edge, sign, more: sign * edge + more,
        st.sampled_from(EDGES),
        st.sampled_from([-1, 1]),
        st.integers(-3, 3),
    )
    values = near.filter(lambda value: ends.min <= value <= ends.max)
    return np.array(draw(st.lists(values, max_size=max_size, unique=True)), dtype)


@given(ids_of_one_type(12), ids_of_one_type(12))
def test_rows_are_those_of_a_search_among_python_integers(query: np.ndarray, database: np.ndarray) -> None:
    known = database.tolist()
    saved = SavedCodes(*no_codes(query, database), query_ids=query, database_ids=database)
    assert saved.ids_in_database() == sum(value in known for value in query.tolist())
    truth = [known.index(value) if value in known else -1 for value in query.tolist()]
    assert saved.rows_in_database().tolist() == truth


def test_an_id_that_two_items_have_is_refused_if_a_query_has_it() -> None:
    database = np.array([3, 4, 4])
    assert rows_of_ids(np.array([3]), database, "ids").tolist() == [0]
    with one_line("ids: the id of a query is there twice"):
        rows_of_ids(np.array([4]), database, "ids")


def no_codes(query: np.ndarray, database: np.ndarray) -> tuple[object, ...]:
    labels = [np.zeros(len(ids), np.int64) for ids in (query, database)]
    return pack(np.zeros((len(query), 1), bool)), pack(np.zeros((len(database), 1), bool)), ClassRelevance(*labels)


def test_bytes_are_the_texts_that_they_hold(tmp_path: Path) -> None:
    texts = np.array(["a", "ä", "€"])
    codes = {f"{side}_codes": np.eye(3, 5, dtype=np.uint8) for side in ("query", "database")}
    labels = {f"{side}_labels": np.arange(3) for side in ("query", "database")}
    ids = {"query_ids": texts[::-1], "database_ids": np.strings.encode(texts, "utf-8")}
    np.savez(tmp_path / "codes.npz", **codes, **labels, **ids)
    assert files.load(tmp_path / "codes.npz").rows_in_database().tolist() == [2, 1, 0]


@pytest.mark.parametrize("convert", [np.int32, np.float64, lambda ids: ids[:, None]])
def test_ids_of_matlab_are_read_in_any_direction(convert: Callable[..., np.ndarray], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays: dict[str, np.ndarray] = {}
    for side, ids in (("query", np.array([7, 3])), ("database", np.arange(5))):
        arrays[f"{side}_codes"] = rng.integers(0, 2, (len(ids), 8))
        arrays[f"{side}_labels"] = np.arange(len(ids))
        arrays[f"{side}_ids"] = convert(ids)  # SciPy writes [n] as [1, n]
    scipy.io.savemat(tmp_path / "codes.mat", arrays)
    saved = files.load(tmp_path / "codes.mat")
    assert saved.query_ids.tolist() == [7, 3]
    assert saved.rows_in_database().tolist() == [-1, 3]
    assert saved.ids_in_database() == 1


def test_ids_that_are_no_whole_numbers_are_refused(tmp_path: Path) -> None:
    arrays = {
        f"{side}_{what}": np.eye(4)[0] if what == "labels" else np.eye(4)
        for side in ("query", "database")
        for what in ("codes", "labels")
    }
    scipy.io.savemat(tmp_path / "codes.mat", arrays | {"query_ids": np.arange(4) + 0.5, "database_ids": np.arange(4)})
    with one_line("query_ids: ids are whole numbers"):
        files.load(tmp_path / "codes.mat", explicit=files.Explicit(layout="items-by-bits"))
