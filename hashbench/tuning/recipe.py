"""Writes what a search chose into a recipe: the lines of ``[methods.X]``, and no other line of the file."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from hashbench.foundation import paths
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.settings import RECIPES
from hashbench.tuning.choice import Choice


def recipe_path(name: str, *, to_write: bool) -> Path:
    """The file of the recipe called ``name``; HashbenchError for the package's own ``to_write``."""
    path = paths.entries(*RECIPES)[name]
    if to_write and paths.PACKAGE in path.parents:
        raise HashbenchError(
            f"{path}: this recipe is the package's own: --root FOLDER names a root of yours that has it"
        )
    return path


def with_choices(text: str, choices: Iterable[Choice], search: str) -> str:
    """The ``text`` of a recipe with the chosen values; other settings of a method stay as they are, and so does why."""
    for choice in choices:
        head = f"[methods.{choice.method}]"
        new = [head, f"tuned = {json.dumps(choice.said(search))}"]
        new += [f"{key} = {_toml(value)}" for key, value in choice.searched.items()]
        lines = text.rstrip("\n").split("\n")
        start = lines.index(head) if head in lines else len(lines)
        end = next((n for n in range(start + 1, len(lines)) if lines[n].startswith("[")), len(lines))
        replaced = {"why", "tuned", "skip", *choice.searched}
        kept = [line for line in lines[start + 1 : end] if line and re.split(r"\s*=", line)[0] not in replaced]
        before = lines[:start] if start < len(lines) else [*lines, ""]
        text = "\n".join([*before, *new, *kept, *([""] if end < len(lines) else []), *lines[end:]]) + "\n"
    return text


def _toml(value: Setting) -> str:
    return json.dumps(value)
