"""Shards counted by a Ray cluster: the report is that of one process."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import call
from support.ray_nodes import two_nodes

from hashbench.evaluation.shard_total import read_total

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SHARDS = 6
EVAL = ["eval-shards", "queries.npz", "--shards", "db-*.npz", "--json"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: queries.npz, and a database in db-0.npz to db-5.npz."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)

    def side(name: str, n: int) -> dict[str, np.ndarray]:
        return {f"{name}_codes": rng.integers(0, 2, (n, 24), np.uint8), f"{name}_labels": rng.integers(0, 4, n)}

    np.savez("queries.npz", **side("query", 40))
    for number in range(SHARDS):
        np.savez(f"db-{number}.npz", **side("database", 500 + number))
    return tmp_path


@pytest.fixture
def alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The report of one process."""
    code, out, _ = call(capsys, *EVAL)
    assert code == 0
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.ray
def test_two_nodes_count_what_one_process_counts(
    tmp_path_factory: pytest.TempPathFactory, alone: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with two_nodes(tmp_path_factory.mktemp("r")) as nodes:
        code, out, errors = call(capsys, *EVAL, "--ray", nodes.address, "--counts", "sum.npz")
        assert code == 0, errors
        assert json.loads(out) == alone
        assert errors == "Ray: 2 nodes, 2 cores\nnote: 6 shards, 3,015 items\n"
        for node in range(2):
            assert not list(nodes.work_folder(node).glob("shards/*/*"))  # no copy is left
    assert call(capsys, *EVAL, "--counts", "here.npz")[0] == 0
    ours, theirs = read_total(Path("here.npz")), read_total(Path("sum.npz"))
    assert ours is not None and theirs is not None
    assert ours.evidence.histogram.sha256() == theirs.evidence.histogram.sha256()
