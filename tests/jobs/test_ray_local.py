"""A cluster of this machine alone: it listens on loopback with a token, and ends with the command that started it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.ray_nodes import descendants
from support.waiting import lives, until

pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc to see what runs"),
]

LOCAL = """
import os, sys, time
from hashbench.running.jobs import ray
with ray.connected("local"):
    print(os.environ["RAY_AUTH_MODE"], flush=True)
    sys.stdin.readline()
"""


def listening() -> set[str]:
    """The addresses and ports, in hexadecimal, at which processes of this machine listen."""
    places = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                places.add(fields[1])
    return places


@pytest.mark.parametrize("ended_by", [None, signal.SIGINT, signal.SIGKILL])
def test_it_listens_on_loopback_with_a_token_and_leaves_no_process(
    ended_by: signal.Signals | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")  # not obeyed
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    before = listening()
    command = [sys.executable, "-c", LOCAL]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        mode = driver.stdout.readline().strip()
        new = listening() - before
        started = descendants(driver.pid)[1:]
        if ended_by is None:
            driver.communicate("\n")
        else:
            driver.send_signal(ended_by)
        assert until(lambda: driver.poll() is not None, 30)
    assert mode == "token" and len(new) >= 4
    assert {place.partition(":")[0] for place in new} <= {"0100007F", "0000000000000000FFFF00000100007F"}
    assert until(lambda: not [process for process in started if lives(process)], 10)
