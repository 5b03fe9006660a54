"""``hashbench eval --neighbours``: the nearest items by floats are relevant, in place of labels."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from support.command_line import CommandLine

N_QUERIES, N_ITEMS = 20, 300


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """codes.npz without labels, and the ids of the nearest items in several files and keys."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    query, database = rng.normal(size=(N_QUERIES, 24)), rng.normal(size=(N_ITEMS, 24))
    near = np.argsort(((query[:, None] - database) ** 2).sum(axis=2), axis=1)[:, :100].astype(np.int32)
    beyond, twice, gap = near.copy(), near.copy(), near.copy()
    beyond[3, 5], twice[4, 1], gap[5, 3] = N_ITEMS, twice[4, 0], -1
    np.savez("codes.npz", query_codes=query > 0, database_codes=database > 0)
    np.savez("other.npz", query_codes=query > 0.1, database_codes=database > 0.1)
    np.savez("no_queries.npz", query_codes=np.zeros((0, 24), bool), database_codes=database > 0)
    np.savez("near.npz", three=near[:, :3], beyond=beyond, twice=twice, gap=gap, few=near[:9], none=near[:0])
    np.savez("real.npz", real=near.astype(np.float32), flat=near[0])
    np.save("near.npy", near)
    np.c_[np.full(N_QUERIES, 100), near].astype("<i4").tofile("near.ivecs")
    parts = np.array(near.shape, "<u4"), near.astype("<i4"), np.zeros(near.shape, "<f4")
    Path("near.ibin").write_bytes(b"".join(part.tobytes() for part in parts))
    with h5py.File("near.hdf5", "w") as file:
        file["train"], file["neighbors"] = database, near
    return {"query": query, "database": database, "near": near}


@pytest.mark.parametrize(
    ("options", "k"),
    [
        (["near.npy"], 10),
        (["near.hdf5:neighbors"], 10),
        (["near.ivecs"], 10),
        (["near.ibin"], 10),
        (["near.npz:three"], 3),
        (["near.npy", "--k", 100], 100),
    ],
)
def test_recalls_are_those_of_score(
    files: dict[str, np.ndarray], options: list[Any], k: int, hashbench: CommandLine
) -> None:
    status, out, err = hashbench("eval codes.npz --neighbours", *options, "--json")
    due = hashbench.score(files["query"] > 0, files["database"] > 0, neighbours=files["near"][:, :k])
    found = json.loads(out)
    assert (status, found["metrics"], found["neighbours"]) == (0, due.to_dict()["metrics"], k)
    assert list(found["metrics"]) == [f"recall@{factor * k}" for factor in (1, 2, 4, 10)]
    assert f"relevant are the first {k} of " in err


def test_several_files_are_scored_against_the_same_neighbours(
    files: dict[str, np.ndarray], hashbench: CommandLine
) -> None:
    near = ["--neighbours", "near.npy", "--metric", "recall@20,ap"]
    status, out, _ = hashbench("eval codes.npz other.npz", *near, "--json")
    due = hashbench.score(
        files["query"] > 0.1, files["database"] > 0.1, neighbours=files["near"][:, :10], metrics="recall@20,ap"
    )
    assert status == 0
    assert json.loads(out)["files"][1]["metrics"] == due.to_dict()["metrics"]


def test_the_report_speaks_of_no_labels(files: dict[str, np.ndarray], hashbench: CommandLine) -> None:
    status, out, _ = hashbench("eval codes.npz --neighbours near.npy")
    assert status == 0
    assert "label" not in out and "class" not in out
