"""The files of a comparison: they are in the user's root, and only those of an earlier comparison are replaced."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from hashbench.foundation import paths
from hashbench.foundation.config import toml_value
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import write_text
from hashbench.foundation.progress import note
from hashbench.foundation.registry import canonical
from hashbench.running.tuning.search import NAME

HEAD = "# Written by hashbench bench, and again by the next one of this name. To change it, rename it."


def stem_of(name: str | None, dataset: str) -> str:
    """The stem of the files: the ``name`` that was given, or one of the data set."""
    stem = canonical(name or f"bench_{dataset}")
    if not NAME.fullmatch(stem):
        raise HashbenchError(f"--name {name}: letters, digits, _, - and dots are expected")
    return stem


def place(kind: str, stem: str) -> Path:
    """The file; HashbenchError if one is there that is not by ``bench``, also one of this name in hashbench."""
    path = paths.own_root() / "experiments" / kind / f"{stem}.toml"
    there: Path | None = path
    if not path.exists():
        there = paths.entries("experiments", kind).get(stem)
    if there is not None and not there.read_text(encoding="utf-8").startswith(HEAD):
        raise HashbenchError(f"{paths.shown(there)}: it is there already: give another --name")
    return path


def table_text(
    title: str, notes: Iterable[str], defaults: Mapping[str, object], groups: Iterable[Mapping[str, object]]
) -> str:
    """The file that declares a table; a list has an item a line."""
    lines = [HEAD, *_lines({"title": title, "notes": [*notes]}), "", "[defaults]", *_lines(defaults)]
    for group in groups:
        lines += ["", "[[groups]]", *_lines(group)]
    return "\n".join([*lines, ""])


def _lines(values: Mapping[str, object]) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, list):
            yield from (f"{key} = [", *(f"  {toml_value(item)}," for item in value), "]")
        else:
            yield f"{key} = {toml_value(value)}"


def write(path: Path, text: str) -> None:
    """Writes a declaration, which is read from now on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    paths.read_again()


def note_what_is_replaced(path: Path, table: str) -> None:
    """Notes that a table of the same name has other cells; the notes above its cells may name what failed."""
    cells = table.partition("[defaults]")[2]
    if path.exists() and path.read_text(encoding="utf-8").partition("[defaults]")[2] != cells:
        note(f"note: the table {path.stem} gets other cells: another --name keeps those that it had")
