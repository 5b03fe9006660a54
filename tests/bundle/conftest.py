"""A few quick runs of the table of the digits, made once, and their bundle."""

import os
import shutil
from pathlib import Path

import pytest
from support.on_digits import on_digits

from hashbench.running.runs.guard import row_of
from hashbench.running.runs.store import Store
from hashbench.showing.bundle.pack import Order, pack

RUNS = [("lsh", 0), ("lsh", 1), ("itq", 0)]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results with three runs of 12 bits."""
    folder = tmp_path_factory.mktemp("trained")
    before = os.environ.get("HASHBENCH_ROOT")
    os.environ.pop("HASHBENCH_ROOT", None)
    for method, seed in RUNS:
        row_of(on_digits(method, {"bits": 12}, seed=seed), Store(folder))
    if before is not None:
        os.environ["HASHBENCH_ROOT"] = before
    return folder


@pytest.fixture
def results(trained: Path, tmp_path: Path) -> Path:
    """A copy of these results, which the command line uses."""
    shutil.copytree(trained, tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture(scope="session")
def bundle(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their bundle."""
    path = tmp_path_factory.mktemp("bundle") / "digits-bundle.zip"
    pack(Order("digits"), path, Store(trained), pytest.fail)
    return path
