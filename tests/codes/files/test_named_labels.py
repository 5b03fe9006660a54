"""Labels that are names of classes, in every format that holds texts; and an .npz with two members of one name."""

import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from support.damaged_codes import Arrays, Writer, npy, npz
from support.one_line import one_line
from support.small_pieces import small_pieces

from hashbench.scoring.codes import files
from hashbench.scoring.relevance.labels import LabelRelevance

NAMES = np.array(["cat", "Häschen", "dog", ""])
rng = np.random.default_rng(0)
QUERY_IDS = rng.integers(0, 4, 9)
DATABASE_IDS = rng.integers(0, 4, 40)
CODES = {f"{side}_codes": rng.integers(0, 2, (n, 12), np.uint8) for side, n in (("query", 9), ("database", 40))}
LABELS = {"query_labels": NAMES[QUERY_IDS], "database_labels": np.append(NAMES[DATABASE_IDS[:-1]], "owl")}


def encoded(texts: np.ndarray) -> np.ndarray:
    return np.strings.encode(texts, "utf-8")


def h5(path: Path, content: Arrays) -> Path:
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        file.update(content)
    return path.with_suffix(".h5")


WAYS = [
    (npz, np.array),
    (npz, encoded),
    (npz, lambda texts: texts[:, None]),
    (npy, np.array),
    (h5, lambda texts: texts.astype(object)),
    (h5, encoded),
]


def levels(relevance: LabelRelevance) -> np.ndarray:
    return relevance.block(slice(0, relevance.shape[0]), slice(0, relevance.shape[1]))


TRUTH = (LABELS["query_labels"][:, None] == LABELS["database_labels"]) & (LABELS["query_labels"] != "")[:, None]


@pytest.mark.parametrize("write, change", WAYS)
def test_names_are_read_as_classes(
    write: Writer, change: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pieces(monkeypatch, slab_bytes=100)
    loaded = files.load(write(tmp_path / "codes", CODES | {name: change(texts) for name, texts in LABELS.items()}))
    np.testing.assert_array_equal(levels(loaded.relevance), TRUTH)
    assert loaded.relevance.without_class() == ((QUERY_IDS == 3).sum(), (DATABASE_IDS[:-1] == 3).sum())
    assert loaded.notes == ()


def wrong(folder: Path, **labels: Any) -> str:
    np.savez(folder / "codes.npz", **(CODES | LABELS | labels))
    with one_line() as caught:
        files.load(folder / "codes.npz")
    return str(caught.value)


def test_names_that_are_none_are_said_in_one_line(tmp_path: Path) -> None:
    assert "class ids or names [items] on both sides" in wrong(tmp_path, query_labels=QUERY_IDS)
    assert "query_labels" in wrong(tmp_path, query_labels=np.array([["a", "b"]] * 9))
    assert "names of classes that are not UTF-8" in wrong(
        tmp_path, query_labels=np.array([b"\xff"] * 9), database_labels=np.array([b"a"] * 40)
    )
    assert "query_codes: <U1 is not numeric" in wrong(tmp_path, query_codes=np.full((9, 12), "1"))
    assert "Python objects" in wrong(tmp_path, query_labels=LABELS["query_labels"].astype(object))


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    path = npz(tmp_path / "codes", CODES | LABELS)
    np.save(tmp_path / "other.npy", np.zeros((9, 12), np.uint8))
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")  # zipfile warns of the second
        archive.write(tmp_path / "other.npy", "query_codes.npy")
    with one_line() as caught:
        files.load(path)
    assert str(caught.value) == (
        f"{path}: query_codes is in it twice, and which one is meant cannot be known: save it once"
    )
