"""Labels that are names of classes, in every format that holds texts; and an .npz with two members of one name."""

import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from support.small_pieces import small_pieces
from support.together import together

from hashbench.codes import files
from hashbench.codes.files import CodeStream, SavedCodes
from hashbench.foundation.errors import HashbenchError
from hashbench.relevance.labels import LabelRelevance

NAMES = np.array(["cat", "Häschen", "dog", ""])
rng = np.random.default_rng(0)
QUERY_IDS = rng.integers(0, 4, 9)
DATABASE_IDS = rng.integers(0, 4, 40)
CODES = {f"{side}_codes": rng.integers(0, 2, (n, 12), np.uint8) for side, n in (("query", 9), ("database", 40))}
LABELS = {"query_labels": NAMES[QUERY_IDS], "database_labels": np.append(NAMES[DATABASE_IDS[:-1]], "owl")}


def npz(folder: Path) -> Path:
    np.savez(folder / "codes.npz", **CODES, **LABELS)
    return folder / "codes.npz"


def npz_of_bytes(folder: Path) -> Path:
    encoded = {name: np.array([text.encode() for text in texts]) for name, texts in LABELS.items()}
    np.savez(folder / "codes.npz", **CODES, **encoded)
    return folder / "codes.npz"


def npz_columns(folder: Path) -> Path:
    np.savez(folder / "codes.npz", **CODES, **{name: texts[:, None] for name, texts in LABELS.items()})
    return folder / "codes.npz"


def npy(folder: Path) -> Path:
    for name, array in (CODES | LABELS).items():
        np.save(folder / f"{name}.npy", array)
    return folder


def h5(folder: Path) -> Path:
    with h5py.File(folder / "codes.h5", "w") as file:
        for name, array in CODES.items():
            file[name] = array
        for name, texts in LABELS.items():
            file.create_dataset(name, data=texts.astype(object), dtype=h5py.string_dtype())
    return folder / "codes.h5"


def h5_fixed(folder: Path) -> Path:
    with h5py.File(folder / "codes.h5", "w") as file:
        for name, array in CODES.items():
            file[name] = array
        for name, texts in LABELS.items():
            file[name] = np.array([text.encode() for text in texts])
    return folder / "codes.h5"


def levels(relevance: LabelRelevance) -> np.ndarray:
    return relevance.block(slice(0, relevance.shape[0]), slice(0, relevance.shape[1]))


TRUTH = (LABELS["query_labels"][:, None] == LABELS["database_labels"]) & (LABELS["query_labels"] != "")[:, None]


@together("written", [npz, npz_of_bytes, npz_columns, npy, h5, h5_fixed])
def test_names_are_read_as_classes(
    written: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pieces(monkeypatch, slab_bytes=100, items=16)
    path = written(tmp_path)
    loaded, streamed = (files.opened(path, streamed=streamed) for streamed in (False, True))
    assert isinstance(loaded, SavedCodes) and isinstance(streamed, CodeStream)
    np.testing.assert_array_equal(levels(loaded.relevance), TRUTH)
    pieces = [levels(relevance) for _, relevance in streamed.pieces()]
    assert len(pieces) > 1
    np.testing.assert_array_equal(np.concatenate(pieces, axis=1), TRUTH)
    assert loaded.relevance.without_class() == ((QUERY_IDS == 3).sum(), (DATABASE_IDS[:-1] == 3).sum())
    assert loaded.notes == ()


def wrong(folder: Path, **labels: Any) -> str:
    np.savez(folder / "codes.npz", **(CODES | LABELS | labels))
    with pytest.raises(HashbenchError) as caught:
        files.load(folder / "codes.npz")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_names_that_are_none_are_said_in_one_line(tmp_path: Path) -> None:
    assert "names of classes on one side, numbers on the other" in wrong(tmp_path, query_labels=QUERY_IDS)
    assert "query_labels" in wrong(tmp_path, query_labels=np.array([["a", "b"]] * 9))
    assert "names of classes that are not UTF-8" in wrong(
        tmp_path, query_labels=np.array([b"\xff"] * 9), database_labels=np.array([b"a"] * 40)
    )
    assert "query_codes: <U1 is not numeric" in wrong(tmp_path, query_codes=np.full((9, 12), "1"))
    assert "Python objects" in wrong(tmp_path, query_labels=LABELS["query_labels"].astype(object))


def test_a_text_that_is_no_name_is_refused(tmp_path: Path) -> None:
    path = h5(tmp_path)
    with h5py.File(path, "a") as file:
        file["query_labels"][0] = "x" * 5000
    with pytest.raises(
        HashbenchError, match="query_labels: cannot be read: a text of 5000 characters: names have at most 1000"
    ):
        files.load(path)


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    path = npz(tmp_path)
    np.save(tmp_path / "other.npy", np.zeros((9, 12), np.uint8))
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")  # zipfile warns of the second
        archive.write(tmp_path / "other.npy", "query_codes.npy")
    for streamed in (False, True):
        with pytest.raises(HashbenchError) as caught:
            files.opened(path, streamed=streamed)
        assert str(caught.value) == (
            f"{path}: query_codes is in it twice, and which one is meant cannot be known: save it once"
        )


def test_names_that_share_a_part_are_one_class_each_and_a_note_says_so(tmp_path: Path) -> None:
    codes = np.eye(4, dtype=np.uint8)
    names = np.array(["cat", "sky cat", "rose", "cat"])
    arrays = {
        f"{side}_{what}": value
        for side in ("query", "database")
        for what, value in (("codes", codes), ("labels", names))
    }
    np.savez(tmp_path / "codes.npz", **arrays)
    explicit = files.Explicit(layout="items-by-bits")
    note = f"{tmp_path}/codes.npz: query_labels: names such as sky cat are read as one class each; for several labels"
    for streamed in (False, True):
        saved = files.opened(tmp_path / "codes.npz", explicit=explicit, streamed=streamed)
        relevant = np.concatenate([relevance.block(slice(None), slice(None)) for _, relevance in saved.pieces()])
        assert relevant.tolist() == [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1]]
        assert [line.startswith(note) for line in saved.notes] == [True]
