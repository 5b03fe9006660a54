"""Two processes take the step that one takes, and a job that lost a process ends as an undisturbed one."""

import json
import os
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support import two_processes
from support.together import together

from hashbench.foundation import parallel
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import ALONE, ProcessGroup
from hashbench.training.distributed import device_for, with_synchronised_batch_norm

pytestmark = pytest.mark.slow  # two processes that each import torch, several times


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("two")


@pytest.fixture(scope="module")
def both(folder: Path) -> list[dict[str, Any]]:
    return two_processes.in_two(folder)


def test_gradients_are_those_of_one_process(both: list[dict[str, Any]]) -> None:
    alone = two_processes.steps(ALONE)
    assert len(alone) == 10 * 2 * 3 * 5
    for found in both:
        assert found["steps"].keys() == alone.keys()
        for name, value in alone.items():
            tolerance = 1e-6 if "float32" in name else 1e-13
            torch.testing.assert_close(found["steps"][name], value, rtol=tolerance, atol=tolerance, msg=name)


@pytest.mark.parametrize(("method", "changes"), two_processes.TRAINED)
def test_both_hold_the_same_weights_and_those_of_one_process(
    method: str, changes: dict[str, Any], both: list[dict[str, Any]], tmp_path: Path
) -> None:
    first, second = (found["fits"][method] for found in both)
    assert all(torch.equal(first[name], second[name]) for name in first)
    torch.testing.assert_close(
        first, two_processes.fit(method, changes, tmp_path / "alone", ALONE), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("method", [method for method, _ in two_processes.TRAINED])
def test_a_resumed_job_is_the_undisturbed_one(method: str, both: list[dict[str, Any]]) -> None:
    for found in both:
        expected, resumed = found["fits"][method], found["resumed"][method]
        assert all(torch.equal(values, resumed[name]) for name, values in expected.items())


def test_only_the_first_writes(folder: Path, both: list[dict[str, Any]]) -> None:
    assert list((folder / "of-2-rank-0").glob("*/hasher.safetensors"))
    assert [path for path in (folder / "of-2-rank-1").rglob("*") if path.is_file()] == []


def test_batch_normalisation_is_refused_on_a_cpu_and_synchronised_on_a_gpu(both: list[dict[str, Any]]) -> None:
    for found in both:
        assert "normalises by batch (4 layers), which 2 processes share on GPUs only" in found["batch_norm"]
    encoder = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Linear(3, 2))
    assert with_synchronised_batch_norm(encoder, ALONE, torch.device("cpu")) is encoder
    on_gpu = with_synchronised_batch_norm(encoder, ProcessGroup(0, 2), torch.device("cuda"))
    assert isinstance(on_gpu[0], torch.nn.SyncBatchNorm)
    assert on_gpu.state_dict().keys() == encoder.state_dict().keys()


