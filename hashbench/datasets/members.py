"""The members of a source: found in a folder or inside a tar archive, and verified before a reader sees them."""

import hashlib
import tarfile
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from pathlib import Path

from hashbench.datasets.card import Member, Source, Verified
from hashbench.errors import HashbenchError, one_line

UNREADABLE = (tarfile.TarError, EOFError, OSError, zlib.error, LZMAError)


def locate(folder: Path, source: Source) -> Path:
    """Where the source lies in ``folder``: the folder that holds its members, or its archive.

    The members may lie at their paths inside ``folder`` or directly in it. Raises HashbenchError where neither
    they nor the archive are there.
    """
    first = source.members[0].path
    if not folder.is_dir():
        raise HashbenchError(f"{folder}: not a folder; name the one that holds {first} or {source.file}")
    if any((folder / member.path).is_file() for member in source.members):
        return folder
    if any((folder / Path(member.path).name).is_file() for member in source.members):
        return folder
    if (folder / source.file).is_file():
        return folder / source.file
    raise HashbenchError(f"{folder}: holds neither {first} nor {source.file}")


def read_members(place: Path, source: Source) -> Iterator[tuple[Member, bytes]]:
    """The source's members in the card's order, from a folder or an archive, each with its verified bytes."""
    return _from_folder(place, source) if place.is_dir() else _from_archive(place, source)


def verify_file(path: Path, expected: Verified) -> None:
    """Raises HashbenchError unless the file has the expected size and checksum, as far as the card states them."""
    _require_size(path.stat().st_size, expected, str(path))
    for algorithm, checksum in _stated(expected):
        with path.open("rb") as file:
            _require_equal(hashlib.file_digest(file, algorithm).hexdigest(), checksum, algorithm, str(path))


def _from_folder(folder: Path, source: Source) -> Iterator[tuple[Member, bytes]]:
    for member in source.members:
        path = folder / member.path
        if not path.is_file():
            path = folder / Path(member.path).name
        if not path.is_file():
            raise HashbenchError(f"{path}: missing; {source.file} holds it")
        _require_size(path.stat().st_size, member, str(path))
        yield member, _verified(path.read_bytes(), member, str(path))


def _from_archive(path: Path, source: Source) -> Iterator[tuple[Member, bytes]]:
    """Reads the named members one by one; nothing of the archive is ever extracted to the disk."""
    verify_file(path, source)
    try:
        with tarfile.open(path, "r:*") as archive:
            for member in source.members:
                where = f"{path}: {member.path}"
                yield member, _verified(_extract(archive, member, where), member, where)
    except UNREADABLE as error:
        raise HashbenchError(f"{path}: damaged, truncated or not a tar archive ({one_line(error)})") from None


def _extract(archive: tarfile.TarFile, member: Member, where: str) -> bytes:
    try:
        info = archive.getmember(member.path)
    except KeyError:
        raise HashbenchError(f"{where}: not in the archive") from None
    file = archive.extractfile(info) if info.isreg() else None  # a link could point anywhere
    if file is None:
        raise HashbenchError(f"{where}: not a regular file")
    _require_size(info.size, member, where)  # before it is read: a header may promise any number of bytes
    return file.read(info.size)


def _verified(data: bytes, member: Member, where: str) -> bytes:
    _require_size(len(data), member, where)
    for algorithm, checksum in _stated(member):
        found = hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()
        _require_equal(found, checksum, algorithm, where)
    return data


def _stated(expected: Verified) -> list[tuple[str, str]]:
    return [(name, value) for name, value in (("sha256", expected.sha256), ("md5", expected.md5)) if value is not None]


def _require_size(size_bytes: int, expected: Verified, where: str) -> None:
    if expected.size_bytes not in (None, size_bytes):
        raise HashbenchError(f"{where}: {size_bytes:,} bytes; it should have {expected.size_bytes:,}")


def _require_equal(found: str, expected: str, algorithm: str, where: str) -> None:
    if found != expected:
        raise HashbenchError(f"{where}: {algorithm} is {found}; it should be {expected}")
