"""A root with the repository's cards and methods, and tables and figures of a test's own."""

import shutil
from pathlib import Path

import pytest

from hashbench.foundation import paths
from hashbench.tables import spec

REPOSITORY = Path(__file__).resolve().parents[2]


def small_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root, whose entries are the only ones: so ``--all`` is those that the test declares."""
    root = tmp_path / "root"
    shutil.copytree(REPOSITORY / "datasets", root / "datasets")
    shutil.copytree(REPOSITORY / "experiments" / "methods", root / "experiments" / "methods")
    shutil.copy(REPOSITORY / "experiments" / "papers.toml", root / "experiments")
    monkeypatch.setenv("HASHBENCH_ROOT", str(root))
    monkeypatch.setattr(paths, "shipped", lambda: root)
    return root


def not_installed(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes ``method`` one of a package that is not here, as if rows of it were stored."""

    def without(table: spec.TableSpec) -> spec.TableSpec:
        return table.model_copy(update={"not_installed": sorted({method} & {*table.methods})})

    monkeypatch.setattr(spec, "_without_packages", without)
