"""``hashbench index``: sparse codes are searched in their buckets."""

import numpy as np
import pytest
from support.command_line import CommandLine

# four items in buckets 0, 0, 1, 2, on a line
ACTIVATIONS = np.array([[1.0, 0.0, 0.5], [1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]], np.float32)
EMBEDDINGS = np.array([[0.0], [4.0], [1.0], [9.0]], np.float32)
SEARCH = "index items.npz queries.npz --top 2 --k 1"


@pytest.fixture(autouse=True)
def files(here: None) -> None:
    """items.npz, items.npy (their embeddings alone) and queries.npz."""
    np.savez("items.npz", activations=ACTIVATIONS, embeddings=EMBEDDINGS)
    np.save("items.npy", EMBEDDINGS)
    activations = np.array([[0.9, 0.1, 0.0], [0.0, 0.1, 0.9]])
    np.savez("queries.npz", activations=activations, embeddings=np.array([[3.0], [3.0]]))


def test_one_object_is_printed_and_arrays_are_written(hashbench: CommandLine) -> None:
    of_items = {"items": "items.npz", "n_items": 4, "d": 3, "k": 1, "width": 1}
    of_search = {"n_queries": 2, "mean_candidates": 2.0, "suf": 2.0}
    assert hashbench.json(SEARCH, "--out near.npz") == {
        **of_items,
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


def test_a_line_a_query_and_a_record_an_item(hashbench: CommandLine) -> None:
    assert hashbench.done(SEARCH).lines == [
        "items.npz: 4 items in 3 buckets, 1 an item, embeddings of width 1",
        "2 queries: 2.0 candidates a query, SUF 2.00; 1 opened more than 1",
        "",
        "query  candidates  items (distance)",
        "0               2  1 (1), 0 (3)",
        "1               2  2 (2), 3 (6)",
    ]
    lines = hashbench.done(SEARCH, "--format csv").lines
    assert lines[:3] == ["query,rank,item,distance", "0,1,1,1.000000", "0,2,0,3.000000"]


def test_items_do_not_find_themselves(hashbench: CommandLine) -> None:
    printed = hashbench.json("index items.npz items.npz --k 1 --top 1 --exclude-self")
    assert printed["ids"] == [[1], [0], [3], [2]]
    assert printed["suf"] == 3.0  # of the three others, each finds one


def test_codes_may_be_buckets_beside_a_file_of_embeddings(hashbench: CommandLine) -> None:
    np.savez("codes.npz", buckets=np.array([[0.0], [0.0], [1.0], [2.0]]), d=3)  # as MATLAB has numbers
    printed = hashbench.json("index codes.npz queries.npz --top 2 --embeddings items.npy")
    assert printed["ids"] == [[1, 0], [2, 3]]
