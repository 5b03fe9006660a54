"""A grid on a Ray cluster of two nodes on this machine: the rows are those of one process, whatever dies."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.waiting import lives, until

from hashbench.grid.execute import Execution
from hashbench.grid.on_ray import Cluster, run_all
from hashbench.runs.options import Options
from hashbench.runs.run import run
from hashbench.runs.spec import RunSpec, resolve
from hashbench.runs.store import Store

os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # before it is imported: its token lies in the user's home
pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_on_ray import endless, on_ray
on_ray(endless(), Path(sys.argv[1]), sys.argv[2])
"""


def short() -> list[RunSpec]:
    return [resolve("digits", "s1", "talr_ap", {"bits": 8, "epochs": 40}, seed=seed) for seed in range(4)]


def endless() -> list[RunSpec]:
    return [resolve("digits", "s1", "talr_ap", {"bits": 8, "epochs": 10**6}, seed=seed) for seed in range(2)]


def on_ray(specs: list[RunSpec], results: Path, address: str) -> list[str | None]:
    """How each run failed, in the order of ``specs``."""
    how = Execution(Store(results), Options(device="cpu"))
    found = {each.spec.run: each.failure for each in run_all(specs, how, Cluster(address))}
    return [found[spec.run] for spec in specs]


class Nodes:
    """Two nodes with a core each, as ``ray start`` makes them on two machines."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = folder
        head = [
            "--head",
            f"--port={self.port}",
            "--include-dashboard=false",
            "--min-worker-port=0",
            "--max-worker-port=0",
        ]
        self.nodes = [self._start("head", *head)]
        assert until(self._answers, 120), (folder / "head.log").read_text()
        self.nodes.append(self._start("other", f"--address={self.address}"))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _start(self, name: str, *options: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", *options, "--num-cpus=1", "--block"]
        temporary = self.folder / name
        temporary.mkdir()
        environment = {**os.environ, "TMPDIR": str(temporary), "RAY_USAGE_STATS_ENABLED": "0"}
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False

    def work(self) -> list[Path]:
        """The folders of runs that nodes execute now."""
        return list(self.folder.glob("*/hashbench-*/results/runs/*/metrics.jsonl"))

    def kill(self, node: int) -> None:
        """Ends all processes of a node at once, as a machine that loses its power."""
        for process in _descendants(self.nodes[node].pid):
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        self.nodes[node].wait()


def _descendants(process: int) -> list[int]:
    """The process and all that it started."""
    found = [process]
    for child in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            if int(child.read_text().rpartition(")")[2].split()[1]) == process:
                found += _descendants(int(child.parent.name))
    return found


@pytest.fixture
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    started = Nodes(tmp_path_factory.mktemp("r"))  # a socket's path must be short
    yield started
    for node in (1, 0):
        started.kill(node)


def assert_undisturbed(specs: list[RunSpec], results: Path, alone: Path) -> None:
    """Each run has one row, with the codes that it has alone."""
    assert len(list(results.glob("rows/*/*.json"))) == len(specs)
    for spec in specs[:1]:
        row = Store(results).find(spec.dataset, spec.protocol, spec.run)
        own = run(spec, Store(alone), Options(device="cpu"))
        assert row is not None and (row.metrics, row.histogram_sha256) == (own.metrics, own.histogram_sha256)


def test_runs_on_two_nodes_are_those_of_one_process(nodes: Nodes, tmp_path: Path) -> None:
    assert on_ray(short(), tmp_path / "grid", nodes.address) == [None] * 4
    assert_undisturbed(short(), tmp_path / "grid", tmp_path / "alone")
    used = [node.name for node in sorted(nodes.folder.glob("*/hashbench-*/results/runs"))]
    assert used  # the nodes worked in folders of their own
    assert not nodes.work()


def test_a_node_that_dies_loses_nothing(nodes: Nodes, tmp_path: Path) -> None:
    from threading import Thread

    def kill_the_other() -> None:
        if until(lambda: list(nodes.folder.glob("other/hashbench-*/results/runs/*")), 200):
            nodes.kill(1)

    thread = Thread(target=kill_the_other)
    thread.start()
    failures = on_ray(short(), tmp_path / "grid", nodes.address)
    thread.join()
    assert not lives(nodes.nodes[1].pid)
    assert failures == [None] * 4
    assert_undisturbed(short(), tmp_path / "grid", tmp_path / "alone")


def test_runs_end_with_a_driver_that_is_killed(nodes: Nodes, tmp_path: Path) -> None:
    here = str(Path(__file__).parent)
    paths = os.pathsep.join([str(Path(__file__).parents[2]), str(Path(__file__).parents[1]), here])
    command = [sys.executable, "-c", DRIVER, str(tmp_path / "grid"), nodes.address, here]
    driver = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths})
    assert until(lambda: len(nodes.work()) == 2, 200)
    driver.kill()
    driver.wait()

    def sizes() -> list[int]:
        return [path.stat().st_size for path in nodes.work()]

    def nothing_moves() -> bool:
        before = sizes()
        time.sleep(3)
        return sizes() == before

    assert until(nothing_moves, 120)
    assert not list(tmp_path.glob("grid/rows/*/*"))
    assert on_ray(short(), tmp_path / "grid", nodes.address) == [None] * 4  # the cluster can be used again


def test_an_address_without_a_cluster_is_one_line(tmp_path: Path) -> None:
    from hashbench.errors import HashbenchError

    for address, text in (
        ("127.0.0.1:1", "--ray 127.0.0.1:1: no cluster there: "),
        ("ray://127.0.0.1:1", "--ray ray://127.0.0.1:1: start hashbench on a node of the cluster, and say --ray auto"),
    ):
        with pytest.raises(HashbenchError) as error:
            on_ray(short(), tmp_path, address)
        assert str(error.value).startswith(text) and "\n" not in str(error.value)
