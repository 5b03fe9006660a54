"""The real CIFAR-10 where it is at hand, and a toy in its layout everywhere."""

import os
import subprocess
import sys
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
def official_cifar10(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with cifar-10-batches-bin/ in the official layout."""
    shared = Path(os.environ.get("HASHBENCH_SHARED", REPOSITORY.parent / "shared")) / "data"
    if not (shared / "unpack.py").is_file():
        pytest.skip(f"needs the packed CIFAR-10: no unpack.py in {shared} (HASHBENCH_SHARED names the folder)")
    folder = tmp_path_factory.mktemp("official")
    subprocess.run([sys.executable, str(shared / "unpack.py"), str(folder), "cifar10"], check=True)
    return folder
