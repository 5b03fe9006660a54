"""hashbench search in saved codes: ids, distances and ranks."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import call

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


def test_a_top_above_the_database_finds_all_items(capsys: pytest.CaptureFixture[str], codes: Path) -> None:
    code, printed, error = call(capsys, "search", codes, "--top", 999, "--json")
    found = json.loads(printed)
    assert (code, found["top"], error.splitlines()[-1]) == (
        0,
        360,
        "note: --top 999: the database has 360 items, and all are found",
    )
    assert [sorted(ids) for ids in found["ids"]] == [list(range(360))] * 6
    assert found["distances"] == exact(360)


def test_exhaustive_search_prints_and_writes_ids_distances_and_ranks(
    capsys: pytest.CaptureFixture[str], codes: Path, tmp_path: Path
) -> None:
    out = tmp_path / "near.npz"
    code, printed, error = call(capsys, "search", codes, "--top", 4, "--json", "--out", out)
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


def test_the_text_has_a_line_a_query(capsys: pytest.CaptureFixture[str], codes: Path) -> None:
    lines = call(capsys, "search", codes, "--top", 2, "--queries", 3)[1].splitlines()
    assert lines[0] == f"{codes}: 3 queries, 360 items, 32 bits"
    assert lines[1].startswith("exhaustive: 3 queries have more items as near as the last one shown; ")
    ids = exact(2, "items")
    assert lines[3:] == [
        "query  items (distance)",
        *(f"{q}      {ids[q][0]} (0), {ids[q][1]} (0)" for q in (0, 2, 4)),
    ]


def test_many_queries_without_a_number_are_summed_up(
    capsys: pytest.CaptureFixture[str], codes: Path, tmp_path: Path
) -> None:
    """A few have a line each; of more the text has the distances over all queries, and the file each of them."""
    assert len(call(capsys, "search", codes)[1].splitlines()) == 4 + 6
    many = DATABASE[::9]
    np.savez(codes, query_codes=many, database_codes=DATABASE)
    distances = np.sort((many[:, None] != DATABASE[None]).sum(axis=2), axis=1)[:, :4]
    lines = call(capsys, "search", codes, "--top", 4, "--out", tmp_path / "near.npz")[1].splitlines()
    assert lines[0] == f"{codes}: 40 queries, 360 items, 32 bits"
    assert lines[3] == "rank  smallest distance  median  largest"
    assert [[int(word) for word in line.split()] for line in lines[4:-2]] == [
        [n, of.min(), np.sort(of)[19], of.max()] for n in (1, 2, 4) for of in [distances[:, n - 1]]
    ]
    assert lines[-1].startswith("- --queries N ")
    with np.load(tmp_path / "near.npz") as archive:
        assert archive["distances"].tolist() == distances.tolist()
    assert len(json.loads(call(capsys, "search", codes, "--json")[1])["ids"]) == 40
    assert len(call(capsys, "search", codes, "--queries", 20)[1].splitlines()) == 4 + 20
    lines = call(capsys, "search", codes, "--queries", 20, "--top", 2, "--format", "csv")[1].splitlines()
    assert lines[0] == "query,rank,item,distance" and len(lines) == 1 + 2 * 20


def test_two_files_without_a_key(capsys: pytest.CaptureFixture[str], codes: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "q.npy", np.packbits(QUERY, axis=1))
    np.save(tmp_path / "d.npy", np.packbits(DATABASE, axis=1))
    files = "--array", f"query-codes={tmp_path}/q.npy", "--array", f"database-codes={tmp_path}/d.npy"
    code, printed, _ = call(capsys, "search", *files, "--layout", "32,big", "--json")
    assert (code, json.loads(printed)["ids"]) == (0, exact(10, "items"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{codes}", "--out", "a.png"], "a.png: ids and distances are written to an .npz: name a FILE.npz"),
        (["{codes}", "--out", "{codes}"], "{codes}: named twice, as an input or an output"),
        (
            ["{codes}", "images"],
            "images: your own queries are encoded by a run, and {codes} has only codes: name a run",
        ),
        (["no/such.npz"], "no/such.npz: no such file"),
        (["none.npy"], "none.npy: no such file"),
        ([], "nothing to search: name a run or codes, or both query-codes and database-codes by --array"),
        (["--array", "query-codes={codes}"], "nothing to search: name a run or codes"),
    ],
)
def test_a_wrong_question_is_one_line(
    capsys: pytest.CaptureFixture[str],
    codes: Path,
    arguments: list[object],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = codes.read_bytes()
    code, printed, error = call(capsys, "search", *(str(each).format(codes=codes) for each in arguments))
    assert (code, printed, error.count("\n")) == (2, "", 1)
    assert error.startswith(f"error: {said.format(codes=codes)}")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["codes.npz"]
    assert codes.read_bytes() == before


def test_the_codes_of_a_run_are_searched(capsys: pytest.CaptureFixture[str]) -> None:
    run = json.loads(call(capsys, "train", "lsh", "digits", "--protocol", "s1", "--bits", "16", "--json")[1])["run"]
    found = json.loads(call(capsys, "search", run, "--top", "3", "--json")[1])
    assert (found["n_queries"], found["n_items"], found["n_bits"]) == (500, 1297, 16)
    assert found["codes"].endswith(f"runs/{run}/codes.npz")
    codes = found["codes"]
    again = json.loads(call(capsys, "search", codes, "--top", "3", "--json")[1])
    assert again["ids"] == found["ids"]
