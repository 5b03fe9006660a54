"""Bundles that somebody has changed, with or without the manifest that says what was packed."""

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from support.stored_rows import edited

Change = bytes | None | Callable[[bytes], bytes]  # the new content; None: the file is taken out


def folder_of(path: Path) -> str:
    """The one folder of the archive."""
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()[0].partition("/")[0]


def content(path: Path, name: str) -> bytes:
    """A file of the bundle."""
    with zipfile.ZipFile(path) as archive:
        return archive.read(f"{folder_of(path)}/{name}")


def names(path: Path) -> list[str]:
    """The names of its files below its folder."""
    with zipfile.ZipFile(path) as archive:
        return [name.partition("/")[2] for name in archive.namelist()]


def changed(source: Path, target: Path, changes: Mapping[str, Change], *, listed: bool) -> Path:
    """A copy of a bundle with some files changed; with ``listed`` its manifest has their new checksums."""
    folder = folder_of(source)
    files = {name: content(source, name) for name in names(source)}
    for name, change in changes.items():
        new = change(files[name]) if callable(change) else change
        files.pop(name, None)
        if new is not None:
            files[name] = new
    if listed:
        manifest = json.loads(files["manifest.json"])
        manifest["files"] = {
            name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "manifest.json"
        }
        files["manifest.json"] = json.dumps(manifest).encode()
    return written(target, {f"{folder}/{name}": data for name, data in files.items()})


def written(target: Path, files: Mapping[str, bytes]) -> Path:
    """An archive of these files, stored as they are."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return target


def json_changed(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """Changes a JSON file: ``change`` is given its object, and changes it in place."""

    def apply(text: bytes) -> bytes:
        values = json.loads(text)
        change(values)
        return json.dumps(values).encode()

    return apply


def row_changed(change: Callable[[dict[str, Any]], object], run: str, *, sign: bool = True) -> Callable[[bytes], bytes]:
    """Changes the row of ``run`` in a file of rows, as a forger would who gives it the digest that it then has."""

    def apply(text: bytes) -> bytes:
        lines = text.decode().splitlines()
        new_lines = [edited(line, change, sign=sign) if f'"run":"{run}"' in line else line for line in lines]
        return "".join(f"{line}\n" for line in new_lines).encode()

    return apply


def row_in(text: bytes, run: str) -> dict[str, Any]:
    """The JSON object of the row of ``run`` in a file of rows."""
    (line_of_run,) = [line for line in text.decode().splitlines() if f'"run":"{run}"' in line]
    row: dict[str, Any] = json.loads(line_of_run)
    return row
