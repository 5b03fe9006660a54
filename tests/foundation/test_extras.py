"""The extras: what they need, and a command that can work, wherever hashbench was installed from."""

from pathlib import Path

import pytest

from hashbench.foundation import extras

REQUIRES = [
    "numpy>=2.0",
    'torch>=2.5; extra == "train"',
    'ortools>=9.11; python_version >= "3.11" and extra == "train"',
    "faiss-cpu>=1.8 ; extra == 'search'",
]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """hashbench runs from no clone."""
    monkeypatch.setattr(extras, "extras", extras.extras.__wrapped__)  # nothing is kept from test to test
    monkeypatch.setattr(extras, "clone", lambda: None)
    monkeypatch.setattr(extras, "_requirements", lambda: REQUIRES)
    return monkeypatch


def test_a_clone_is_installed_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert extras.how_to_install("parquet") == "make install, or pip install -e '.[parquet]'"
    assert extras.how_to_install("tensorboard") == "pip install -e '.[tensorboard]'"
    of_systems = {"search", "sqlite-vec", "usearch"}
    trackers = {"mlflow", "tensorboard", "wandb"}
    assert set(extras.extras()) == {"onnx", "parquet", "ray", "timm", "train", *of_systems, *trackers}
    assert "torch>=2.5" in extras.extras()["train"]


def test_an_installed_package_names_what_its_metadata_need(installed: pytest.MonkeyPatch) -> None:
    assert extras.extras() == {"search": ["faiss-cpu>=1.8"], "train": ["torch>=2.5", "ortools>=9.11"]}
    assert extras.how_to_install("train") == "pip install 'torch>=2.5' 'ortools>=9.11'"


def test_what_is_missing_of_an_extra(installed: pytest.MonkeyPatch) -> None:
    installed.setattr(extras, "extras", lambda: {"train": ["numpy>=2.0", "no_such.package[x]>=1", "pydantic"]})
    assert extras.missing("train") == ["no_such.package"]
    assert extras.missing("other") == []
