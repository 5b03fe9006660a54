"""A Ray cluster as a pool. The driver, a process on a node of the cluster, gives it tasks and alone writes results."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from hashbench.foundation import extras, provenance
from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.foundation.progress import note
from hashbench.jobs.node import Sent, run_on_this_node
from hashbench.jobs.task import Died, Pool, Task, result_of

LOCAL = "local"  # a cluster of this machine alone, which ends with the command
A_CORE = 2  # tasks that the cluster has at the same time: one is done while the next one waits for its core


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Ray, connected to the cluster during the block; raises HashbenchError where there is no Ray or no cluster."""
    if extras.missing("ray"):
        raise HashbenchError(f"--ray needs Ray: {extras.how_to_install('ray')}")
    if address.startswith("ray://"):
        raise HashbenchError(f"--ray {address}: start hashbench on a node of the cluster, with --ray auto")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    import ray

    own = signal.getsignal(signal.SIGTERM)
    try:
        host, _, port = address.rpartition(":")
        if host and port.isdecimal():  # Ray itself would try for minutes
            socket.create_connection((host, int(port)), timeout=10).close()
        given = {} if address == LOCAL else {"address": address}
        ray.init(**given, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        raise HashbenchError(f"--ray {address}: no cluster there: {one_line(error)[:200]}") from None
    finally:
        signal.signal(signal.SIGTERM, own)  # Ray's own handler ends the process without our line
    with redirect_stdout(sys.stderr):  # Ray would say between our results that a node has died
        try:
            note(f"Ray: {len(ray.nodes())} nodes, {ray.cluster_resources().get('CPU', 0):g} cores")
            yield ray
        finally:
            ray.shutdown()


def has_gpus(ray: Any) -> bool:
    """Whether the cluster has a GPU."""
    return bool(ray.cluster_resources().get("GPU", 0) >= 1)


class RayPool(Pool):
    """The tasks that a cluster has at the moment; each reserves its cores, its GPUs and its memory in GiB (0: none)."""

    def __init__(self, ray: Any, *, cores: int = 1, gpus: int = 0, memory_gib: float = 0.0) -> None:
        self._ray = ray
        self.running: dict[Any, int] = {}
        needs = {"num_cpus": cores, "num_gpus": gpus, "memory": int(memory_gib * 2**30) or None}
        self._on_node = ray.remote(**needs, max_retries=0)(_on_node)  # ``follow`` tries again what dies
        self._files = _files_of_driver(ray)

    @property
    def has_room(self) -> bool:
        """Whether it takes one more task: so few that their results fit into the memory of the nodes."""
        cores = int(self._ray.cluster_resources().get("CPU", 0))
        return len(self.running) < A_CORE * max(1, cores)

    def give(self, at: int, task: Task) -> None:
        """Puts a task into the queue of the cluster."""
        sent = Sent(task.for_node(), task.inputs(), provenance.code())
        self.running[self._on_node.remote(sent, self._files)] = at

    def ended(self, seconds: float | None = None) -> Iterator[tuple[int, Any]]:
        """(place, result) of tasks that have ended; waits for the first, so many ``seconds`` at most."""
        done, _ = self._ray.wait(list(self.running), num_returns=1, timeout=seconds)
        for reference in done:
            yield self.running.pop(reference), self._result(reference)

    def _result(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            # the error that the task raised, or what ended it
            cause, why = getattr(error, "cause", None), one_line(error).partition(" The node IP")[0]
            if isinstance(cause, Exception):
                why = f"{type(cause).__name__}: {one_line(cause)}"
            return Died(why[:300])


def _on_node(sent: Sent, files: Any) -> Any:
    """The result of a task on this node, which reads the driver's files through their actor."""
    import ray

    def read(path: Path, start: int, n_bytes: int) -> bytes:
        piece: bytes = ray.get(files.read.remote(path, start, n_bytes))
        return piece

    return result_of(lambda: run_on_this_node(sent, read))


def _files_of_driver(ray: Any) -> Any:
    """The actor that reads files, on the driver's own node."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(num_cpus=0, scheduling_strategy=here)(_Files).remote()


class _Files:
    """Reads pieces of files on the node where the driver is."""

    def read(self, path: Path, start: int, n_bytes: int) -> bytes:
        """The bytes from ``start`` on."""
        with path.open("rb") as file:
            file.seek(start)
            return file.read(n_bytes)
