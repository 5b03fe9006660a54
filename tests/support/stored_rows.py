"""The stored rows of a results folder, read and changed as somebody does it with an editor."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hashbench.foundation.config import digest
from hashbench.running.runs.row import signed
from hashbench.running.runs.store import Store

Change = Callable[[dict[str, Any]], object]  # is given the JSON object of a row, and changes it in place


def names(folder: Path) -> list[str]:
    """The names of all rows, in their order."""
    return [line.name for line in Store(folder).lines()]


def texts(folder: Path) -> dict[str, str]:
    """The lines of all rows by name."""
    return {line.name: line.text for line in Store(folder).lines()}


def content(folder: Path, name: str) -> dict[str, Any]:
    """The JSON object of a row."""
    row: dict[str, Any] = json.loads(texts(folder)[name])
    return row


def replace(folder: Path, name: str, text: str) -> str:
    """Writes ``text`` in place of a row; returns the place of the line, as errors name it."""
    (line,) = [line for line in Store(folder).lines() if line.name == name]
    lines = line.path.read_text().splitlines()
    lines[line.number - 1] = text
    line.path.write_text("".join(f"{line_text}\n" for line_text in lines))
    return line.place


def replace_first(folder: Path, text: str) -> None:
    """Writes ``text`` in place of the first row of the only file, whatever is in it."""
    (path,) = (folder / "rows").glob("*.jsonl")
    path.write_text("".join(f"{line}\n" for line in [text, *path.read_text().splitlines()[1:]]))


def damage(folder: Path, name: str | None = None) -> str:
    """Cuts a row, the only one if no name is given, after its name; returns the place of its line."""
    if name is None:
        (name,) = names(folder)
    return replace(folder, name, f'{{"run":"{name}",')


def edit(folder: Path, change: Change, name: str | None = None, *, sign: bool = True) -> str:
    """Changes a row, the only one if no name is given, and with ``sign`` its digest; returns the place of its line."""
    if name is None:
        (name,) = names(folder)
    return replace(folder, name, edited(texts(folder)[name], change, sign=sign))


def named_again(content: dict[str, Any]) -> None:
    """Gives the JSON object of a row the digests and the name that follow from its configuration and seed."""
    config_hash = digest({**content["config"], "seed": content["seed"]})
    run = re.sub(r"-s\d+-[0-9a-f]{10}$", f"-s{content['seed']}-{config_hash[:10]}", content["run"])
    content.update(cell_hash=digest(content["config"]), config_hash=config_hash, run=run)


def edited(line: str, change: Change, *, sign: bool = True) -> str:
    """A line that is changed; with ``sign`` as a forger would, who gives it the digest that it then has."""
    values = json.loads(line)
    stated = values.pop("row_sha256")
    change(values)
    return signed(json.dumps(values)) if sign else json.dumps({**values, "row_sha256": stated}, separators=(",", ":"))
