"""The real data sets where they are at hand, and a toy in CIFAR-10's layout everywhere."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.toy_dataset import Toy, make_toy

from hashbench.foundation import paths


@pytest.fixture
def data_folder() -> Path:
    return paths.data()


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path / "root"))
    return make_toy(tmp_path / "root")


@pytest.fixture(scope="session")
def official_cifar10(unpacked: Callable[[str], Path]) -> Path:
    """A folder with cifar-10-batches-bin/ in the official layout."""
    return unpacked("cifar10")
