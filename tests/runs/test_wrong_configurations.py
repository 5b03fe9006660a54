"""Any value of any of our configurations may be of a wrong kind: the error is one line that names the key."""

from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from support.one_line import one_line

from hashbench.foundation import paths
from hashbench.foundation.config import parse, read_toml
from hashbench.foundation.errors import HashbenchError
from hashbench.running.datasets.card import Card, card_files
from hashbench.running.runs.settings import MethodFile, Recipe
from hashbench.showing.figures import KINDS
from hashbench.showing.tables.spec import OtherBudget, TableFile

WRONG = ([], [{}], "text", 7, True, {}, {"key": []})
Place = tuple[str | int, ...]


def model_of(folder: str, values: dict[str, Any]) -> Any:
    if folder == "figures":
        return KINDS.get(values["kind"]).file
    if folder == "tables":
        return OtherBudget if "of" in values else TableFile
    return {"methods": MethodFile, "recipes": Recipe, "datasets": Card}[folder]


def files_of(folder: str) -> list[Path]:
    return list((card_files() if folder == "datasets" else paths.entries("experiments", folder)).values())


def places(values: Any, depth: int = 4) -> Iterator[Place]:
    """The way to each value of the tables, of a list to its first two."""
    if depth == 0 or not isinstance(values, dict | list):
        return
    for key, value in values.items() if isinstance(values, dict) else enumerate(values[:2]):
        yield (key,)
        for rest in places(value, depth - 1):
            yield (key, *rest)


@pytest.mark.parametrize("folder", ["methods", "recipes", "tables", "figures", "datasets"])
def test_a_value_of_a_wrong_kind_is_one_line(folder: str) -> None:
    seen: set[tuple[Any, Place]] = set()
    for path in files_of(folder):
        values = read_toml(path)
        values |= {"name": "digits"} if folder == "datasets" else {}
        model = model_of(folder, values)
        for place in places(values):
            kind = model, tuple(key for key in place if isinstance(key, str))
            if kind in seen:
                continue
            seen.add(kind)
            around = reduce(lambda table, key: table[key], place[:-1], values)
            right = around[place[-1]]
            for wrong in WRONG:
                around[place[-1]] = wrong
                try:
                    parse(model, values, "file.toml")
                except HashbenchError as error:
                    assert str(error).startswith("file.toml: ")
            around[place[-1]] = right
    assert seen


@pytest.mark.parametrize("wrong", [[], [1], "text", 7])
def test_settings_of_a_method_that_are_no_table_are_named(wrong: Any) -> None:
    recipe = {"title": "t", "why": "w", "when": {"model": "resnet9"}, "parameters": {}, "methods": {"hashnet": wrong}}
    with one_line(r"file.toml: methods.hashnet: Input should be a valid dictionary"):
        parse(Recipe, recipe, "file.toml")
