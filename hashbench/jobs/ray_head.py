"""The head of a Ray cluster on this machine alone: it starts Ray, and at its end kills all that Ray started.

``hashbench.jobs.ray`` runs this file as a script, so it imports nothing of hashbench. It ends when its standard input
ends, as it does when the command has ended in any way, or when a process of Ray has died.
"""

import ctypes
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import NoReturn

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
ERROR = "error: "  # begins the line that says why Ray could not be started
LOOPBACK = "127.0.0.1"
LOOPBACK_S = 5.0
KILL_S = 10.0


def main() -> NoReturn:
    """Starts Ray and prints its address, or ``ERROR`` and why it could not; then waits for the end, and ends it."""
    where = "/tmp" if sys.platform == "darwin" else None  # noqa: S108  (the path of a socket must be short)
    folder = Path(mkdtemp(prefix="hashbench-ray-", dir=where))
    _set(PR_SET_CHILD_SUBREAPER, 1)  # whatever Ray starts stays a descendant of this process
    alive, kept_open = os.pipe()
    if os.fork() == 0:
        _set(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        _run_ray(folder)
    os.close(kept_open)
    select.select([0, alive], [], [])
    _kill_descendants()
    rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)  # where there is no /proc; and this process
    os._exit(1)


def _set(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _run_ray(folder: Path) -> NoReturn:
    """Runs Ray until one of its processes dies; Ray itself would notice some deaths after a minute, others never."""
    try:
        _require_loopback()
        import ray

        ray.init(
            address="local",
            include_dashboard=False,
            log_to_driver=False,
            logging_level="CRITICAL",
            _node_ip_address=LOOPBACK,
            _temp_dir=str(folder),
        )
        print(ray.get_runtime_context().gcs_address, flush=True)  # noqa: T201
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    except Exception as error:  # Ray's own are of no narrower type
        print(ERROR, " ".join(str(error).split()), sep="", flush=True)  # noqa: T201
    finally:
        os._exit(0)


def _require_loopback() -> None:
    """Raises OSError if this machine cannot be reached over loopback: Ray would try for minutes."""
    with socket.create_server((LOOPBACK, 0)) as server:
        try:
            socket.create_connection(server.getsockname(), LOOPBACK_S).close()
        except OSError as error:
            raise OSError(f"the loopback interface ({LOOPBACK}) does not work: {error.strerror or error}") from None


def _kill_descendants() -> None:
    until = time.monotonic() + KILL_S
    while (running := _descendants()) and time.monotonic() < until:
        for process in running:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):  # what has ended is removed, and its children become ours
                pass
        time.sleep(0.01)


def _descendants() -> list[int]:
    """The processes that descend from this one; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            _state, parent, *_ = file.read_text().rpartition(")")[2].split()
            children.setdefault(int(parent), []).append(int(file.parent.name))
    descendants = [os.getpid()]
    for process in descendants:
        descendants += children.get(process, [])
    return descendants[1:]


if __name__ == "__main__":
    main()
