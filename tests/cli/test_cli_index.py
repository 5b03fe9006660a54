"""``hashbench index``: parsing, its three outputs, and files that do not fit."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hashbench.cli.index import app
from hashbench.sparse import index_file

# four items in buckets 0, 0, 1, 2, on a line
ACTIVATIONS = np.array([[1.0, 0.0, 0.5], [1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]], np.float32)
EMBEDDINGS = np.array([[0.0], [4.0], [1.0], [9.0]], np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """items.npz, items.npy (their embeddings alone) and queries.npz."""
    np.savez(tmp_path / "items.npz", activations=ACTIVATIONS, embeddings=EMBEDDINGS)
    np.save(tmp_path / "items.npy", EMBEDDINGS)
    activations = np.array([[0.9, 0.1, 0.0], [0.0, 0.1, 0.9]])
    np.savez(tmp_path / "queries.npz", activations=activations, embeddings=np.array([[3.0], [3.0]]))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: object, items: str = "items.npz") -> str:
    status, printed, error = call(capsys, "index", folder / items, folder / "queries.npz", "--top", 2, *arguments)
    assert status == 0, error
    return printed


def test_build_says_what_it_wrote(folder: Path) -> None:
    out = folder / "again.h5"
    asked = ("build", folder / "items.npz", "--embeddings", folder / "items.npz", "--k", 2, "--out", out)
    size = (folder / "index.h5").stat().st_size
    printed: dict[str, Any] = json.loads(run(*asked, "--json"))
    assert printed.pop("size_bytes") >= size
    assert printed == {"index": str(out), "n_items": 4, "d": 3, "k": 2, "width": 1}
    assert run(*asked).startswith(f"{out}: 4 items in 3 buckets, 2 an item, embeddings of width 1; ")


def test_query_prints_one_object(folder: Path) -> None:
    printed = json.loads(run("query", folder / "index.h5", folder / "queries.npz", "--top", 2, "--json"))
    assert printed == {
        "index": str(folder / "index.h5"),
        "n_items": 4,
        "d": 3,
        "k": 1,
        "width": 1,
        "n_queries": 2,
        "mean_candidates": 2.0,
        "suf": 2.0,
        "n_opened_more": 1,  # bucket 2 holds one item, so the second query opens 1 too
        "ids": [[1, 0], [2, 3]],
        "distances": [[1.0, 3.0], [2.0, 6.0]],
        "n_candidates": [2, 2],
        "n_opened": [1, 2],
    }


def test_a_line_a_query_and_a_record_an_item(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert run(capsys, folder, "--k", 1).splitlines() == [
        f"{folder / 'items.npz'}: 4 items in 3 buckets, 1 an item, embeddings of width 1",
        "2 queries: 2.0 candidates a query, SUF 2.00; 1 opened more than 1",
        "",
        "query  candidates  items (distance)",
        "0               2  1 (1), 0 (3)",
        "1               2  2 (2), 3 (6)",
    ]
    printed = run(capsys, folder, "--k", 1, "--format", "csv")
    assert printed.splitlines()[:2] == ["query,rank,item,distance", "0,1,1,1.000000"]


def test_arrays_are_written_and_no_input_is_replaced(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    run(capsys, folder, "--k", 1, "--out", folder / "nearest.npz")
    with np.load(folder / "nearest.npz") as arrays:
        assert sorted(arrays) == ["distances", "ids", "n_candidates", "n_opened"]
        assert arrays["ids"].tolist() == [[1, 0], [2, 3]]
    queries = folder / "queries.npz"
    assert "named twice" in refused(capsys, folder / "items.npz", queries, "--k", 1, "--out", queries)


def test_items_do_not_find_themselves(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    items = folder / "items.npz"
    status, printed, _ = call(capsys, "index", items, items, "--k", 1, "--top", 1, "--exclude-self", "--json")
    assert status == 0
    assert json.loads(printed)["ids"] == [[1], [0], [3], [2]]
    assert json.loads(printed)["suf"] == 3.0  # of the three others, each finds one


def test_codes_may_be_buckets_beside_a_file_of_embeddings(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    np.savez(folder / "codes.npz", buckets=np.array([[0.0], [0.0], [1.0], [2.0]]), d=3)  # as MATLAB has numbers
    out = folder / "from_codes.h5"
    run("build", folder / "codes.npz", "--embeddings", folder / "items.npy", "--out", out)
    assert index_file.load(out).codes.sha256() == index_file.load(folder / "index.h5").codes.sha256()
    assert "4 items" in run("query", out, folder / "queries.npz", "--top", 2)
