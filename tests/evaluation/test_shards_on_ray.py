"""Shards counted by a Ray cluster: the report is that of one process, and a cluster of this machine ends with it."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import call
from support.ray_nodes import descendants, two_nodes
from support.waiting import lives, until

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


def listening() -> set[str]:
    """The addresses and ports, in hexadecimal, at which processes of this machine listen."""
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return {fields[1] for fields in lines if fields[3] == "0A"}


needs_proc = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc to see what runs")


@needs_proc
@pytest.mark.parametrize("killed", ["raylet", "gcs_server"])
def test_a_local_cluster_listens_on_loopback_with_a_token_and_outlives_its_processes(
    killed: str, folder: Path, alone: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")  # not obeyed
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    before = listening()
    command = [sys.executable, "-c", LOCAL_RAY.replace("KILLED", killed), *EVAL, "--ray", "local"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    *places, mode = Path("listening").read_text().split()
    new = set(places) - before
    assert len(new) >= 4
    assert {place.partition(":")[0] for place in new} <= {"0100007F", "0000000000000000FFFF00000100007F"}
    assert json.loads(done.stdout) == alone
    assert "note: Ray's process on this machine died: it is started again" in done.stderr.splitlines()
    assert "\x1b" not in done.stderr and mode == "RAY_AUTH_MODE=token"
    assert not [process for process in Path("processes").read_text().split() if lives(int(process))]


# the command, which at its third task writes down who listens, and kills a process that Ray has started
LOCAL_RAY = """
import os, signal, sys
from pathlib import Path
from hashbench.cli._app import main
from hashbench.jobs.ray import RayPool
from hashbench.jobs.ray_head import _descendants
give, given = RayPool.give, []

def give_and_kill(self, at, task):
    give(self, at, task)
    given.append(at)
    if len(given) == 3:
        places = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}").readlines()[1:]]
        told = [*(fields[1] for fields in places if fields[3] == "0A"), "RAY_AUTH_MODE=" + os.environ["RAY_AUTH_MODE"]]
        Path("listening").write_text(" ".join(told))
        Path("processes").write_text(" ".join(map(str, _descendants())))
        for process in _descendants():
            if "(KILLED)" in Path(f"/proc/{process}/stat").read_text():
                os.kill(process, signal.SIGKILL)

RayPool.give = give_and_kill
main(sys.argv[1:])
"""

SLOW = """
import sys, time
from hashbench.cli._app import main
from hashbench.evaluation import count_shards

class Slow(count_shards.CountTask):
    def run_on_node(self, folder, places):
        time.sleep(600)

count_shards.CountTask = Slow
main(sys.argv[1:])
"""


@needs_proc
@pytest.mark.parametrize(
    ("moment", "signals", "status"),
    [
        ("raylet", [signal.SIGINT], 130),  # while the cluster starts
        ("ray::_on_node", [signal.SIGINT, signal.SIGINT], 130),  # at work
        ("ray::_on_node", [signal.SIGKILL], -signal.SIGKILL),
    ],
)
def test_no_process_of_a_local_cluster_outlives_the_command(
    moment: str, signals: list[signal.Signals], status: int, folder: Path
) -> None:
    command = [sys.executable, "-c", SLOW, *EVAL, "--ray", "local"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as driver:

        def has_come() -> bool:
            return any(f"({moment[:15]})" in stat_of(process) for process in descendants(driver.pid))

        assert until(has_come, 120)
        started = descendants(driver.pid)[1:]
        for number in signals:
            driver.send_signal(number)
            time.sleep(0.4)
        assert until(lambda: driver.poll() is not None, 30)
        assert until(lambda: not [process for process in started if lives(process)], 10)
        assert driver.stderr is not None
        lines = driver.stderr.read().splitlines()
    assert driver.returncode == status
    assert lines.count("interrupted: nothing was written") == (status == 130)


def stat_of(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text()
    return ""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare, and to be allowed to use it")
def test_without_any_network_a_local_cluster_is_refused_at_once(folder: Path) -> None:
    unshare = ["unshare", "--net", "--map-root-user"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("unshare is not allowed here")
    command = [*unshare, sys.executable, "-m", "hashbench", *EVAL, "--ray", "local"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert re.fullmatch(
        r"error: --ray local: .*: the loopback interface \(127.0.0.1\) does not work: .*\n", done.stderr
    )
