"""Reads the archive of a bundle without trusting it: names, kinds and sizes are checked before any file is read.

A bundle is a zip archive whose files are stored, not compressed (the arrays in it are compressed already): so it cannot
hold more bytes than it has, and the same files give the same bytes with every version of zlib.
"""

import hashlib
import io
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from hashbench.bundle import layout, manifest
from hashbench.bundle.manifest import Manifest
from hashbench.foundation.errors import HashbenchError, one_line, printable

DIRECTORY_BYTES = 8 << 20  # of the archive's list of files, which is read into memory as a whole
PIECE = 1 << 20
ENCRYPTED = 0x1
END_BYTES = 22  # of the last record of an archive: its magic number first, the length of a comment last


class DamagedFile(HashbenchError):  # noqa: N818  (what is found, as DamagedHasher)
    """A file of the archive cannot be read, though the archive can."""


class _SmallReads(io.BufferedReader):
    """A file that refuses to read more than ``DIRECTORY_BYTES`` at once: ``zipfile`` reads as many as the archive says.

    To read until the end (a size of -1) it asks for the last 64 KiB only.
    """

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > DIRECTORY_BYTES:
            raise zipfile.BadZipFile(f"a list of files of {size:,} bytes")
        return super().read(size)


@dataclass(frozen=True)
class Archive:
    """An open bundle. ``files`` are its files by their names below its one folder, ``folder``."""

    path: Path
    folder: str
    manifest: Manifest
    files: dict[str, zipfile.ZipInfo]
    zip: zipfile.ZipFile

    def pieces(self, name: str) -> Iterator[bytes]:
        """The content of a file, piece by piece; raises DamagedFile where it cannot be read."""
        return _pieces(self.zip, self.files[name])

    def copy(self, name: str, target: Path) -> str:
        """Writes a file to ``target`` and returns its SHA-256 (hex)."""
        digest = hashlib.sha256()
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            for piece in self.pieces(name):
                digest.update(piece)
                file.write(piece)
        return digest.hexdigest()

    def sha256(self, name: str) -> str:
        """The SHA-256 (hex) of a file."""
        digest = hashlib.sha256()
        for piece in self.pieces(name):
            digest.update(piece)
        return digest.hexdigest()


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """The bundle ``path``; raises HashbenchError where it is none, or one that no hashbench wrote."""
    if not path.is_file():
        what = "a folder, a pipe or a device" if path.exists() else "no such file"
        raise HashbenchError(f"{path}: {what}: the archive that hashbench bundle wrote is expected")
    with _zip(path) as archive:
        infos = archive.infolist()
        _require_sane(path, infos)
        folder, files = _in_one_folder(path, infos)
        if layout.MANIFEST not in files:
            _refuse(path, f"no {layout.MANIFEST} in it")
        where = f"{path}: {layout.MANIFEST}"
        try:
            text = b"".join(_pieces(archive, files[layout.MANIFEST]))
        except DamagedFile as error:
            raise HashbenchError(f"{path}: {error}") from None
        listed = manifest.read(text, where)
        _require_listed(where, files, listed)
        yield Archive(path, folder, listed, files, archive)


@contextmanager
def _zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """The open archive; its list of files is read."""
    with _SmallReads(io.FileIO(path)) as file:
        try:
            archive = zipfile.ZipFile(file)
            _require_whole(file, archive)
        except Exception as error:  # damaged bytes can raise nearly anything
            reason = printable(one_line(error), 100)
            raise HashbenchError(f"{path}: damaged, truncated or not a bundle ({reason})") from None
        with archive:
            yield archive


def _require_whole(file: io.BufferedReader, archive: zipfile.ZipFile) -> None:
    """Raises BadZipFile unless the archive is the whole file.

    ``zipfile`` would also open one that stands somewhere inside it, such as the arrays of a run in a truncated bundle.
    """
    file.seek(-END_BYTES, io.SEEK_END)
    end, first = file.read(), min((info.header_offset for info in archive.infolist()), default=0)
    if first != 0 or not end.startswith(b"PK\x05\x06") or not end.endswith(b"\0\0"):
        raise zipfile.BadZipFile("the archive is not the whole file")


def _require_sane(path: Path, infos: list[zipfile.ZipInfo]) -> None:
    """Raises HashbenchError unless all are plain files, stored as they are, and no more bytes than the archive has."""
    if len(infos) > layout.MOST_FILES:
        _refuse(path, f"{len(infos):,} files: {layout.MOST_FILES:,} at most")
    for info in infos:
        name, kind = printable(info.orig_filename), stat.S_IFMT(info.external_attr >> 16)
        if info.is_dir() or kind not in (0, stat.S_IFREG):
            _refuse(path, f"{name}: a link, a folder or a device: regular files only")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & ENCRYPTED:
            _refuse(path, f"{name}: compressed or encrypted: a bundle's files are stored as they are")
        if info.file_size != info.compress_size:
            _refuse(path, f"{name}: {info.compress_size:,} bytes would become {info.file_size:,}")
    total, held = sum(info.file_size for info in infos), path.stat().st_size
    if total > held:
        _refuse(path, f"its files have {total:,} bytes, and the archive has {held:,}")


def _in_one_folder(path: Path, infos: list[zipfile.ZipInfo]) -> tuple[str, dict[str, zipfile.ZipInfo]]:
    """The folder that holds all files, and the files by their names below it; no name is there twice."""
    files: dict[str, zipfile.ZipInfo] = {}
    folder = infos[0].orig_filename.partition("/")[0] if infos else ""
    for info in infos:
        first, _, name = info.orig_filename.partition("/")
        limit = layout.most_bytes(name)
        if first != folder or not layout.is_folder_name(folder) or limit is None:
            _refuse(path, f"{printable(info.orig_filename, 120)}: no file of a bundle has this name")
        if info.file_size > limit:
            _refuse(path, f"{printable(name, 120)}: {info.file_size:,} bytes: {limit:,} at most")
        if name in files:
            _refuse(path, f"{name}: it is there twice")
        files[name] = info
    if len({name.casefold() for name in files}) < len(files):
        _refuse(path, "two of its names differ in upper and lower case only")
    return folder, files


def _require_listed(where: str, files: dict[str, zipfile.ZipInfo], listed: Manifest) -> None:
    """Raises HashbenchError unless the manifest lists the files of the archive, all and no others."""
    there = files.keys() - {layout.MANIFEST}
    if missing := sorted(listed.files.keys() - there):
        raise HashbenchError(f"{where}: {missing[0]} is listed and not in the archive: {_count(missing)}")
    if others := sorted(there - listed.files.keys()):
        raise HashbenchError(f"{where}: {others[0]} is in the archive and not listed: {_count(others)}")


def _count(names: list[str]) -> str:
    return "1 file" if len(names) == 1 else f"{len(names)} files"


def _refuse(path: Path, what: str) -> NoReturn:
    raise HashbenchError(f"{path}: not a bundle that hashbench wrote: {what}")


def _pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The content of a file, whose CRC is compared when its last byte is read."""
    name = info.orig_filename.partition("/")[2]
    try:
        with archive.open(info) as file:
            while piece := file.read(PIECE):
                yield piece
    except Exception as error:  # as above
        raise DamagedFile(f"{name}: damaged ({printable(one_line(error), 100)})") from None
