"""The archive of a bundle: the names and limits of its files, its manifest, and how it is read without trusting it.

Its files are stored, not compressed: so it cannot hold more bytes than it has, and the same files give the same bytes.
``results/`` is a folder of results and ``root/`` is a root: ``hashbench --results --root`` reads an unpacked bundle.
"""

import hashlib
import io
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal, NoReturn

from pydantic import Field, StringConstraints, field_validator

from hashbench.foundation.config import Strict, json_object, parse
from hashbench.foundation.errors import HashbenchError, counted, printable, retold
from hashbench.foundation.provenance import Code
from hashbench.learning.contract import CODES
from hashbench.running.runs.row import Maker

README = "README.md"
MANIFEST = "manifest.json"
ROWS = "results/rows"
RUNS = "results/runs"
ROOT = "root"
ID_LISTS = "splits"
# the counts of a run: of the database, and of the queries among each other (sparse codes only)
STATED = ("histogram.npz", "retrieval.npz", "retrieval_of_test.npz")  # whose checksums a row has
COUNTS = (*STATED, "histogram_of_test.npz")
OF_RUN = (*COUNTS, CODES)

MOST_FILES = 50_000
MOST_NAME = 240  # characters of a path in the archive
TEXT_BYTES = 8 << 20
ARRAY_BYTES = 4 << 30
SCHEMA: Literal[1] = 1
PIECE = 1 << 20
ENCRYPTED = 0x1
END_BYTES = 22  # of the last record of an archive: its magic number first, the length of a comment last


# of a file, a folder or a table
NAME = r"[A-Za-z0-9_+-][A-Za-z0-9_.+-]*"  # no path: no /, no \, no .. and no leading dot
_LIMITS = {
    rf"{README}|{MANIFEST}": TEXT_BYTES,
    rf"{ROWS}/{NAME}\.jsonl": 64 << 20,
    rf"{RUNS}/{NAME}/({'|'.join(map(re.escape, OF_RUN))})": ARRAY_BYTES,
    rf"{ROOT}/(datasets|experiments/(tables|methods|recipes))/{NAME}\.toml": TEXT_BYTES,
    rf"{ROOT}/experiments/papers\.toml": TEXT_BYTES,
    rf"{ID_LISTS}/{NAME}/{NAME}\.npz": ARRAY_BYTES,
}

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(pattern=f"^{NAME}$")]


def most_bytes(name: str) -> int | None:
    """The most bytes that the file ``name`` of a bundle may have; None if no bundle has such a file."""
    if len(name) > MOST_NAME:
        return None
    return next((limit for pattern, limit in _LIMITS.items() if re.fullmatch(pattern, name)), None)


class Manifest(Strict):
    """The content of manifest.json: the table of a bundle, what made it, and the checksum of every other file."""

    schema_version: Literal[1] = Field(alias="schema")
    table: Name
    budget: Name | None  # as hashbench table takes it; None: the table's own
    n_splits: Literal[1] = 1  # repeats that are splits are declared in the table
    n_seeds: Annotated[int, Field(ge=1)] | None  # seeds 0 .. n_seeds - 1; None: all that were stored
    codes: bool  # False: --no-codes
    code: Code  # the hashbench that packed it
    versions: dict[str, str | None]
    maker: Maker | None = None  # who made the rows, as they call themselves
    packages: dict[Name, str] = {}  # of methods of other packages: the name and version of the package that brings each
    files: dict[str, Sha256]  # every file but this one

    @field_validator("files")
    @classmethod
    def _are_of_a_bundle(cls, files: dict[str, str]) -> dict[str, str]:
        for name in files:
            if name == MANIFEST or most_bytes(name) is None:
                raise ValueError(f"{printable(name)} is no file of a bundle")
        return files

    @property
    def table_command(self) -> str:
        """The command, after the options of ``hashbench``, that renders the table."""
        command = f"table {self.table}"
        if self.budget:
            command += f"@{self.budget}"
        return command


class DamagedFile(HashbenchError):  # noqa: N818  (what is found, as DamagedHasher)
    """A file of the archive cannot be read, though the archive can."""


