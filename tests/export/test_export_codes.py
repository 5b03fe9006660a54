"""Codes written for other systems: the real system finds what an exhaustive search finds, by the README's own lines."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support import postgres
from support.command_line import CommandLine
from support.stored_toy import parts, store_toy

from hashbench import TrainedRun, train
from hashbench.foundation import paths
from hashbench.foundation.extras import how_to_install
from hashbench.scoring.codes import pack
from hashbench.scoring.codes.nearest import neighbours_of
from hashbench.showing.export.codes import README, TARGETS
from hashbench.showing.export.codes._target import table_of

N = 2000
Q = 100
TOP = 10
MODULES = {
    "faiss": ["faiss"],
    "milvus": ["pymilvus", "milvus_lite", "pkg_resources"],
    "numpy": [],
    "pgvector": ["psycopg"],
    "sentence-transformers": ["sentence_transformers", "faiss"],
    "sqlite-vec": ["apsw", "sqlite_vec"],
    "usearch": ["usearch"],
}
SLOW = {"milvus", "pgvector", "sentence-transformers"}
CASES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in TARGETS]


@pytest.fixture
def needed(target: str) -> Iterator[dict[str, str]]:
    """The variables of the environment that the example needs; skips the test where a part of the system is missing."""
    for module in MODULES[target]:
        if find_spec(module) is None:
            pytest.skip(f"needs {TARGETS[target].needs}")
    if target != "pgvector":
        yield {}
        return
    folder, fault = postgres.binaries()
    if folder is None:
        pytest.skip(f"needs PostgreSQL with pgvector 0.7 or later: {fault}")
    with postgres.server(folder) as variables:
        yield variables | {"PSQL": str(folder / "psql")}


def searched(folder: Path, variables: dict[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """(ids, distances) [q, 10] that the Python of the README finds, in a process of its own."""
    text = (folder / README).read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    ends = "import json; print(json.dumps([np.array(ids).tolist(), np.array(distances).tolist()]))"
    command = [sys.executable, "-W", "ignore", "-c", f"{example}\n{ends}"]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stderr
    ids, distances = json.loads(done.stdout.splitlines()[-1])
    return np.array(ids), np.array(distances)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("target", CASES)
@pytest.mark.parametrize("n_bits", [48, 12])
def test_the_real_system_finds_the_nearest(
    hashbench: CommandLine, tmp_path: Path, target: str, n_bits: int, needed: dict[str, str]
) -> None:
    rng = np.random.default_rng(n_bits)
    database = rng.integers(0, 2, (N, n_bits), np.uint8)
    queries = database[:Q] ^ (rng.random((Q, n_bits)) < 0.1)
    np.savez(tmp_path / "codes.npz", query_codes=queries, database_codes=database)
    out = tmp_path / "out"
    printed = hashbench.printed("export", tmp_path / "codes.npz", "--codes --to", target, "--out", out)
    assert printed.split() == [str(out / TARGETS[target].file), str(out / README)]
    assert sorted(path.name for path in out.iterdir()) == sorted([TARGETS[target].file, README])
    assert "learned weights" not in (out / README).read_text()
    assert ("the last 4 are 0" in (out / README).read_text()) == (n_bits == 12 and target != "pgvector")
    np.savez(out / "queries.npz", codes=queries)
    psql = needed.pop("PSQL", "")
    for _ in range(2):  # each README may be followed again
        if target == "pgvector":
            script = [psql, "--quiet", "--set", "ON_ERROR_STOP=1", "--file", str(out / "codes.sql")]
            subprocess.run(script, check=True, env=os.environ | needed)
        ids, distances = searched(out, needed)
    expected = neighbours_of(pack(queries), pack(database), TOP)
    assert distances.tolist() == [nearest.distances.tolist() for nearest in expected]
    assert ids.shape == (Q, TOP)
    assert [len(set(row)) for row in ids.tolist()] == [TOP] * Q
    # whatever the order of ties, an item that is named lies at the distance that is named
    assert ((database[ids] != queries[:, None]).sum(axis=2) == distances).all()
    n_compared = 0
    for row, nearest in zip(ids.tolist(), expected, strict=True):
        if nearest.last[-1] == TOP:  # no tie is cut
            n_compared += 1
            assert sorted(row) == sorted(nearest.items.tolist())
    assert n_compared or n_bits == 12


@pytest.mark.parametrize("target", sorted(set(TARGETS) - SLOW))
def test_of_fewer_codes_than_ten_all_are_found(
    hashbench: CommandLine, tmp_path: Path, target: str, needed: dict[str, str]
) -> None:
    database = np.eye(3, 12, dtype=np.uint8)
    np.savez(
        tmp_path / "codes.npz",
        query_codes=database,
        database_codes=database,
        bit_weights=np.ones(12),
        layout="items-by-bits",
    )
    out = tmp_path / "out"
    hashbench.done("export", tmp_path / "codes.npz", "--codes --to", target, "--out", out)
    assert "The learned weights of the bits are left out: each bit counts 1" in (out / README).read_text()
    np.savez(out / "queries.npz", codes=database)
    ids, distances = searched(out, needed)
    assert np.sort(ids).tolist() == [[0, 1, 2]] * 3 and distances.tolist() == [[0, 2, 2]] * 3


def test_other_codes_have_another_table() -> None:
    codes = [pack(np.eye(9, n_bits, dtype=np.uint8)) for n_bits in (48, 12)]
    tables = {table_of(name, codes[0]) for name in ("Codes of 2024", "codes", "数据", "x" * 99, "")}
    tables.add(table_of("codes", codes[1]))
    assert len(tables) == 5  # a name without a letter or digit is none
    assert all(re.fullmatch("[a-z][a-z0-9_]{5,54}", table) for table in tables)


ITEMS = np.random.default_rng(0).standard_normal((150, 20), np.float32)


@pytest.fixture
def run(tmp_path: Path) -> TrainedRun:
    """A run on a data set of ``ITEMS``."""
    store_toy(tmp_path, ITEMS, np.arange(150) % 3, parts(30, 90, 150))
    return train("itq", "toy", bits=12)


def test_the_database_of_a_run_in_its_order(run: TrainedRun, hashbench: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "out"
    hashbench.done("export", run.row.run, "--codes --to numpy --out", out)
    assert np.array_equal(np.load(out / "codes.npy"), np.packbits(run.encode(ITEMS[30:]), axis=1))
    assert f"from the run `{run.row.run}`" in (out / README).read_text()


def test_the_run_is_named_in_full_and_the_ids_of_its_items_are_beside(
    run: TrainedRun, hashbench: CommandLine, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    printed = hashbench.printed("export", run.row.run[:-3], "--codes --to numpy --json --out", out)
    assert [Path(path).name for path in json.loads(printed)] == ["codes.npy", README, "ids.npy"]
    text = (out / README).read_text()
    assert text.count(f"the run `{run.row.run}`") == 2 and 'np.load("ids.npy")[ids]' in text
    ids = np.load(out / "ids.npy")
    assert np.array_equal(np.load(out / "codes.npy"), np.packbits(run.encode(ITEMS[ids]), axis=1))
    np.savez(
        tmp_path / "named.npz", database_codes=run.encode(ITEMS[ids]), database_ids=ids + 7, layout="items-by-bits"
    )
    place = f"{tmp_path / 'named.npz'}:database_codes"
    hashbench.done("export", place, "--codes --to milvus --out", tmp_path / "of_file")
    assert np.array_equal(np.load(tmp_path / "of_file" / "ids.npy"), ids + 7)
    shutil.rmtree(paths.data() / "toy")
    status, printed, error = hashbench("export", run.row.run, "--codes --to numpy --out", tmp_path / "new")
    assert status == 0
    assert len(printed.split()) == 2
    assert len(error.splitlines()) == 1
    assert error.startswith("note: ids.npy, the ids of the items in the data set, is not written: ")
    assert "it is no id of a data set" in (tmp_path / "new" / README).read_text()


def test_the_names_of_own_items_are_beside(run: TrainedRun, hashbench: CommandLine, tmp_path: Path) -> None:
    np.save(tmp_path / "items.npy", ITEMS[:9])
    source = tmp_path / "own.npz"
    out = tmp_path / "out"
    hashbench.done("encode", run.row.run, tmp_path / "items.npy", "--out", source)
    hashbench.done("export", source, "--codes --to numpy --out", out)
    assert np.load(out / "names.npy").tolist() == list(map(str, range(9)))
    text = (out / README).read_text()
    assert 'np.load("names.npy")[ids]' in text and "ids.npy" not in text


def test_vectors_are_no_codes(hashbench: CommandLine, tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).standard_normal((20, 12), np.float32)
    np.savez(tmp_path / "vectors.npz", query_codes=np.sign(vectors[:3]), database_codes=vectors, layout="items-by-bits")
    for place in (tmp_path / "vectors.npz", f"{tmp_path / 'vectors.npz'}:database_codes"):
        error = hashbench.refused("export", place, "--codes --to numpy --out", tmp_path / "out")
        assert " is in it, and is no bit: hashbench encode RUN FILE makes codes of vectors" in error
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("target", ["faiss", "sqlite-vec", "usearch"])
def test_a_missing_extra_is_one_line_and_nothing_is_written(
    hashbench: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    for module in ("faiss", "apsw", "usearch.index"):
        monkeypatch.setitem(sys.modules, module, None)
    np.save(tmp_path / "codes.npy", np.eye(9, 5, dtype=np.uint8))
    options = ["--layout", "items-by-bits", "--to", target, "--out", tmp_path / "out"]
    code, printed, error = hashbench("export", tmp_path / "codes.npy", "--codes", *options)
    extra = how_to_install("search" if target == "faiss" else target)
    assert code == 2
    assert printed == ""
    assert len(error.splitlines()) == 1
    assert error.startswith(f"error: --to {target} needs ")
    assert error.endswith(f": {extra}\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "change, said",
    [
        ({"to": "faisss"}, "unknown target 'faisss': did you mean faiss?"),
        ({"out": "full"}, "full: exists and is no empty folder: remove it, or name another with --out"),
        ({"source": "damaged.npz"}, "damaged.npz: not a readable .npz file"),
        ({"source": "missing.npz"}, "missing.npz: no such file"),
        ({"source": "codes.npz:other"}, "unknown key 'other'"),
        ({"layout": "40"}, "database_codes uint8(20, 12): codes of n_bits = 40 are expected"),
        ({"source": "no_such_run"}, "no_such_run"),
        ({"source": "packed.npy"}, "or --layout BITS"),
    ],
)
def test_bad_input_is_one_line(
    hashbench: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("codes.npz", database_codes=np.eye(20, 12, dtype=np.uint8), layout="items-by-bits")
    np.save("packed.npy", np.packbits(np.eye(20, 12, dtype=np.uint8), axis=1))
    Path("damaged.npz").write_bytes(Path("codes.npz").read_bytes()[:60])
    Path("full").mkdir()
    Path("full/notes.txt").touch()
    values = {"source": "codes.npz", "to": "numpy", "out": "out"} | change
    source = values.pop("source")
    options = [f"--{name}={value}" for name, value in values.items()]
    assert said in hashbench.refused("export", source, "--codes", *options)
    assert not Path("out").exists()
