"""A root for tests: the cards of the repository, parts of its experiments, and what a test adds."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hashbench.foundation import paths

REPOSITORY = Path(__file__).resolve().parents[2]
TABLE = """
title = "{title}"
paper = "he2018tieaware"
source = "Table 0"
{head}
[defaults]
dataset = "digits"
protocol = "s1"
metric = "ap"
{defaults}
[[groups]]
columns = [{columns}]
rows = [{rows}]
"""


def toy_root(folder: Path, monkeypatch: pytest.MonkeyPatch, *parts: str, alone: bool = False) -> Path:
    """The root, which the test may change; of the experiments it has these ``parts``, folders or files.

    Its entries are ``alone`` the only ones, or those of the repository are looked up after them.
    """
    root = folder / "root"
    shutil.copytree(REPOSITORY / "datasets", root / "datasets")
    (root / "experiments").mkdir()
    for part in parts:
        source = REPOSITORY / "experiments" / part
        if source.is_dir():
            shutil.copytree(source, root / "experiments" / part)
        else:
            shutil.copy(source, root / "experiments")
    if alone:
        monkeypatch.setattr(paths, "shipped", lambda: root)
    monkeypatch.setenv("HASHBENCH_ROOT", str(root))
    paths.read_again()
    return root


def table_of(
    published: Mapping[str, Sequence[float]],
    bits: Sequence[int] = (12, 24),
    *,
    title: str = "Tiny",
    head: str = "",
    defaults: str = "",
) -> str:
    """The file of a table on the digits: a row a method, with its published values, and a column a code length."""
    columns = [f'{{ label = "{n} bits", settings = {{ bits = {n} }} }}' for n in bits]
    rows = []
    for method, values in published.items():
        rows.append(f'{{ label = "{method.upper()}", method = "{method}", values = {[*values]} }}')
    return TABLE.format(title=title, head=head, defaults=defaults, columns=", ".join(columns), rows=", ".join(rows))


def recipe_of(when: str) -> str:
    """The file of a recipe that fits where ``when`` says."""
    values = '[parameters]\nepochs = { value = 3, source = "ours" }\n'
    return f'title = "Ours"\nwhy = "a test"\nwhen = {{ {when} }}\n{values}'


def declare_table(text: str, name: str = "tiny") -> Path:
    """Writes a table into the first root."""
    path = Path(os.environ["HASHBENCH_ROOT"]) / "experiments" / "tables" / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def write_card(root: Path, name: str, text: str) -> Path:
    """Writes the card of a data set into a root, which need not exist, and returns its path."""
    path = root / "datasets" / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
