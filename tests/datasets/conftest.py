"""The real data sets where they are at hand, and a toy in CIFAR-10's layout everywhere."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from toy_dataset import Toy, make_toy

from hashbench import paths

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def data_folder() -> Path:
    return paths.data()


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path / "root"))
    return make_toy(tmp_path / "root")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of packed data sets."""
    folder = Path(os.environ.get("HASHBENCH_SHARED", REPOSITORY.parent / "shared")) / "data"
    if not (folder / "unpack.py").is_file():
        pytest.skip(f"needs the packed data sets: no unpack.py in {folder} (HASHBENCH_SHARED names the folder above)")
    return folder


@pytest.fixture(scope="session")
def unpacked(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives the folder in which a data set lies in its official layout, unpacked when it is first asked for."""

    @cache
    def unpack(name: str) -> Path:
        folder = tmp_path_factory.mktemp(f"official_{name}")
        command = [sys.executable, str(shared_data / "unpack.py"), str(folder), name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return folder

    return unpack


@pytest.fixture(scope="session")
def official_cifar10(unpacked: Callable[[str], Path]) -> Path:
    """A folder with cifar-10-batches-bin/ in the official layout."""
    return unpacked("cifar10")
