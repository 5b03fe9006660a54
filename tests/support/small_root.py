"""A root with the repository's cards and methods, and tables and figures of a test's own."""

from pathlib import Path

import pytest
from support.toy_root import toy_root

from hashbench.foundation import paths
from hashbench.tables import spec


def small_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root, whose entries are the only ones: so ``--all`` is those that the test declares."""
    root = toy_root(tmp_path, monkeypatch, "methods", "papers.toml")
    monkeypatch.setattr(paths, "shipped", lambda: root)
    return root


def not_installed(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes ``method`` one of a package that is not here, as if rows of it were stored."""

    def without(table: spec.TableSpec) -> spec.TableSpec:
        return table.model_copy(update={"not_installed": sorted({method} & {*table.methods})})

    monkeypatch.setattr(spec, "_without_packages", without)
