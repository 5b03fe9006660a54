"""A Ray cluster as a pool. The driver, a process on a node of the cluster, gives it tasks and alone writes results."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from hashbench.foundation import extras, provenance
from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.foundation.progress import note
from hashbench.running.jobs.node import Sent, run_on_this_node
from hashbench.running.jobs.task import Died, Pool, Task, result_of

ANSWER_S = 20.0  # until a cluster answers; Ray itself would try for minutes
A_CORE = 2  # tasks that the cluster has at the same time: one is done while the next one waits for its core


@contextmanager
def connected(address: str) -> Iterator["Cluster"]:
    """The cluster, connected during the block; raises HashbenchError where there is no Ray or no cluster."""
    if extras.missing("ray"):
        raise HashbenchError(f"--ray needs Ray: {extras.how_to_install('ray')}")
    if address.startswith("ray://") or address == "local":
        advice = "start hashbench on a node of the cluster, with --ray auto; on one machine, with --jobs N"
        raise HashbenchError(f"--ray {address}: {advice}")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    with redirect_stdout(sys.stderr):  # Ray would say between our results that a node has died
        ray = _connected(address)
        try:
            cluster = Cluster(ray)
            note(f"Ray: {len(ray.nodes())} nodes, {cluster.n_cores} cores")
            yield cluster
        finally:
            ray.shutdown()


def _connected(address: str) -> Any:
    """The package, connected to the cluster; raises HashbenchError if that does not answer."""
    sigterm_handler = signal.getsignal(signal.SIGTERM)
    try:
        _require_answer(address)
        import ray

        # the messages of its processes, in colours, which log_to_driver lets through; our notes say what matters
        ray._private.worker.print_to_stdstream = lambda *_, **__: None
        ray.init(address=address, log_to_driver=False, logging_level="CRITICAL")
    except Exception as error:  # Ray's own are of no narrower type
        raise HashbenchError(f"--ray {address}: no cluster there: {one_line(error)[:200]}") from None
    finally:
        signal.signal(signal.SIGTERM, sigterm_handler)  # Ray's own handler ends the process without our line
    return ray


class Cluster:
    """A cluster of Ray to which this process is connected by the package ``ray``."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray

    @property
    def n_cores(self) -> int:
        """The number of its cores at the moment."""
        return int(self.ray.cluster_resources().get("CPU", 0))

    @property
    def has_gpus(self) -> bool:
        """Whether it has a GPU at the moment."""
        return bool(self.ray.cluster_resources().get("GPU", 0) >= 1)


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
    """The tasks that a cluster has at the moment; each reserves its cores, its GPUs and its memory in GiB (0: none)."""

    def __init__(self, cluster: Cluster, *, cores: int = 1, gpus: int = 0, memory_gib: float = 0.0) -> None:
        self._cluster = cluster
        self.running: dict[Any, int] = {}
        needs = cluster.ray.remote(
            num_cpus=cores,
            num_gpus=gpus,
            memory=int(memory_gib * 2**30) or None,
            max_retries=0,  # ``follow`` tries again what dies
        )
        self._on_node = needs(_on_node)
        self._files = _files_of_driver(cluster.ray)

    @property
    def has_room(self) -> bool:
        """Whether it takes one more task: so few that their results fit into the memory of the nodes."""
        return len(self.running) < A_CORE * max(1, self._cluster.n_cores)

    def give(self, at: int, task: Task) -> None:
        """Puts a task into the queue of the cluster."""
        sent = Sent(task.for_node(), task.inputs(), provenance.code())
        self.running[self._on_node.remote(sent, self._files)] = at

    def ended(self, seconds: float | None = None) -> Iterator[tuple[int, Any]]:
        """(place, result) of tasks that have ended; waits for the first, so many ``seconds`` at most."""
        ray = self._cluster.ray
        references, _ = ray.wait([*self.running], num_returns=1, timeout=seconds)
        for reference in references:
            try:
                result = ray.get(reference)
            except ray.exceptions.RayError as error:
                result = Died(_cause(error))
            yield self.running.pop(reference), result


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
