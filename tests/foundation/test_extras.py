"""The extras: what they need, and a command that can work, wherever hashbench was installed from."""

import json
from pathlib import Path

import pytest

from hashbench.foundation import extras

REPOSITORY = Path(__file__).resolve().parents[2]
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
    return monkeypatch


def from_(monkeypatch: pytest.MonkeyPatch, **direct_url: object) -> None:
    monkeypatch.setattr(extras, "_distribution", lambda: (REQUIRES, direct_url))


def test_a_clone_names_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    assert extras.how_to_install("train") == "make install, or pip install -e '.[train]'"
    assert extras.how_to_install("ray") == "make install, or pip install -e '.[ray]'"
    assert extras.how_to_install("search") == "make install, or pip install -e '.[search]'"
    assert extras.how_to_install("tensorboard") == "pip install -e '.[tensorboard]'"
    monkeypatch.chdir("/")
    relative = REPOSITORY.relative_to("/")
    assert extras.how_to_install("train") == f"make -C {REPOSITORY} install, or pip install -e '{relative}[train]'"


def test_the_extras_of_the_clone_are_those_of_pyproject() -> None:
    of_systems = {"search", "sqlite-vec", "usearch"}
    trackers = {"mlflow", "tensorboard", "wandb"}
    assert set(extras.extras()) == {"onnx", "parquet", "ray", "text", "timm", "train", *of_systems, *trackers}
    assert "torch>=2.5" in extras.extras()["train"]


def test_the_extras_of_an_installed_package_are_those_of_its_metadata(installed: pytest.MonkeyPatch) -> None:
    from_(installed)
    assert extras.extras() == {"search": ["faiss-cpu>=1.8"], "train": ["torch>=2.5", "ortools>=9.11"]}


def test_a_wheel_names_its_file_while_it_is_there(installed: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = tmp_path / "hashbench-0.1.0-py3-none-any.whl"
    wheel.touch()
    from_(installed, url=wheel.as_uri(), archive_info={})
    assert extras.how_to_install("train") == f"pip install '{wheel}[train]'"
    wheel.unlink()
    assert extras.how_to_install("train") == "pip install 'torch>=2.5' 'ortools>=9.11'"


@pytest.mark.parametrize(
    ("direct_url", "command"),
    [
        (
            {"url": "https://a.example/h.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}},
            "pip install 'hashbench[train] @ git+https://a.example/h.git@c0ffee'",
        ),
        (
            {"url": "https://a.example/h.whl", "archive_info": {}},
            "pip install 'hashbench[train] @ https://a.example/h.whl'",
        ),
        ({}, "pip install 'torch>=2.5' 'ortools>=9.11'"),
    ],
)
def test_another_origin_is_named_as_pip_takes_it(
    installed: pytest.MonkeyPatch, direct_url: dict[str, object], command: str
) -> None:
    from_(installed, **json.loads(json.dumps(direct_url)))
    assert extras.how_to_install("train") == command


def test_what_is_missing_of_an_extra(installed: pytest.MonkeyPatch) -> None:
    installed.setattr(extras, "extras", lambda: {"train": ["numpy>=2.0", "no_such.package[x]>=1", "pydantic"]})
    assert extras.missing("train") == ["no_such.package"]
    assert extras.missing("other") == []
