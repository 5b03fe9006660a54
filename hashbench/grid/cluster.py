"""A Ray cluster: connecting to it, reading files of the driver's machine from its nodes, and why a task failed.

The driver is the process that gives the cluster its tasks, on a node of the cluster.
"""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from hashbench.foundation import extras
from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.foundation.progress import note
from hashbench.grid.node import Reader

LOCAL = "local"  # a cluster of this machine alone, which ends with the command


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Ray, connected to the cluster during the block; raises HashbenchError where there is no Ray or no cluster."""
    if extras.missing("ray"):
        raise HashbenchError(f"--ray needs Ray: {extras.how_to_install('ray')}")
    if address.startswith("ray://"):
        raise HashbenchError(f"--ray {address}: start hashbench on a node of the cluster, and say --ray auto")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    import ray

    own = signal.getsignal(signal.SIGTERM)
    try:
        _require_listener(address)
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


def _require_listener(address: str) -> None:
    """Raises OSError if nothing listens at ``host:port``: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


def files_of_driver(ray: Any) -> Any:
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


def reader(files: Any) -> Reader:
    """What a task on a node reads the driver's files with; ``files`` is the actor of ``files_of_driver``."""
    import ray

    def read(path: Path, start: int, n_bytes: int) -> bytes:
        piece: bytes = ray.get(files.read.remote(path, start, n_bytes))
        return piece

    return read


def why(error: Exception) -> str:
    """Why Ray has no result of a task, in one line: the error that the task raised, or what ended it."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception):
        return f"{type(cause).__name__}: {one_line(cause)}"[:300]
    return one_line(error).partition(" The node IP")[0][:300]
