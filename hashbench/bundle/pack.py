"""Writes a bundle: the same files give the same bytes, since names are sorted and times and modes fixed."""

import hashlib
import json
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from hashbench.bundle import id_lists, layout
from hashbench.bundle.contents import Contents, Say, contents, rows_of
from hashbench.bundle.manifest import SCHEMA, Manifest
from hashbench.bundle.readme import readme
from hashbench.foundation import provenance
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import atomic, file_sha256
from hashbench.foundation.progress import bar
from hashbench.foundation.registry import canonical
from hashbench.runs.store import Store
from hashbench.tables import spec

PIECE = 1 << 20
THE_TIME = (1980, 1, 1, 0, 0, 0)  # of every file: the first that a zip archive can hold


@dataclass(frozen=True)
class Order:
    """Which bundle is wanted: the table, and which of its runs, as the options of ``hashbench bundle`` say."""

    table: str
    budget: str | None = None
    n_splits: int = 1
    n_seeds: int | None = None
    codes: bool = True

    @property
    def folder(self) -> str:
        """The name of the folder in the archive, and by default of the archive."""
        return f"{self.spec.name}-bundle"

    @cached_property
    def spec(self) -> spec.TableSpec:
        """The table; raises HashbenchError if there is none of this name."""
        return spec.load(self.table, self.budget, self.n_splits)


@dataclass(frozen=True)
class Packed:
    """A bundle that was written."""

    path: Path
    size_bytes: int
    sha256: str
    contents: Contents


def pack(order: Order, path: Path, store: Store, say: Say) -> Packed:
    """Writes the bundle to ``path``, as a whole or not at all; ``say`` is told what is not packed, and why.

    Raises HashbenchError if no run of the table is stored, for a damaged row, and for a name that no bundle can hold.
    """
    declared = order.spec
    with TemporaryDirectory() as scratch:
        found = contents(
            declared, canonical(order.table), rows_of(declared, store, order.n_seeds), store, say, codes=order.codes
        )
        found.files.update(id_lists.written(found.rows, Path(scratch), say))
        for name in found.files:
            if layout.most_bytes(name) is None:
                raise HashbenchError(f"{name}: no bundle can hold a file of this name: letters, digits, _ . + and -")
        with atomic(path) as temporary:
            _write(temporary, order, found)
            size_bytes, sha256 = temporary.stat().st_size, file_sha256(temporary)
    return Packed(path, size_bytes, sha256, found)


def _write(path: Path, order: Order, found: Contents) -> None:
    found.files[layout.README] = readme(order.folder, found, _manifest(order, {})).encode()
    digests: dict[str, str] = {}
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive,
        bar(f"bundle {found.spec.name}", "B", sum(map(_size, found.files.values())), scaled=True) as shown,
    ):
        for name, content in sorted(found.files.items()):
            digest = hashlib.sha256()
            with archive.open(_info(order.folder, name, _size(content)), "w") as target:
                for piece in _pieces(content):
                    digest.update(piece)
                    target.write(piece)
                    shown.update(len(piece))
            digests[name] = digest.hexdigest()
        text = json.dumps(_manifest(order, digests).model_dump(by_alias=True), indent=1, sort_keys=True) + "\n"
        archive.writestr(_info(order.folder, layout.MANIFEST, len(text)), text)


def _manifest(order: Order, digests: dict[str, str]) -> Manifest:
    return Manifest(
        schema=SCHEMA,
        table=canonical(order.table),
        budget=order.budget,
        n_splits=order.n_splits,
        n_seeds=order.n_seeds,
        codes=order.codes,
        code=provenance.code(),
        # whether torch has been imported, and so its CUDA is known, says nothing about the bundle
        versions={name: found for name, found in provenance.versions().items() if name != "cuda"},
        files=digests,
    )


def _info(folder: str, name: str, size_bytes: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(f"{folder}/{name}", THE_TIME)
    info.create_system = 3  # Unix, whose modes the next line gives
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    info.file_size = size_bytes
    return info


def _size(content: Path | bytes) -> int:
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def _pieces(content: Path | bytes) -> Iterator[bytes]:
    with BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
