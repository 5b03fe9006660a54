"""A Ray cluster of two nodes on this machine, as two machines would make it; tests end a node at once."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from support.waiting import until

os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # before Ray is imported: its token lies in the user's home


NAMES = ("head", "other")


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
        self.nodes = [self._start(NAMES[0], *head)]
        assert until(self._answers, 120), (folder / "head.log").read_text()
        self.nodes.append(self._start(NAMES[1], f"--address={self.address}"))
        assert until(lambda: b"Ray runtime started" in (folder / "other.log").read_bytes(), 120)

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

    def work_folder(self, node: int) -> Path:
        """Where tasks of the node keep what they need."""
        return self.folder / NAMES[node] / f"hashbench-{os.getuid()}"

    def workers(self, node: int) -> list[int]:
        """The processes that execute a task on the node now."""
        processes = descendants(self.nodes[node].pid)
        return [process for process in processes if _command(process).startswith(b"ray::_on_node")]

    def kill(self, node: int) -> None:
        """Ends all processes of a node at once, as a machine that loses its power."""
        for process in descendants(self.nodes[node].pid):
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        self.nodes[node].wait()


def descendants(process: int) -> list[int]:
    """The process and all that it started."""
    processes = [process]
    for child in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            if int(child.read_text().rpartition(")")[2].split()[1]) == process:
                processes += descendants(int(child.parent.name))
    return processes


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def two_nodes(folder: Path) -> Iterator[Nodes]:
    """Two nodes during the block, whose files are in ``folder``: its path must be short, as a socket's is."""
    started = Nodes(folder)
    try:
        yield started
    finally:
        for node in (1, 0):
            started.kill(node)
