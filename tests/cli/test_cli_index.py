"""``hashbench index``, through its runner and as a process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hashbench.cli.index import app
from hashbench.foundation.errors import HashbenchError
from hashbench.sparse import index_file

# four items in buckets 0, 0, 1, 2, on a line
ACTIVATIONS = np.array([[1.0, 0.0, 0.5], [1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]], np.float32)
EMBEDDINGS = np.array([[0.0], [4.0], [1.0], [9.0]], np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """items.npz, items.npy (their embeddings alone), queries.npz, and index.h5 of the items at k = 1."""
    np.savez(tmp_path / "items.npz", activations=ACTIVATIONS, embeddings=EMBEDDINGS)
    np.save(tmp_path / "items.npy", EMBEDDINGS)
    asked = np.array([[0.9, 0.1, 0.0], [0.0, 0.1, 0.9]])
    np.savez(tmp_path / "queries.npz", activations=asked, embeddings=np.array([[3.0], [3.0]]))
    run(
        "build",
        tmp_path / "items.npz",
        "--embeddings",
        tmp_path / "items.npy",
        "--k",
        1,
        "--out",
        tmp_path / "index.h5",
    )
    return tmp_path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: object) -> str:
    with pytest.raises(HashbenchError) as caught:
        CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_no_input_is_replaced(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    items, embeddings, index, queries = (
        folder / name for name in ("items.npz", "items.npy", "index.h5", "queries.npz")
    )
    for out in (items, embeddings):
        said = refused("build", items, "--embeddings", embeddings, "--k", 1, "--out", out)
        assert said == f"{out}: named twice, as an input or an output; each output needs a file of its own"
    for out in (index, queries):
        assert "named twice" in refused("query", index, queries, "--out", out)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


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


def test_query_prints_a_line_a_query(folder: Path) -> None:
    assert run("query", folder / "index.h5", folder / "queries.npz", "--top", 2).splitlines() == [
        f"{folder / 'index.h5'}: 4 items in 3 buckets, 1 an item, embeddings of width 1",
        "2 queries: 2.0 candidates a query, SUF 2.00; 1 opened more than 1",
        "",
        "query  candidates  items (distance)",
        "0               2  1 (1), 0 (3)",
        "1               2  2 (2), 3 (6)",
    ]


def test_query_as_csv_has_a_line_an_item(folder: Path) -> None:
    printed = run("query", folder / "index.h5", folder / "queries.npz", "--top", 2, "--format", "csv")
    assert printed.splitlines()[:3] == ["query,rank,item,distance", "0,1,1,1.000000", "0,2,0,3.000000"]


def test_query_writes_arrays(folder: Path) -> None:
    run("query", folder / "index.h5", folder / "queries.npz", "--top", 2, "--out", folder / "found.npz")
    with np.load(folder / "found.npz") as found:
        assert sorted(found) == ["distances", "ids", "n_candidates", "n_opened"]
        assert found["ids"].tolist() == [[1, 0], [2, 3]]


def test_items_do_not_find_themselves(folder: Path) -> None:
    asked = ("query", folder / "index.h5", folder / "items.npz", "--top", 1, "--exclude-self", "--json")
    printed = json.loads(run(*asked))
    assert printed["ids"] == [[1], [0], [3], [2]]
    assert printed["suf"] == 3.0  # of the three others, each finds one


def test_codes_may_be_given_as_buckets(folder: Path) -> None:
    np.savez(folder / "codes.npz", buckets=np.array([[0.0], [0.0], [1.0], [2.0]]), d=3)  # as MATLAB has numbers
    out = folder / "from_codes.h5"
    run("build", folder / "codes.npz", "--embeddings", folder / "items.npy", "--out", out)
    assert index_file.load(out).codes.sha256() == index_file.load(folder / "index.h5").codes.sha256()
    assert "4 items" in run("query", out, folder / "queries.npz", "--top", 2)


def test_bad_files_are_one_line(folder: Path) -> None:
    build = ("build", folder / "items.npz", "--embeddings", folder / "items.npy", "--out", folder / "new.h5")
    assert "say with --k" in refused(*build)
    assert refused(*build, "--k", 4).startswith(f"{folder / 'items.npz'}: k = 4, activations of shape (4, 3): ")
    np.savez(folder / "codes.npz", buckets=np.array([[0], [0], [1], [2]]))
    assert "without d" in refused("build", folder / "codes.npz", *build[2:])
    np.savez(folder / "codes.npz", buckets=np.array([[0.5], [0], [1], [2]]), d=3)
    assert "whole numbers" in refused("build", folder / "codes.npz", *build[2:])
    np.savez(folder / "codes.npz", buckets=np.array([[0], [0], [1], [2]]), d=3)
    assert "1 buckets an item; k = 2" in refused("build", folder / "codes.npz", *build[2:], "--k", 2)
    np.savez(folder / "codes.npz", buckets=np.array([[0], [0], [1], [2]]), d=np.arange(2))
    assert "one integer" in refused("build", folder / "codes.npz", *build[2:])
    assert not (folder / "new.h5").exists()


def test_bad_queries_are_one_line(folder: Path) -> None:
    index, asked = folder / "index.h5", folder / "asked.npz"
    np.savez(asked, activations=np.zeros((1, 3)), embeddings=np.zeros((1, 2)))
    assert "have width 1" in refused("query", index, asked)
    np.savez(asked, activations=np.zeros((1, 4)), embeddings=np.zeros((1, 1)))
    assert "the index has 3 buckets" in refused("query", index, asked, "--top", 1)
    np.savez(asked, activations=np.zeros((1, 3)))
    assert "'embeddings' is expected" in refused("query", index, asked)
    np.savez(asked, activations=np.zeros(3), embeddings=np.zeros((1, 1)))
    assert "numbers [n, m] are expected" in refused("query", index, asked)
    assert "top 10: a query can find 1 to 4" in refused("query", index, folder / "queries.npz")
    assert "2 queries, 4 items" in refused("query", index, folder / "queries.npz", "--exclude-self")
    assert "not a readable index" in refused("query", folder / "items.npy", folder / "queries.npz")


def test_a_damaged_index_exits_2_with_one_line(folder: Path) -> None:
    index = folder / "index.h5"
    index.write_bytes(index.read_bytes()[:3000])
    command = [sys.executable, "-m", "hashbench", "index", "query", str(index), str(folder / "queries.npz")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"error: {index}: ")
