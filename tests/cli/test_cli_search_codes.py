"""hashbench search in saved codes: ids, distances and ranks."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import CommandLine

from hashbench.codes import pack
from hashbench.codes.nearest import neighbours_of

rng = np.random.default_rng(5)
CENTRES = rng.integers(0, 2, (12, 32), np.uint8)
DATABASE = CENTRES.repeat(30, axis=0) ^ (rng.random((360, 32)) < 0.03)
QUERY = CENTRES[:6]


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    np.savez(tmp_path / "codes.npz", query_codes=QUERY, database_codes=DATABASE)
    return tmp_path / "codes.npz"


def exact(top: int, name: str = "distances") -> list[list[int]]:
    return [getattr(found, name).tolist() for found in neighbours_of(pack(QUERY), pack(DATABASE), top)]


def test_a_top_above_the_database_finds_all_items(hashbench: CommandLine, codes: Path) -> None:
    code, printed, error = hashbench(f"search {codes} --top 999 --json")
    found = json.loads(printed)
    assert (code, found["top"], error.splitlines()[-1]) == (
        0,
        360,
        "note: --top 999: the database has 360 items, and all are found",
    )
    assert [sorted(ids) for ids in found["ids"]] == [list(range(360))] * 6
    assert found["distances"] == exact(360)


def test_exhaustive_search_prints_and_writes_ids_distances_and_ranks(
    hashbench: CommandLine, codes: Path, tmp_path: Path
) -> None:
    out = tmp_path / "near.npz"
    code, printed, error = hashbench(f"search {codes} --top 4 --json --out {out}")
    assert (code, error) == (0, "")
    found = json.loads(printed)
    assert found.pop("search_s") > 0
    arrays = {"ids": "items", "distances": "distances", "first": "first", "last": "last"}
    expected: dict[str, Any] = {name: exact(4, field) for name, field in arrays.items()}
    tied = sum(last[-1] > 4 for last in expected["last"])
    assert found == {
        "codes": str(codes),
        "n_queries": 6,
        "n_items": 360,
        "n_bits": 32,
        "top": 4,
        "n_cut_ties": tied,
        "queries": [0, 1, 2, 3, 4, 5],
        **expected,
    }
    with np.load(out) as archive:
        assert {name: archive[name].tolist() for name in archive.files} == {"queries": [0, 1, 2, 3, 4, 5], **expected}


def test_the_text_has_a_line_a_query(hashbench: CommandLine, codes: Path) -> None:
    lines = hashbench(f"search {codes} --top 2 --queries 3").lines
    assert lines[0] == f"{codes}: 3 queries, 360 items, 32 bits"
    assert lines[1].startswith("exhaustive: 3 queries have more items as near as the last one shown; ")
    ids = exact(2, "items")
    assert lines[3:] == [
        "query  items (distance)",
        *(f"{q}      {ids[q][0]} (0), {ids[q][1]} (0)" for q in (0, 2, 4)),
    ]


def test_many_queries_without_a_number_are_summed_up(hashbench: CommandLine, codes: Path, tmp_path: Path) -> None:
    """A few have a line each; of more the text has the distances over all queries, and the file each of them."""
    assert len(hashbench(f"search {codes}").lines) == 4 + 6
    many = DATABASE[::9]
    np.savez(codes, query_codes=many, database_codes=DATABASE)
    distances = np.sort((many[:, None] != DATABASE[None]).sum(axis=2), axis=1)[:, :4]
    lines = hashbench(f"search {codes} --top 4 --out", tmp_path / "near.npz").lines
    assert lines[0] == f"{codes}: 40 queries, 360 items, 32 bits"
    assert lines[3] == "rank  smallest distance  median  largest"
    assert [[int(word) for word in line.split()] for line in lines[4:-2]] == [
        [n, of.min(), np.sort(of)[19], of.max()] for n in (1, 2, 4) for of in [distances[:, n - 1]]
    ]
    assert lines[-1].startswith("- --queries N ")
    with np.load(tmp_path / "near.npz") as archive:
        assert archive["distances"].tolist() == distances.tolist()
    assert len(hashbench.json(f"search {codes}")["ids"]) == 40
    assert len(hashbench(f"search {codes} --queries 20").lines) == 4 + 20
    lines = hashbench(f"search {codes} --queries 20 --top 2 --format csv").lines
    assert lines[0] == "query,rank,item,distance" and len(lines) == 1 + 2 * 20


def test_two_files_without_a_key(hashbench: CommandLine, codes: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "q.npy", np.packbits(QUERY, axis=1))
    np.save(tmp_path / "d.npy", np.packbits(DATABASE, axis=1))
    files = "--array", f"query-codes={tmp_path}/q.npy", "--array", f"database-codes={tmp_path}/d.npy"
    code, printed, _ = hashbench("search", *files, "--layout 32,big --json")
    assert (code, json.loads(printed)["ids"]) == (0, exact(10, "items"))


def test_the_codes_of_a_run_are_searched(hashbench: CommandLine) -> None:
    run = hashbench.json("train lsh digits --protocol s1 --bits 16")["run"]
    found = hashbench.json(f"search {run} --top 3")
    assert (found["n_queries"], found["n_items"], found["n_bits"]) == (500, 1297, 16)
    assert found["codes"].endswith(f"runs/{run}/codes.npz")
    codes = found["codes"]
    again = hashbench.json(f"search {codes} --top 3")
    assert again["ids"] == found["ids"]
