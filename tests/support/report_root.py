"""A root with two small tables and one figure, and rows for them: what a report of a test shows."""

from pathlib import Path
from typing import Any

import pytest
from support.declared_figures import declare
from support.fake_rows import row_of_cell
from support.toy_root import declare_table, toy_root

from hashbench.foundation.provenance import Code
from hashbench.running.runs.row import Row, Seconds
from hashbench.running.runs.store import Store
from hashbench.showing.tables import spec

TINY = """
title = "Tiny"
paper = "he2018tieaware"
source = "Table 0"
[defaults]
dataset = "digits"
protocol = "s1"
metric = "ap"
tolerance = 0.02
tie_aware = true
[[groups]]
section = "AP"
columns = [{ label = "12 bits", settings = { bits = 12 } }, { label = "24 bits", settings = { bits = 24 } }]
rows = [
  { label = "LSH", method = "lsh", values = [0.25, 0.5] },
  { label = "ITQ", method = "itq", values = [0.55, 0.6] },
  { label = "Spherical", method = "spherical", values = [0.35, 0.4] },
  { label = "Nothing", method = "nothing", values = [0.5, 0.5] },
]
"""
OTHER = """
title = "Other"
paper = "he2018tieaware"
source = "Table 1"
[defaults]
protocol = "s1"
metric = "ap"
method = "lsh"
settings = { bits = 32 }
[[groups]]
columns = [{ label = "Digits", dataset = "digits" }, { label = "CIFAR-10", dataset = "cifar10" }]
rows = [{ label = "LSH", values = [0.7, 0.1] }]
"""
BOARD = """
[panels.tiny]
question = "Which codes of digits are best?"
repeats = 1
blocks = [{ table = "tiny", section = "AP", bits = [12] }]
"""
MEANS: dict[tuple[str, int], list[float]] = {
    ("lsh", 12): [0.25, 0.27],
    ("itq", 12): [0.6],
    ("spherical", 12): [0.45],
    ("lsh", 24): [0.5],
}
MACHINE: dict[str, str | int | None] = {"system": "Linux", "cpu": "A processor", "cores": 4, "gpu": None}


def not_installed(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes ``method`` one of a package that is not here, as if rows of it were stored."""

    def without(table: spec.TableSpec) -> spec.TableSpec:
        return table.model_copy(update={"not_installed": sorted({method} & {*table.methods})})

    monkeypatch.setattr(spec, "_without_packages", without)


def report_root(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root: tables ``tiny``, half measured, and ``other``, not measured; a panel and a figure ``tiny``."""
    root = toy_root(folder, monkeypatch, "methods", "papers.toml", alone=True)
    not_installed("nothing", monkeypatch)
    declare_table(TINY)
    declare_table(OTHER, "other")
    (root / "experiments" / "leaderboard.toml").write_text(BOARD)
    declare(folder, "lines")
    for (method, bits), means in MEANS.items():
        for seed, mean in enumerate(means):
            Store.default().write(tiny_row(method, bits, seed, ap=mean, ap_worst=mean - 0.01, ap_best=mean + 0.01))
    return root


def tiny_row(method: str, bits: int, seed: int = 0, status: str = "ok", **means: float) -> Row:
    """The row of a run that fills a cell of ``tiny``."""
    cell = next(cell for cell in spec.load("tiny").cells if (cell.method, cell.settings["bits"]) == (method, bits))
    changes: dict[str, Any] = {"hardware": MACHINE, "versions": {"python": "3.11.7"}}
    changes |= {"code": Code(version="0.1.0", commit="0123456789abcdef", dirty=True)}
    changes |= {"seconds": Seconds(train=3600 + seed, encode=0.25, score=0.5)}
    return row_of_cell(cell, seed, status, **means).model_copy(update=changes)
