"""Writes what a search chose into a recipe: the lines of ``[methods.X]``, and no other line of the file."""

import re
from collections.abc import Iterable, Sequence
from difflib import unified_diff
from pathlib import Path

from hashbench.foundation import paths
from hashbench.foundation.config import parse, toml_tables, toml_value
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import write_text
from hashbench.foundation.progress import note
from hashbench.learning.training.settings import DeepSettings
from hashbench.running.runs.run import Run
from hashbench.running.runs.settings import FORM, RECIPES, Recipe, recipes
from hashbench.running.tuning.choice import Choice

HEAD = re.compile(r"\s*\[")  # of a table
EMPTY = re.compile(r"\s*(#.*)?")  # a line without a key


def recipe_path(name: str, *, to_write: bool) -> Path:
    """The file of the recipe called ``name``; HashbenchError for the package's own ``to_write``."""
    path = paths.entries(*RECIPES)[name]
    if to_write and paths.PACKAGE in path.parents:
        raise HashbenchError(
            f"{path}: this recipe is the package's own: --root FOLDER names a root of yours that has it"
        )
    return path


def require_use(recipe: str, run: Run) -> None:
    """Raises HashbenchError if ``run`` has another form of hash functions than the runs that ``recipe`` is for."""
    model = recipes()[recipe].when.model
    settings = run.settings
    form = getattr(settings, FORM, "linear")
    if isinstance(settings, DeepSettings):
        form = settings.model
    if form != model:
        raise HashbenchError(
            f"recipe {recipe} is for {model} networks or hash functions, and {run.name.method} has {form} ones"
        )


def with_choices(name: str, text: str, choices: Iterable[Choice], search: str) -> str:
    """The ``text`` of the recipe called ``name`` with the chosen values, and all its other lines as they were.

    A method's other settings stay, and ``why`` with them. A choice that failed changes nothing. HashbenchError if no
    recipe comes out.
    """
    for choice in choices:
        if choice.failure is None and choice.searched:  # without a space there is nothing to write
            text = "\n".join(_with_choice(text.rstrip("\n").split("\n"), choice, search)) + "\n"
    try:
        parse(Recipe, toml_tables(text), name)
    except (ValueError, HashbenchError) as error:
        fault = f"{name}: the values cannot be written between its lines: {error}"
        raise HashbenchError(f"{fault}: write each setting as KEY = VALUE on a line of its own") from None
    return text


def _with_choice(lines: list[str], choice: Choice, search: str) -> list[str]:
    head = f"[methods.{choice.method}]"
    new = [f"tuned = {toml_value(choice.said(search))}"]
    new += [f"{key} = {toml_value(value)}" for key, value in choice.searched.items()]
    start = next((n for n, line in enumerate(lines) if line.partition("#")[0].strip() == head), None)
    if start is None:
        return [*lines, "", head, *new]
    end = next((n for n in range(start + 1, len(lines)) if HEAD.match(lines[n])), len(lines))
    while EMPTY.fullmatch(lines[end - 1]):  # what is before the next table is about it
        end -= 1
    kept = [line for line in lines[start + 1 : end] if _key(line) not in {"tuned", *choice.searched}]
    if {_key(line) for line in kept} <= {None, "why"}:  # it said why the values are what they no longer are
        kept = [line for line in kept if _key(line) != "why"]
    return [*lines[: start + 1], *new, *kept, *lines[end:]]


def _key(line: str) -> str | None:
    """The key that a line gives a value; None for an empty line and a comment."""
    if EMPTY.fullmatch(line):
        return None
    return line.partition("=")[0].strip()


def put_into_recipe(name: str, choices: Sequence[Choice], search: str, *, write: bool) -> list[str]:
    """The lines of the recipe called ``name`` that the choices change; with ``write`` its file is changed."""
    path = recipe_path(name, to_write=write)
    place = paths.shown(path)
    before = path.read_text("utf-8")
    after = with_choices(name, before, choices, search)
    if write:
        write_text(path, after)
        note(f"written: {place}")
    elif before != after:
        note(f"not written: --write puts these values into {place}")
    return [*unified_diff(before.splitlines(), after.splitlines(), place, place, n=1, lineterm="")]