@dataclass(frozen=True)
class Archive:
    """An open bundle. ``files`` are its files by their names below its one folder."""

    manifest: Manifest
    files: dict[str, zipfile.ZipInfo]
    zip: zipfile.ZipFile

    def extract(self, wanted: Callable[[str], bool], folder: Path) -> None:
        """Copies the ``wanted`` files into ``folder``; DamagedFile for one that is not as it was packed."""
        for name in filter(wanted, self.manifest.files):
            if self.copy(name, folder / name) != self.manifest.files[name]:
                raise DamagedFile(f"{name}: not the file that was packed: its SHA-256 is not the one in {MANIFEST}")

    def copy(self, name: str, target: Path) -> str:
        """Writes a file to ``target`` and returns its SHA-256 (hex); raises DamagedFile where it cannot be read."""
        digest = hashlib.sha256()
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            for piece in _pieces(self.zip, self.files[name]):
                digest.update(piece)
                file.write(piece)
        return digest.hexdigest()


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """The bundle ``path``; raises HashbenchError where it is none, or one that no hashbench wrote."""
    if not path.is_file():
        raise HashbenchError(f"{path}: no such file: the archive that hashbench bundle wrote is expected")
    with _zip(path) as archive:
        files = _files(path, archive.infolist())
        where = f"{path}: {MANIFEST}"
        if MANIFEST not in files:
            _refuse(path, f"no {MANIFEST} in it")
        with retold(lambda fault: f"{path}: {fault}", DamagedFile):
            text = b"".join(_pieces(archive, files[MANIFEST]))
        with retold(lambda cause: f"{where}: not a manifest: {printable(cause, 200)}", ValueError, RecursionError):
            values = json_object(text.decode("utf-8"))
        manifest = parse(Manifest, values, where)
        if others := {MANIFEST, *manifest.files} ^ files.keys():
            fault = "it is not both listed and in the archive"
            raise HashbenchError(f"{where}: {min(others)}: {fault}: {counted(len(others), 'file')}")
        yield Archive(manifest, files, archive)


@contextmanager
def results_in(path: Path) -> Iterator[tuple[Path, Manifest]]:
    """A folder with the rows, counts and codes in the bundle ``path``, for as long as the block runs; its manifest."""
    with opened(path) as bundle, TemporaryDirectory(prefix=path.name) as scratch:
        with retold(lambda fault: f"{path}: {fault}", DamagedFile):
            bundle.extract(lambda name: name.startswith(f"{ROWS}/") or name.endswith(OF_RUN), Path(scratch))
        yield Path(scratch) / "results", bundle.manifest


@contextmanager
def _zip(path: Path) -> Iterator[zipfile.ZipFile]:
    with path.open("rb") as file:
        with retold(lambda cause: f"{path}: damaged, truncated or not a bundle ({printable(cause, 100)})"):
            archive = zipfile.ZipFile(file)
            # zipfile would also open one inside the file, such as the arrays of a run in a truncated bundle
            file.seek(-END_BYTES, io.SEEK_END)
            end = file.read()
            first = min((info.header_offset for info in archive.infolist()), default=0)
            if first != 0 or not end.startswith(b"PK\x05\x06") or not end.endswith(b"\0\0"):
                raise zipfile.BadZipFile("the archive is not the whole file")
        with archive:
            yield archive


def _files(path: Path, infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The files by their names below the one folder that holds all; raises HashbenchError for what no bundle has."""
    if len(infos) > MOST_FILES:
        _refuse(path, f"{len(infos):,} files: {MOST_FILES:,} at most")
    top = infos[0].orig_filename if infos else ""
    folder = top.partition("/")[0]
    files: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = info.orig_filename.partition("/")[2]
        if fault := _fault_of_entry(info) or _fault_of_name(info, folder):
            _refuse(path, fault)
        if name in files:
            _refuse(path, f"{name}: it is there twice")
        files[name] = info
    if len({name.casefold() for name in files}) < len(files):
        _refuse(path, "two of its names differ in upper and lower case only")
    total = sum(info.file_size for info in infos)
    held = path.stat().st_size
    if total > held:
        _refuse(path, f"its files have {total:,} bytes, and the archive has {held:,}")
    return files


def _fault_of_entry(info: zipfile.ZipInfo) -> str | None:
    name = printable(info.orig_filename)
    is_regular = stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG) and not info.is_dir()
    is_packed = info.compress_type != zipfile.ZIP_STORED or info.flag_bits & ENCRYPTED
    if not is_regular or is_packed or info.file_size != info.compress_size:
        return f"{name}: a bundle has regular files only, neither compressed nor encrypted"
    return None


def _fault_of_name(info: zipfile.ZipInfo, folder: str) -> str | None:
    first, _, name = info.orig_filename.partition("/")
    limit = most_bytes(name)
    if first != folder or len(folder) > MOST_NAME or not re.fullmatch(NAME, folder) or limit is None:
        return f"{printable(info.orig_filename, 120)}: no file of a bundle has this name"
    if info.file_size > limit:
        return f"{printable(name, 120)}: {info.file_size:,} bytes: {limit:,} at most"
    return None


def _refuse(path: Path, what: str) -> NoReturn:
    raise HashbenchError(f"{path}: not a bundle that hashbench wrote: {what}")


def _pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The content of a file, whose CRC is compared when its last byte is read."""
    name = info.orig_filename.partition("/")[2]
    with retold(lambda cause: f"{name}: damaged ({printable(cause, 100)})", by=DamagedFile), archive.open(info) as file:
        while piece := file.read(PIECE):
            yield piece