@together("n, size, step", product([0, 1, 2, 5, 999, 1000, 1001, 2500], [1, 2, 3, 8], [1, 1000]))
def test_shares_are_all_there_is_in_order(n: int, size: int, step: int) -> None:
    shares = ProcessGroup(0, size).shares(n, step)
    assert [i for share in shares for i in range(n)[share]] == list(range(n))
    assert len(shares) == size
    steps = [-(-len(range(n)[share]) // step) for share in shares]
    assert max(steps) - min(steps) <= 1
    assert n == 0 or steps[0] > 0


def test_the_process_group_is_torchruns(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in parallel.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert parallel.from_environment() == ALONE
    for name, value in zip(parallel.VARIABLES, ("3", "4", "1"), strict=True):
        monkeypatch.setenv(name, value)
    assert parallel.from_environment() == ProcessGroup(3, 4, 1)
    for wrong in ("four", "3", ""):
        monkeypatch.setenv("WORLD_SIZE", wrong)
        with pytest.raises(HashbenchError, match=f"RANK=3 WORLD_SIZE={wrong} LOCAL_RANK=1: not as torchrun"):
            parallel.from_environment()


def test_each_process_has_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [device_for(ProcessGroup(rank, 4, rank % 2), "auto") for rank in range(4)] == ["cuda:0", "cuda:1"] * 2
    assert device_for(ProcessGroup(1, 2, 1), "cpu") == "cpu"
    assert device_for(ALONE, "cuda:1") == "cuda:1"
    with pytest.raises(HashbenchError, match="--nproc-per-node 2"):
        device_for(ProcessGroup(2, 3, 2), "cuda")
    with pytest.raises(HashbenchError, match="take a GPU each"):
        device_for(ProcessGroup(1, 2, 1), "cuda:0")


EPOCHS = 40
TRAIN = [
    *("-m", "hashbench", "train", "talr-ap", "digits", "--protocol", "s1", "--bits", "16", "--device", "cpu", "--json"),
    *("--set", f"epochs={EPOCHS}", "--checkpoint-every", "0"),
]


def wait_for_the_middle(results: Path, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        logs = list(results.glob("runs/*/metrics.jsonl"))
        if logs and logs[0].read_bytes().count(b"\n") >= EPOCHS // 3:
            return
        time.sleep(0.01)
    raise AssertionError(process.communicate(timeout=10)[1])


def codes(results: Path) -> dict[str, Any]:
    with np.load(next(results.glob("runs/*/codes.npz"))) as kept:
        return {name: kept[name] for name in kept.files}


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_job_that_lost_a_process_resumes_to_the_same_codes(rank: int, tmp_path: Path) -> None:
    calm = two_processes.start(TRAIN, HASHBENCH_RESULTS=str(tmp_path / "calm"))  # beside the other, for time
    job = two_processes.start(TRAIN, HASHBENCH_RESULTS=str(tmp_path / "killed"))
    wait_for_the_middle(tmp_path / "killed", job[0])
    job[rank].kill()
    job[rank].communicate(timeout=60)
    out, said = job[1 - rank].communicate(timeout=60)
    assert (job[1 - rank].returncode, out) == (2, "")
    assert said.splitlines()[-1].startswith("error: another of the processes is gone")
    assert list(tmp_path.glob("killed/runs/*/checkpoint*.pt"))
    assert not list(tmp_path.glob("killed/rows/*.jsonl"))
    again = two_processes.start(TRAIN, HASHBENCH_RESULTS=str(tmp_path / "killed"))
    rows = []
    for first, second in (again, calm):
        rows.append(json.loads(first.communicate(timeout=100)[0]))
        assert (second.communicate(timeout=60)[0], first.returncode, second.returncode) == ("", 0, 0)
    assert rows[0]["arithmetic"] == {"precision": "float32", "compiled": False, "channels_last": True, "processes": 2}
    assert [rows[0][key] for key in ("run", "searches")] == [rows[1][key] for key in ("run", "searches")]
    expected = codes(tmp_path / "calm")
    for name, value in codes(tmp_path / "killed").items():
        np.testing.assert_array_equal(value, expected[name])


def torchrun(results: Path) -> "subprocess.Popen[str]":
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "HASHBENCH_RESULTS": str(results), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*launcher, *TRAIN], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the processes in /proc")
def test_torchrun_ends_a_job_that_lost_a_process_and_starts_it_again(tmp_path: Path) -> None:
    job = torchrun(tmp_path)
    wait_for_the_middle(tmp_path, job)
    children = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    second = next(int(child) for child in children if b"\0RANK=1\0" in Path(f"/proc/{child}/environ").read_bytes())
    os.kill(second, signal.SIGKILL)
    _, said = job.communicate(timeout=100)
    assert job.returncode == 1
    assert "SIGKILL" in said
    row = json.loads(torchrun(tmp_path).communicate(timeout=100)[0])  # one process prints, once
    assert (row["status"], row["arithmetic"]["processes"]) == ("ok", 2)
    assert json.loads(torchrun(tmp_path).communicate(timeout=100)[0]) == row  # it is there already
