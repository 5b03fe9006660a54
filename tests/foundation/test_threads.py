"""How threads wait and how processes share the cores: each check runs in a process of its own, for threads stay."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ENTRY = """
import atexit, os, sys
atexit.register(lambda: print(os.environ["OMP_WAIT_POLICY"], "torch" in sys.modules))
from hashbench.cli._entry import main
sys.argv[1:] = ["--version"]
main()
"""

# two threads are asked for, and libraries that come later take as many as there are cores
TRAINED = """
import sys
from pathlib import Path
from threadpoolctl import threadpool_info
from hashbench.running.runs.guard import row_of
from hashbench.foundation.execution import Execution
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
deep = {"model": "linear", "epochs": 2} if sys.argv[1] == "dpsh" else {}
run = Run.resolve("digits", "s1", sys.argv[1], {"bits": 8, **deep})
execution = Execution("cpu", threads=int(sys.argv[2]))
row = row_of(run, Store(Path(sys.argv[3])), execution)
after = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
print(dict(sorted(row.threads.items())), row.artefacts["histogram"], after)
"""

SHARED = """
import os, sys
import numpy
from threadpoolctl import threadpool_info
from hashbench.foundation import parallel
parallel._cores = lambda: 6
parallel.share_cores(int(sys.argv[1]))
import torch
def blas():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
print(blas(), torch.get_num_threads(), parallel.available_cores())
parallel.share_cores(9)  # more than there are cores
print(blas(), parallel.available_cores())
"""


def printed(script: str, *arguments: str, **variables: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "OPENBLAS_", "MKL_"))}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(
        command, env={**environment, **variables}, stdout=subprocess.PIPE, text=True, check=True, timeout=120
    ).stdout


def test_the_command_line_lets_idle_threads_sleep_before_torch_is_loaded() -> None:
    assert printed(ENTRY).splitlines()[-1] == "PASSIVE False"


@pytest.mark.parametrize(
    "processes, variables, threads",
    [("2", {}, 3), ("3", {"OMP_NUM_THREADS": "4"}, 2)],
)
def test_blas_torch_and_our_threads_share_the_cores_alike(
    processes: str, variables: dict[str, str], threads: int
) -> None:
    pytest.importorskip("torch", reason="needs the extra train")
    of_torch = min(threads, os.cpu_count() or 1)  # it never takes more than the machine has
    shared, shared_by_nine = printed(SHARED, processes, **variables).splitlines()
    assert shared.split() == [f"{{{threads}}}", str(of_torch), str(threads)]
    assert shared_by_nine == "{1} 1"


@pytest.mark.parametrize("method", ["itq", "dpsh"])
def test_a_run_has_one_thread_whatever_the_environment_says(method: str, tmp_path: Path) -> None:
    if method == "dpsh":
        pytest.importorskip("torch", reason="needs the extra train")
    environment = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    two, _, after = printed(TRAINED, method, "1", str(tmp_path / "two"), **environment).rpartition(" ")
    threads = ast.literal_eval(two.rpartition("}")[0] + "}")
    assert set(threads.values()) == {1} and {"blas", *(["torch"] if method == "dpsh" else [])} <= threads.keys()
    assert after.strip() == "{2}"  # after the run it is as before
    if method == "itq":  # the same codes; that PyTorch has one thread too is said above
        one, _, after = printed(TRAINED, method, "1", str(tmp_path / "one"), OMP_NUM_THREADS="1").rpartition(" ")
        assert one == two
        assert after.strip() == "{1}"


def test_more_threads_are_those_of_pytorch_and_the_row_has_their_number(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra train")
    assert "'blas': 1" in (row := printed(TRAINED, "dpsh", "2", str(tmp_path))) and "'torch': 2" in row
