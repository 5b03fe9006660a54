"""Opens the user's data, whatever they are: a folder of images, a file of arrays or a text file."""

from dataclasses import dataclass
from pathlib import Path

from hashbench.datasets.own import arrays, folder, text_table
from hashbench.datasets.own.data import OwnData
from hashbench.foundation.errors import HashbenchError


@dataclass(frozen=True)
class Options:
    """What the user says of the data: each is for some formats only (``hashbench dataset add --help``)."""

    items: str | None = None
    labels: str | None = None
    size: int | None = None
    header: bool | None = None
    value_max: int = 255


def open_data(path: Path, options: Options) -> OwnData:
    """The data at ``path``; raises HashbenchError if they are of no known kind, or if an option is not for them."""
    if not path.exists():
        raise HashbenchError(f"{path}: no such file or folder")
    if path.is_dir():
        _refuse("a folder of images", items=options.items, labels=options.labels, header=options.header)
        return folder.read(path, options.size)
    _refuse("a file", size=options.size)
    if path.suffix.lower() in text_table.SUFFIXES:
        _refuse("a text file", items=options.items)
        return text_table.read(path, options.labels, options.header)
    _refuse("a file of arrays", header=options.header)
    return arrays.read(path, options.items, options.labels, options.value_max)


def _refuse(what: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise HashbenchError(f"--{name}: not for {what}")
