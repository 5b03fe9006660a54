"""``hashbench index``: an index of sparse codes is built, and searched."""

from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine

from hashbench.sparse import index_file

# four items in buckets 0, 0, 1, 2, on a line
ACTIVATIONS = np.array([[1.0, 0.0, 0.5], [1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]], np.float32)
EMBEDDINGS = np.array([[0.0], [4.0], [1.0], [9.0]], np.float32)
QUERY = "index query index.h5 queries.npz --top 2"


@pytest.fixture(autouse=True)
def index(here: None, hashbench: CommandLine) -> None:
    """items.npz, items.npy (their embeddings alone), queries.npz, and index.h5 of the items at k = 1."""
    np.savez("items.npz", activations=ACTIVATIONS, embeddings=EMBEDDINGS)
    np.save("items.npy", EMBEDDINGS)
    activations = np.array([[0.9, 0.1, 0.0], [0.0, 0.1, 0.9]])
    np.savez("queries.npz", activations=activations, embeddings=np.array([[3.0], [3.0]]))
    hashbench.done("index build items.npz --embeddings items.npy --k 1 --out index.h5")


def test_build_says_what_it_wrote(hashbench: CommandLine) -> None:
    build = "index build items.npz --embeddings items.npz --k 2 --out again.h5"
    printed = hashbench.json(build)
    assert printed.pop("size_bytes") > 0
    assert printed == {"index": "again.h5", "n_items": 4, "d": 3, "k": 2, "width": 1}
    line = "again.h5: 4 items in 3 buckets, 2 an item, embeddings of width 1; "
    assert hashbench.done(build).out.startswith(line)


def test_query_prints_one_object(hashbench: CommandLine) -> None:
    of_index = {"index": "index.h5", "n_items": 4, "d": 3, "k": 1, "width": 1}
    of_search = {"n_queries": 2, "mean_candidates": 2.0, "suf": 2.0}
    assert hashbench.json(QUERY, "--out near.npz") == {
        **of_index,
        **of_search,
        "n_opened_more": 1,  # bucket 2 holds one item, so the second query opens 1 too
        "ids": [[1, 0], [2, 3]],
        "distances": [[1.0, 3.0], [2.0, 6.0]],
        "n_candidates": [2, 2],
        "n_opened": [1, 2],
    }
    near = np.load("near.npz")
    assert sorted(near) == ["distances", "ids", "n_candidates", "n_opened"]
    assert near["ids"].tolist() == [[1, 0], [2, 3]]


def test_query_prints_a_line_a_query_or_an_item(hashbench: CommandLine) -> None:
    assert hashbench.done(QUERY).lines == [
        "index.h5: 4 items in 3 buckets, 1 an item, embeddings of width 1",
        "2 queries: 2.0 candidates a query, SUF 2.00; 1 opened more than 1",
        "",
        "query  candidates  items (distance)",
        "0               2  1 (1), 0 (3)",
        "1               2  2 (2), 3 (6)",
    ]
    lines = hashbench.done(QUERY, "--format csv").lines
    assert lines[:3] == ["query,rank,item,distance", "0,1,1,1.000000", "0,2,0,3.000000"]


def test_items_do_not_find_themselves(hashbench: CommandLine) -> None:
    printed = hashbench.json("index query index.h5 items.npz --top 1 --exclude-self")
    assert printed["ids"] == [[1], [0], [3], [2]]
    assert printed["suf"] == 3.0  # of the three others, each finds one


def test_codes_may_be_given_as_buckets(hashbench: CommandLine) -> None:
    np.savez("codes.npz", buckets=np.array([[0.0], [0.0], [1.0], [2.0]]), d=3)  # as MATLAB has numbers
    hashbench.done("index build codes.npz --embeddings items.npy --out from_codes.h5")
    sums = {index_file.load(Path(name)).codes.sha256() for name in ("from_codes.h5", "index.h5")}
    assert len(sums) == 1
