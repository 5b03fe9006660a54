"""``hashbench search`` in saved codes: ids, distances and ranks."""

import numpy as np
import pytest
from support.command_line import CommandLine

from hashbench.scoring.codes import pack
from hashbench.scoring.codes.nearest import neighbours_of

RNG = np.random.default_rng(5)
CENTRES = RNG.integers(0, 2, (12, 32), np.uint8)
DATABASE = CENTRES.repeat(30, axis=0) ^ (RNG.random((360, 32)) < 0.03)
QUERY = CENTRES[:6]


@pytest.fixture(autouse=True)
def codes(here: None) -> None:
    np.savez("codes.npz", query_codes=QUERY, database_codes=DATABASE)


def exact(top: int, name: str = "distances") -> list[list[int]]:
    return [getattr(near, name).tolist() for near in neighbours_of(pack(QUERY), pack(DATABASE), top)]


def test_a_top_above_the_database_finds_all_items(hashbench: CommandLine) -> None:
    answer = hashbench.done("search codes.npz --top 999 --json")
    assert answer.err.splitlines()[-1] == "note: --top 999: the database has 360 items, and all are found"
    assert [sorted(ids) for ids in answer.json["ids"]] == [list(range(360))] * 6
    assert answer.json["top"] == 360
    assert answer.json["distances"] == exact(360)


def test_exhaustive_search_prints_and_writes_ids_distances_and_ranks(hashbench: CommandLine) -> None:
    printed = hashbench.json("search codes.npz --top 4 --out near.npz")
    assert printed.pop("search_s") > 0
    arrays = {"queries": [0, 1, 2, 3, 4, 5], "ids": exact(4, "items")}
    arrays |= {name: exact(4, name) for name in ("distances", "first", "last")}
    sizes = {"codes": "codes.npz", "n_queries": 6, "n_items": 360, "n_bits": 32, "top": 4}
    tied = sum(last[-1] > 4 for last in arrays["last"])
    assert printed == {**sizes, "n_cut_ties": tied, **arrays}
    assert {name: array.tolist() for name, array in np.load("near.npz").items()} == arrays


def test_the_text_has_a_line_a_query(hashbench: CommandLine) -> None:
    assert len(hashbench.done("search codes.npz").lines) == 4 + 6
    lines = hashbench.done("search codes.npz --top 2 --queries 3").lines
    assert lines[0] == "codes.npz: 3 queries, 360 items, 32 bits"
    assert lines[1].startswith("exhaustive: 3 queries have more items as near as the last one shown; ")
    ids = exact(2, "items")
    items = [f"{q}      {ids[q][0]} (0), {ids[q][1]} (0)" for q in (0, 2, 4)]
    assert lines[3:] == ["query  items (distance)", *items]


def test_of_many_queries_without_a_number_the_first_ten_are_shown(hashbench: CommandLine) -> None:
    queries = DATABASE[::9]
    np.savez("codes.npz", query_codes=queries, database_codes=DATABASE)
    distances = np.sort((queries[:, None] != DATABASE[None]).sum(axis=2), axis=1)
    lines = hashbench.done("search codes.npz --top 40 --out near.npz").lines
    assert lines[0] == "codes.npz: 40 queries, 360 items, 32 bits"
    assert [line.split()[0] for line in lines[4:-2]] == [str(query) for query in range(10)]
    assert lines[-1].startswith("- --queries N ")
    assert np.load("near.npz")["distances"].tolist() == distances[:, :40].tolist()
    assert len(hashbench.json("search codes.npz")["ids"]) == 40
    assert len(hashbench.done("search codes.npz --queries 20").lines) == 4 + 20
    lines = hashbench.done("search codes.npz --queries 20 --top 2 --format csv").lines
    assert lines[0] == "query,rank,item,distance" and len(lines) == 1 + 2 * 20


def test_two_files_without_a_key(hashbench: CommandLine) -> None:
    np.save("q.npy", np.packbits(QUERY, axis=1))
    np.save("d.npy", np.packbits(DATABASE, axis=1))
    arrays = "--array query-codes=q.npy --array database-codes=d.npy"
    assert hashbench.json("search", arrays, "--layout 32,big")["ids"] == exact(10, "items")


def test_the_codes_of_a_run_are_searched(hashbench: CommandLine) -> None:
    run = hashbench.json("train lsh digits --protocol s1 --bits 16")["run"]
    of_run = hashbench.json(f"search {run} --top 3")
    assert of_run["n_queries"] == 500
    assert of_run["n_items"] == 1297
    assert of_run["n_bits"] == 16
    assert of_run["codes"].endswith(f"runs/{run}/codes.npz")
    assert hashbench.json(f"search {of_run['codes']} --top 3")["ids"] == of_run["ids"]
