"""How threads wait and how processes share the cores: each check runs in a process of its own, for threads stay."""

import os
import subprocess
import sys

import pytest

ENTRY = """
import atexit, os, sys
shown = "OMP_WAIT_POLICY", "NUMBA_NUM_THREADS"
atexit.register(lambda: print(*map(os.environ.get, shown), "torch" in sys.modules))
from hashbench.cli._entry import main
sys.argv[1:] = ["--version"]
main()
"""

SHARED = """
import os, sys
import numpy
from threadpoolctl import threadpool_info
from hashbench.foundation import parallel
parallel._cores = lambda: 6
parallel.share_cores(int(sys.argv[1]))
import numba
import torch
numba.get_num_threads()  # starts its threads
blas = {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
print(blas, torch.get_num_threads(), parallel.available_cores())
"""


def printed(script: str, *arguments: str, **variables: str) -> str:
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("OMP_", "OPENBLAS_", "MKL_", "NUMBA_NUM"))
    }
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(
        command, env={**environment, **variables}, stdout=subprocess.PIPE, text=True, check=True, timeout=120
    ).stdout


def test_the_command_line_lets_idle_threads_sleep_before_torch_is_loaded() -> None:
    assert printed(ENTRY).splitlines()[-1] == "PASSIVE None False"


def test_a_wait_policy_of_the_user_stays() -> None:
    assert printed(ENTRY, OMP_WAIT_POLICY="ACTIVE").splitlines()[-1] == "ACTIVE None False"


def test_numba_has_no_more_threads_than_openmp() -> None:
    assert printed(ENTRY, OMP_NUM_THREADS="1").splitlines()[-1] == "PASSIVE 1 False"


@pytest.mark.parametrize(
    ("processes", "variables", "threads"),
    [("2", {}, 3), ("9", {}, 1), ("3", {"OMP_NUM_THREADS": "4"}, 2)],
)
def test_blas_torch_and_our_threads_share_the_cores_alike(
    processes: str, variables: dict[str, str], threads: int
) -> None:
    pytest.importorskip("torch", reason="needs the extra train")
    of_torch = min(threads, os.cpu_count() or 1)  # it never takes more than the machine has
    assert printed(SHARED, processes, **variables).split() == [f"{{{threads}}}", str(of_torch), str(threads)]
