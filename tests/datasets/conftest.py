"""The real data sets where they are at hand, and a toy in CIFAR-10's layout everywhere."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.one_line import one_line
from support.toy_dataset import Toy, make_toy

from hashbench.foundation import paths
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.download import download

Refused = Callable[..., str]


@pytest.fixture
def data_folder() -> Path:
    return paths.data()


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path / "root"))
    return make_toy(tmp_path / "root")


@pytest.fixture
def stored_files(data_folder: Path) -> Callable[[], list[Path]]:
    """Gives the files in the data folder, but those of locks."""
    return lambda: [path for path in data_folder.rglob("*") if path.is_file() and path.name != ".lock"]


@pytest.fixture
def refused(stored_files: Callable[[], list[Path]]) -> Refused:
    """Downloads a data set and asserts that it is refused in one line, which is returned, with nothing in place."""

    def refuse(name: str, message: str, folder: Path | None = None, **options: bool) -> str:
        with one_line(message) as caught:
            download(load_card(name), folder, **options)
        assert stored_files() == []
        return str(caught.value)

    return refuse
