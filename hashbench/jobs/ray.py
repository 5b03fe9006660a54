"""A Ray cluster as a pool. The driver, a process on a node of the cluster, gives it tasks and alone writes results."""

import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from math import inf
from pathlib import Path
from typing import Any

from hashbench.foundation import extras, provenance
from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.foundation.progress import note
from hashbench.jobs import ray_head
from hashbench.jobs.node import Sent, run_on_this_node
from hashbench.jobs.task import Died, Pool, Task, result_of

LOCAL = "local"  # a cluster of this machine alone, which ends with the command
# Ray on this machine alone: it listens on loopback, and whoever connects needs a token that only its processes have.
# A process that waits for a control process that has died ends after some seconds, in place of a minute.
LOCALLY = {
    "RAY_AUTH_MODE": "token",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "10",
}
START_S = 120.0  # until a cluster of this machine answers
END_S = 15.0  # until all its processes have ended
ANSWER_S = 20.0  # until another cluster answers; Ray itself would try for minutes
LOOK_S = 1.0  # how often a cluster of this machine is looked at: Ray itself says after minutes, or never, that it died
RESTARTS = 2  # of a cluster that was started here
A_CORE = 2  # tasks that the cluster has at the same time: one is done while the next one waits for its core


@contextmanager
def connected(address: str) -> Iterator["Cluster"]:
    """The cluster, connected during the block; raises HashbenchError where there is no Ray or no cluster."""
    if extras.missing("ray"):
        raise HashbenchError(f"--ray needs Ray: {extras.how_to_install('ray')}")
    if address.startswith("ray://"):
        raise HashbenchError(f"--ray {address}: start hashbench on a node of the cluster, with --ray auto")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    if address == LOCAL:  # before Ray is imported, which reads them then
        os.environ |= {**LOCALLY, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    cluster = Cluster(address)
    with redirect_stdout(sys.stderr):  # Ray would say between our results that a node has died
        try:
            cluster.connect()
            note(f"Ray: {len(cluster.ray.nodes())} nodes, {cluster.n_cores} cores")
            yield cluster
        finally:
            cluster.leave()


class Cluster:
    """A cluster of Ray, and this process's connection to it; that of this machine alone starts and ends with it."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.ray: Any = None  # the package, once it is imported
        self._n_cores = 0
        self._head: _Head | None = None
        self._restarts = RESTARTS

    @property
    def n_cores(self) -> int:
        """The number of its cores: at the moment, or, if it was started here, from then on."""
        if self._head is None:
            self._n_cores = int(self.ray.cluster_resources().get("CPU", 0))
        return self._n_cores  # to ask a cluster that has just died would take a minute and end this process

    @property
    def has_gpus(self) -> bool:
        """Whether it has a GPU at the moment."""
        return bool(self.ray.cluster_resources().get("GPU", 0) >= 1)

    def connect(self) -> None:
        """Connects, after a start if it is that of this machine; raises HashbenchError if it does not answer."""
        sigterm_handler = signal.getsignal(signal.SIGTERM)
        address = self._address
        try:
            if address == LOCAL:
                self._head = _Head()  # it starts while this process imports Ray
            else:
                _require_answer(address)
            import ray

            self.ray = ray
            if self._head is not None:
                address = self._head.wait_for_address()
            # the messages of its processes, in colours, which log_to_driver lets through; our notes say what matters
            ray._private.worker.print_to_stdstream = lambda *_, **__: None
            ray.init(address=address, log_to_driver=False, logging_level="CRITICAL")
            self._n_cores = int(ray.cluster_resources().get("CPU", 0))
        except Exception as error:  # Ray's own are of no narrower type
            fault = "no cluster there"
            if self._address == LOCAL:
                fault = "no cluster could be started"
            raise HashbenchError(f"--ray {self._address}: {fault}: {one_line(error)[:200]}") from None
        finally:
            signal.signal(signal.SIGTERM, sigterm_handler)  # Ray's own handler ends the process without our line

    def leave(self) -> None:
        """Disconnects, and ends all processes that ``connect`` started, even if an interrupt cuts this short."""
        try:
            if self.ray is not None:
                self.ray.shutdown()
        finally:
            if self._head is not None:
                self._head.end()

    def has_died(self, within_s: float = 0.0) -> bool:
        """Whether it was started here and has ended, or does within this time."""
        return self._head is not None and self._head.has_ended(within_s)

    def restart(self) -> None:
        """Starts a cluster of this machine that died once more; raises HashbenchError after ``RESTARTS`` times."""
        if not self._restarts:
            raise HashbenchError(f"--ray {LOCAL}: Ray's processes on this machine died {RESTARTS + 1} times")
        self._restarts -= 1
        note("note: Ray's process on this machine died: it is started again")
        self.leave()
        self.connect()


class _Head:
    """The process of ``ray_head``, with all of Ray that it starts: they end with this process, however that ends."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603  (no input of others)
            [sys.executable, "-P", ray_head.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C in a terminal is for this process
        )

    def wait_for_address(self) -> str:
        """The address of the cluster once it has started; raises ValueError if it does not."""
        assert self._process.stdout is not None
        answered, _, _ = select.select([self._process.stdout], [], [], START_S)
        if not answered:
            raise ValueError(f"Ray did not start within {START_S:g} s")
        line = self._process.stdout.readline().strip()
        if not line or line.startswith(ray_head.ERROR):
            raise ValueError(line.removeprefix(ray_head.ERROR) or "Ray ended while it started")
        return line

    def has_ended(self, within_s: float) -> bool:
        """Whether it has ended, or does within this time."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        return self._process.returncode is not None

    def end(self) -> None:
        """Ends it with all that it started; waits for that."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self.has_ended(END_S)


def _require_answer(address: str) -> None:
    """Raises ValueError unless a cluster answers at the address within ``ANSWER_S``."""
    option = [] if address == "auto" else ["--address", address]
    command = [sys.executable, "-P", "-m", "ray.scripts.scripts", "health-check", *option]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise ValueError(f"no answer within {ANSWER_S:g} s") from None
    if done.returncode and option:  # the error is below its traceback; with "auto", Ray itself knows more
        raise ValueError(done.stderr.rstrip().rpartition("\n")[2])


class RayPool(Pool):
    """The tasks that a cluster has at the moment; each reserves its cores, its GPUs and its memory in GiB (0: none).

    A cluster that was started here is started again if its process dies, and given its tasks again.
    """

    def __init__(self, cluster: Cluster, *, cores: int = 1, gpus: int = 0, memory_gib: float = 0.0) -> None:
        self._cluster = cluster
        self.running: dict[Any, tuple[int, Task]] = {}
        self._needs = {"num_cpus": cores, "num_gpus": gpus, "memory": int(memory_gib * 2**30) or None}
        self._begin()

    def _begin(self) -> None:
        ray = self._cluster.ray
        self._on_node = ray.remote(**self._needs, max_retries=0)(_on_node)  # ``follow`` tries again what dies
        self._files = _files_of_driver(ray)

    @property
    def has_room(self) -> bool:
        """Whether it takes one more task: so few that their results fit into the memory of the nodes."""
        if self._cluster.has_died():
            self._restart()
        return len(self.running) < A_CORE * max(1, self._cluster.n_cores)

    def give(self, at: int, task: Task) -> None:
        """Puts a task into the queue of the cluster."""
        sent = Sent(task.for_node(), task.inputs(), provenance.code())
        self.running[self._on_node.remote(sent, self._files)] = at, task

    def ended(self, seconds: float | None = None) -> Iterator[tuple[int, Any]]:
        """(place, result) of tasks that have ended; waits for the first, so many ``seconds`` at most."""
        ray = self._cluster.ray
        for reference in self._wait(inf if seconds is None else seconds):
            try:
                result = ray.get(reference)
            except ray.exceptions.RayError as error:
                if self._cluster.has_died(within_s=LOOK_S):
                    break
                result = Died(_cause(error))
            at, _task = self.running.pop(reference)
            yield at, result
        if self._cluster.has_died():
            self._restart()

    def _wait(self, seconds: float) -> list[Any]:
        """One of the tasks that have ended; none if the time is over or the cluster has died."""
        end = time.monotonic() + seconds
        ended: list[Any] = []
        while not ended and not self._cluster.has_died() and (left_s := end - time.monotonic()) > 0:
            ended, _ = self._cluster.ray.wait([*self.running], num_returns=1, timeout=min(left_s, LOOK_S))
        return ended

    def _restart(self) -> None:
        self._cluster.restart()
        self._begin()
        lost = [*self.running.values()]
        self.running = {}
        for at, task in lost:
            self.give(at, task)


def _cause(error: Exception) -> str:
    """The error that the task raised, or what ended it."""
    cause = getattr(error, "cause", None)
    text = one_line(error)
    if isinstance(cause, Exception):
        text = f"{type(cause).__name__}: {one_line(cause)}"
    return text.partition(" The node IP")[0].partition(" Node IP")[0][:300]


def _files_of_driver(ray: Any) -> Any:
    """The actor that reads files, on the driver's own node."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(num_cpus=0, scheduling_strategy=here)(_Files).remote()


def _on_node(sent: Sent, files: Any) -> Any:
    """The result of a task on this node, which reads the driver's files through their actor."""
    import ray

    def read(path: Path, start: int, n_bytes: int) -> bytes:
        piece: bytes = ray.get(files.read.remote(path, start, n_bytes))
        return piece

    return result_of(lambda: run_on_this_node(sent, read))


class _Files:
    """Reads pieces of files on the node where the driver is."""

    def read(self, path: Path, start: int, n_bytes: int) -> bytes:
        """The bytes from ``start`` on."""
        with path.open("rb") as file:
            file.seek(start)
            return file.read(n_bytes)
