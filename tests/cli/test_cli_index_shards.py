"""``hashbench index`` over several files: the answers of one index, and one line for what is no index together."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from support.command_line import call

from hashbench.sparse import index_file
from hashbench.sparse.index import embeddings_sha256

Capture = pytest.CaptureFixture[str]

SIZES = {2: 5, 10: 3, 11: 4}  # items by the number in the name of the file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: items-2.npz, -10, -11 (twelve items), vectors-*.npy, all.npz, queries.npz."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    arrays = {"activations": rng.integers(0, 4, (12, 4)).astype(float), "embeddings": rng.integers(0, 3, (12, 2)) * 1.0}
    np.savez("all.npz", **arrays)
    first = 0
    for number, size in SIZES.items():
        np.savez(f"items-{number}.npz", **{name: array[first : first + size] for name, array in arrays.items()})
        np.save(f"vectors-{number}.npy", arrays["embeddings"][first : first + size])
        first += size
    np.savez("queries.npz", activations=rng.random((3, 4)), embeddings=rng.random((3, 2)))
    return tmp_path


def good(capsys: Capture, *arguments: object) -> str:
    code, out, err = call(capsys, "index", *arguments)
    assert code == 0, err
    return out


def refused(capsys: Capture, *arguments: object) -> str:
    """The one line of an error with exit status 2."""
    code, out, err = call(capsys, "index", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    return err.removeprefix("error: ").rstrip()


def build(capsys: Capture, *more: object, items: str = "items-*.npz", out: str = "index", k: int = 2) -> str:
    return good(capsys, "build", items, "--embeddings", items, "--k", k, "--out", out, *more)


def answers(printed: str) -> dict[str, Any]:
    """The --json output without what names the index."""
    return {name: value for name, value in json.loads(printed).items() if name not in ("index", "shards")}


def test_build_prints_the_sizes_of_the_whole(folder: Path, capsys: Capture) -> None:
    text = build(capsys)
    size = sum(path.stat().st_size for path in (folder / "index").iterdir())
    assert text == f"index: 12 items in 4 buckets, 2 an item, embeddings of width 2; 3 shards, {size:,} bytes\n"
    assert json.loads(build(capsys, "--json")) == {
        "index": "index",
        "n_items": 12,
        "d": 4,
        "k": 2,
        "width": 2,
        "size_bytes": size,
        "shards": [
            {"file": "index/items-2.h5", "n_items": 5, "first_id": 0},
            {"file": "index/items-10.h5", "n_items": 3, "first_id": 5},
            {"file": "index/items-11.h5", "n_items": 4, "first_id": 8},
        ],
    }


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Four items on a line, in buckets 0, 0 and in 1, 2; two queries; and the index of two shards at k = 1."""
    monkeypatch.chdir(tmp_path)
    activations = np.array([[1.0, 0.0, 0.5], [1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
    embeddings = np.array([[0.0], [4.0], [1.0], [9.0]])
    for number, rows in enumerate((slice(0, 2), slice(2, 4))):
        np.savez(f"items-{number}.npz", activations=activations[rows], embeddings=embeddings[rows])
    asked = np.array([[0.9, 0.1, 0.0], [0.0, 0.1, 0.9]])
    np.savez("queries.npz", activations=asked, embeddings=np.array([[3.0], [3.0]]))
    build(capsys, k=1)


def test_query_prints_a_line_a_query(line: None, capsys: Capture) -> None:
    assert good(capsys, "query", "index", "queries.npz", "--top", 2).splitlines() == [
        "index: 4 items in 3 buckets, 1 an item, embeddings of width 1; 2 shards",
        "2 queries: 2.0 candidates a query, SUF 2.00; 1 opened more than 1",
        "query  candidates  items (distance)",
        "    0           2  1 (1)  0 (3)",
        "    1           2  2 (2)  3 (6)",
    ]


def test_query_prints_one_object(line: None, capsys: Capture) -> None:
    assert json.loads(good(capsys, "query", "index", "queries.npz", "--top", 2, "--json")) == {
        "index": "index",
        "n_items": 4,
        "d": 3,
        "k": 1,
        "width": 1,
        "shards": [
            {"file": "index/items-0.h5", "n_items": 2, "first_id": 0},
            {"file": "index/items-1.h5", "n_items": 2, "first_id": 2},
        ],
        "n_queries": 2,
        "mean_candidates": 2.0,
        "suf": 2.0,
        "n_opened_more": 1,  # bucket 2 holds one item, so the second query opens 1 too
        "ids": [[1, 0], [2, 3]],
        "distances": [[1.0, 3.0], [2.0, 6.0]],
        "n_candidates": [2, 2],
        "n_opened": [1, 2],
    }


def test_query_answers_as_one_index(folder: Path, capsys: Capture) -> None:
    build(capsys)
    build(capsys, items="all.npz", out="one.h5")
    for named in [["index"], ["index/*.h5"], ["index/items-11.h5", "index/items-2.h5", "index/items-10.h5"]]:
        for top in [1, 3, 11]:
            one = answers(good(capsys, "query", "one.h5", "queries.npz", "--top", top, "--json"))
            printed = good(capsys, "query", *named, "queries.npz", "--top", top, "--json")
            assert answers(printed) == one
            assert json.loads(printed)["index"] == " ".join(named)
            assert [shard["first_id"] for shard in json.loads(printed)["shards"]] == [0, 5, 8]


def test_all_options_work_over_shards(folder: Path, capsys: Capture) -> None:
    build(capsys)
    build(capsys, items="all.npz", out="one.h5")
    asked = ("all.npz", "--top", 11, "--exclude-self", "--verify", "--json", "--out")
    one = good(capsys, "query", "one.h5", *asked, "one.npz")
    of_items = ("--codes", "items-*.npz", "--embeddings", "vectors-*.npy")
    assert answers(good(capsys, "query", "index", *asked, "found.npz", *of_items)) == answers(one)
    with np.load("one.npz") as expected, np.load("found.npz") as found:
        assert sorted(found) == ["distances", "ids", "n_candidates", "n_opened"]
        for name in expected:
            assert (found[name].dtype, found[name].tolist()) == (expected[name].dtype, expected[name].tolist())


def test_embeddings_may_lie_in_files_of_their_own(folder: Path, capsys: Capture) -> None:
    build(capsys)
    good(capsys, "build", "items-*.npz", "--embeddings", "vectors-*.npy", "--k", 2, "--out", "other")
    asked = ("queries.npz", "--top", 4, "--json")
    assert answers(good(capsys, "query", "other", *asked)) == answers(good(capsys, "query", "index", *asked))


def test_indexes_built_one_by_one_are_in_the_order_of_their_names(folder: Path, capsys: Capture) -> None:
    build(capsys)
    for number in SIZES:
        build(capsys, items=f"items-{number}.npz", out=f"own-{number}.h5")
    asked = ("queries.npz", "--top", 4, "--json")
    assert answers(good(capsys, "query", "own-*.h5", *asked)) == answers(good(capsys, "query", "index", *asked))


def test_shards_keep_the_order_of_their_build_under_other_names(folder: Path, capsys: Capture) -> None:
    build(capsys)
    asked = ("query", "index", "queries.npz", "--top", 4, "--json")
    before = good(capsys, *asked)
    (folder / "index" / "items-2.h5").rename(folder / "index" / "z.h5")
    assert answers(good(capsys, *asked)) == answers(before)


def test_a_pattern_of_one_file_is_a_folder_of_one_shard(folder: Path, capsys: Capture) -> None:
    assert build(capsys, items="items-2*.npz").startswith(
        "index: 5 items in 4 buckets, 2 an item, embeddings of width 2; 1 shard, "
    )
    assert good(capsys, "query", "index", "queries.npz", "--top", 1).startswith("index: 5 items in 4 buckets")


def stamps(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in folder.iterdir()}


def test_a_shard_that_is_there_is_not_built_again(folder: Path, capsys: Capture) -> None:
    build(capsys)
    before = stamps(folder / "index")
    (folder / "index" / "items-10.h5").unlink()
    code, _, err = call(
        capsys, "index", "build", "items-*.npz", "--embeddings", "items-*.npz", "--k", 2, "--out", "index"
    )
    assert (code, err) == (0, "note: 2 of 3 shards are there already\n")
    after = stamps(folder / "index")
    assert {name for name in before if before[name] == after[name]} >= {"items-2.h5", "items-11.h5"}
    build(capsys, k=1)  # another index: all are built again
    assert index_file.load(folder / "index" / "items-2.h5").codes.k == 1


def test_a_shard_of_changed_items_is_built_again(folder: Path, capsys: Capture) -> None:
    build(capsys)
    before = stamps(folder / "index")
    arrays = dict(np.load("items-10.npz"))
    np.savez("items-10.npz", **{**arrays, "embeddings": arrays["embeddings"] + 1})
    build(capsys)
    header = index_file.header(folder / "index" / "items-10.h5")
    assert header.embeddings_sha256 == embeddings_sha256(arrays["embeddings"] + 1)
    assert stamps(folder / "index")["items-10.h5"] != before["items-10.h5"]


def test_a_build_takes_further_files_in(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    build(capsys, items="items-1?.npz")
    built = []
    whole = index_file.save
    monkeypatch.setattr(
        index_file, "save", lambda index, path, *more: built.append(path.name) or whole(index, path, *more)
    )
    build(capsys)
    assert built == ["items-2.h5"]
    build(capsys, items="all.npz", out="one.h5")
    asked = ("queries.npz", "--top", 5, "--verify", "--json")
    assert answers(good(capsys, "query", "index", *asked)) == answers(good(capsys, "query", "one.h5", *asked))


def test_workers_build_the_same_files(folder: Path, capsys: Capture) -> None:
    build(capsys)
    build(capsys, "--jobs", 2, out="by-two")
    for path in (folder / "index").iterdir():
        assert path.read_bytes() == (folder / "by-two" / path.name).read_bytes()


STOPS = """
import os, sys, h5py
from hashbench.cli._app import main

create = h5py.File.create_dataset

def stops(file, name, **how):
    if name == "embeddings" and "items-11" in file.filename:
        file.flush()
        os.kill(os.getpid(), int(sys.argv.pop()))
    return create(file, name, **how)

h5py.File.create_dataset = stops
main(sys.argv[1:-1])
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_a_build_that_is_stopped_is_not_searched_and_goes_on(
    folder: Path, capsys: Capture, number: int, status: int
) -> None:
    command = ["index", "build", "items-*.npz", "--embeddings", "items-*.npz", "--k", "2", "--out", "index"]
    stopped = [sys.executable, "-c", STOPS, *command, str(int(number))]
    done = subprocess.run(stopped, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, done.stderr
    left = sorted(path.name for path in (folder / "index").iterdir())
    assert len(left) == (3 if number == signal.SIGKILL else 2)  # a hidden part of the third may be left
    assert [name for name in left if not name.startswith(".")] == ["items-10.h5", "items-2.h5"]
    assert refused(capsys, "query", "index", "queries.npz") == (
        "index/items-2.h5: shard 1 of 3, but shard 3 is missing: name the files of all shards, or finish the build"
    )
    code, _, err = call(capsys, *command)
    assert (code, err) == (0, "note: 2 of 3 shards are there already\n")
    assert sorted(path.name for path in (folder / "index").iterdir()) == ["items-10.h5", "items-11.h5", "items-2.h5"]
    build(capsys, items="all.npz", out="one.h5")
    asked = ("queries.npz", "--top", 2, "--verify", "--json")
    assert answers(good(capsys, "query", "index", *asked)) == answers(good(capsys, "query", "one.h5", *asked))


def test_a_full_disk_leaves_the_finished_shards(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    create = h5py.File.create_dataset

    def full(file: h5py.File, name: str, **how: Any) -> h5py.Dataset:
        if "items-11" in file.filename:
            raise OSError(28, "No space left on device")
        return create(file, name, **how)

    monkeypatch.setattr(h5py.File, "create_dataset", full)
    command = ("build", "items-*.npz", "--embeddings", "items-*.npz", "--k", 2, "--out", "index")
    assert refused(capsys, *command) == (
        "index/items-11.h5: cannot be written (No space left on device): make room or write elsewhere"
    )
    assert sorted(path.name for path in (folder / "index").iterdir()) == ["items-10.h5", "items-2.h5"]


def test_what_is_no_index_in_shards_is_one_line(folder: Path, capsys: Capture) -> None:
    def asked(items: str, embeddings: str, *more: object) -> str:
        return refused(capsys, "build", items, "--embeddings", embeddings, "--out", "new", *more)

    assert asked("no-*.npz", "items-*.npz").startswith("no-*.npz: no such file: files or a quoted pattern are expected")
    assert asked("items-*.npz", "no-*.npz").startswith("no-*.npz: no such file")
    assert asked("items-*.npz", "vectors-1?.npy", "--k", 2) == (
        "--embeddings vectors-1?.npy: 2 files, but 3 files of items: one for each is expected; quote a pattern, such "
        "as 'embeddings-*.npy'"
    )
    assert asked("items-2.npz", "items-2.npz", "--k", 2, "--jobs", 2).startswith(
        "--jobs needs several files of items: "
    )
    assert "say with --k how many" in asked("items-*.npz", "items-*.npz")
    assert asked("items-*.npz", "items-*.npz", "--k", 5).endswith("k = 5 of 4 buckets: k from 1 to 4 is expected")
    assert asked("items-*.npz", "vectors-?*.npy", "--k", 2, "items-2.npz").startswith(
        "--embeddings vectors-?*.npy: 3 files"
    )
    np.save("vectors-11.npy", np.zeros((7, 2)))
    assert asked("items-*.npz", "vectors-*.npy", "--k", 2) == (
        "vectors-11.npy: 7 embeddings, but 4 items in items-11.npz: one for each is expected"
    )
    np.save("vectors-11.npy", np.zeros((4, 3)))
    assert asked("items-*.npz", "vectors-*.npy", "--k", 2) == (
        "items-11.npz: d = 4, k = 2, embeddings of width 3, but d = 4, k = 2, embeddings of width 2 in items-2.npz: "
        "the shards of an index have the same"
    )
    assert not (folder / "new").exists()
    np.save("vectors-11.npy", np.full((4, 2), 1e19))
    for jobs in (1, 2):  # and another k, so that no shard is there
        found = asked("items-*.npz", "vectors-*.npy", "--k", jobs, "--jobs", jobs)
        assert found.startswith("vectors-11.npy: embeddings: not finite")


def test_the_same_shard_twice_is_refused(folder: Path, capsys: Capture) -> None:
    (folder / "items-12.npz").write_bytes((folder / "items-2.npz").read_bytes())
    assert refused(capsys, "build", "items-*.npz", "--embeddings", "items-*.npz", "--k", 2, "--out", "new") == (
        "items-12.npz: the same items and embeddings as items-2.npz: each shard is indexed once: leave one out"
    )
    assert list((folder / "new").iterdir()) == []
    (folder / "items-12.npz").unlink()
    build(capsys)
    assert refused(capsys, "query", "index", "index/items-10.h5", "queries.npz") == (
        "index/items-10.h5: the same index as index/items-10.h5: each shard counts once: leave one out"
    )
    build(capsys, items="items-2.npz", out="a.h5")
    build(capsys, items="items-2.npz", out="b.h5")
    assert refused(capsys, "query", "a.h5", "b.h5", "queries.npz").startswith("b.h5: the same index as a.h5")


def test_inputs_and_other_files_are_not_replaced(folder: Path, capsys: Capture) -> None:
    with h5py.File("items-5.h5", "w") as file:
        file["activations"], file["embeddings"] = np.zeros((4, 4)), np.zeros((4, 2))
    files = ("items-2.npz", "items-5.h5")
    asked = ("build", *files, "--embeddings", "items-[25].*", "--k", 2, "--out")
    assert refused(capsys, *asked, ".") == "items-5.h5: is one of the inputs: name another folder with --out"
    (folder / "new").mkdir()
    (folder / "new" / "items-2.h5").write_text("notes")
    assert refused(capsys, *asked, "new").startswith("new/items-2.h5: not a readable index: ")
    assert (folder / "new" / "items-2.h5").read_text() == "notes"
    (folder / "more").mkdir()
    (folder / "more" / "items-2.npz").write_bytes((folder / "items-10.npz").read_bytes())
    assert refused(capsys, "build", "**/items-2.npz", "--embeddings", "**/items-2.npz", "--k", 2, "--out", "index") == (
        "more/items-2.npz: the index of items-2.npz has the same name: rename one of them"
    )


def test_a_shard_that_is_missing_is_named(folder: Path, capsys: Capture) -> None:
    build(capsys)
    expected = "shard 1 of 3, but shard 2 is missing: name the files of all shards, or finish the build"
    assert (
        refused(capsys, "query", "index/items-2.h5", "index/items-11.h5", "queries.npz")
        == f"index/items-2.h5: {expected}"
    )
    assert refused(capsys, "query", "index/items-2.h5", "queries.npz") == (
        "index/items-2.h5: shard 1 of 3, but shard 2, 3 is missing: name the files of all shards, or finish the build"
    )


def test_shards_that_do_not_fit_are_one_line(folder: Path, capsys: Capture) -> None:
    build(capsys)
    build(capsys, items="items-1?.npz", out="other")
    build(capsys, items="all.npz", out="one.h5")
    build(capsys, items="all.npz", out="wide.h5", k=3)
    assert refused(capsys, "query", "index", "other", "queries.npz") == (
        "other/items-10.h5: is not part of the build of index/items-2.h5: finish that build, or leave one of them out"
    )
    assert refused(capsys, "query", "index", "one.h5", "queries.npz") == (
        "one.h5: is not part of the build of index/items-2.h5: finish that build, or leave one of them out"
    )
    assert refused(capsys, "query", "one.h5", "wide.h5", "queries.npz") == (
        "wide.h5: d = 4, k = 3, embeddings of width 2, but d = 4, k = 2, embeddings of width 2 in one.h5: "
        "the shards of an index have the same"
    )
    assert refused(capsys, "query", "no-*.h5", "queries.npz").startswith("no-*.h5: no such file")
    (folder / "empty").mkdir()
    assert refused(capsys, "query", "empty", "queries.npz").startswith("empty: no .h5 file in this folder")
    assert "12 items; the queries must be the indexed items" in refused(
        capsys, "query", "index", "queries.npz", "--exclude-self"
    )


def test_shards_of_other_items_are_refused(folder: Path, capsys: Capture) -> None:
    build(capsys)
    asked = ("query", "index", "queries.npz", "--top", 2)
    assert refused(capsys, *asked, "--codes", "all.npz") == "--codes: 1 files, 3 shards: a file for each is expected"
    np.save("vectors-10.npy", np.ones((3, 2)))
    assert refused(capsys, *asked, "--embeddings", "vectors-*.npy") == (
        "index/items-10.h5: built for other embeddings than those of vectors-10.npy: build it again"
    )
    arrays = dict(np.load("items-11.npz"))
    np.savez("items-11.npz", activations=-arrays["activations"])
    assert refused(capsys, *asked, "--codes", "items-*.npz") == (
        "index/items-11.h5: built for other codes than those of items-11.npz: build it again"
    )


def test_damaged_shards_are_one_line(folder: Path, capsys: Capture) -> None:
    build(capsys)
    path = folder / "index" / "items-10.h5"
    content = path.read_bytes()
    with h5py.File(path, "r+") as file:
        file["embeddings"][0, 0] += 1
    good(capsys, "query", "index", "queries.npz", "--top", 2)
    assert refused(capsys, "query", "index", "queries.npz", "--top", 2, "--verify") == (
        "index/items-10.h5: not a readable index: its checksum is another: build it again"
    )
    path.write_bytes(content[: len(content) // 2])
    assert refused(capsys, "query", "index", "queries.npz").startswith("index/items-10.h5: not a readable index: ")
    path.write_bytes(content)
    for name, value in {"shard": 4, "n_shards": "many"}.items():
        with h5py.File(path, "r+") as file:
            file.attrs[name] = value
        assert refused(capsys, "query", "index", "queries.npz").startswith("index/items-10.h5: not a readable index: ")
        path.write_bytes(content)
