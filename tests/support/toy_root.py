"""A root for tests: the cards of the repository, parts of its experiments, and what a test adds."""

import shutil
from pathlib import Path

import pytest

from hashbench.foundation import paths

REPOSITORY = Path(__file__).resolve().parents[2]


def toy_root(folder: Path, monkeypatch: pytest.MonkeyPatch, *parts: str) -> Path:
    """The root, which the test may change; of the experiments it has these ``parts``, folders or files."""
    root = folder / "root"
    shutil.copytree(REPOSITORY / "datasets", root / "datasets")
    (root / "experiments").mkdir()
    for part in parts:
        source = REPOSITORY / "experiments" / part
        if source.is_dir():
            shutil.copytree(source, root / "experiments" / part)
        else:
            shutil.copy(source, root / "experiments")
    monkeypatch.setenv("HASHBENCH_ROOT", str(root))
    paths.read_again()
    return root


def write_card(root: Path, name: str, text: str) -> Path:
    """Writes the card of a data set into a root, which need not exist, and returns its path."""
    path = root / "datasets" / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
