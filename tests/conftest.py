"""Every test has its own results and data folders; property tests draw the same examples everywhere."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, derandomize=True)
settings.load_profile("default")

REPOSITORY = Path(__file__).resolve().parent.parent

KEPT = ("HASHBENCH_SHARED", "HASHBENCH_UPDATE_GOLDEN")  # what a person sets for the tests themselves


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("HASHBENCH_") and name not in KEPT]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HASHBENCH_ROOT", str(REPOSITORY))
    monkeypatch.setenv("HASHBENCH_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("HASHBENCH_DATA", str(tmp_path / "data"))
