"""The members of a source: found in a folder or inside an archive, decompressed, and verified before they are read.

Archives are hostile: nothing of one is extracted to a place that it names. A member is copied into a nameless temporary
file, no longer than the card allows, and only then opened.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from hashbench.datasets.card import Member, Source, Verified
from hashbench.errors import HashbenchError, one_line

UNREADABLE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    OSError,
    NotImplementedError,  # a zip's unknown compression
    RuntimeError,  # a zip's password
    ValueError,  # a .Z that is none
    zlib.error,
    lzma.LZMAError,
)
PIECE = 1 << 20


def locate(folder: Path, source: Source) -> Path:
    """Where the source lies in ``folder``: the folder that holds its members, or its archive.

    The members may lie at their paths inside ``folder`` or directly in it, compressed or not. Raises HashbenchError
    where neither they nor the archive are there.
    """
    first = source.members[0].path
    if not folder.is_dir():
        raise HashbenchError(f"{folder}: not a folder; name the one that holds {first} or {source.file}")
    if any(_in_folder(folder, member) for member in source.members):
        return folder
    if (folder / source.file).is_file():
        return folder / source.file
    raise HashbenchError(f"{folder}: holds neither {first} nor {source.file}")


def open_members(place: Path, source: Source) -> Iterator[tuple[Member, BinaryIO]]:
    """The source's members in the card's order, each open at its first byte, decompressed and verified.

    A member is closed when the next one is asked for. Raises HashbenchError for one that is missing, damaged, longer
    than it may be or not what the card says.
    """
    if place.is_dir():
        return _from_folder(place, source)
    verify_file(place, source)
    if tarfile.is_tarfile(place):
        return _from_tar(place, source)
    return _from_zip(place, source) if zipfile.is_zipfile(place) else _from_itself(place, source)


def verify_file(path: Path, expected: Verified) -> None:
    """Raises HashbenchError unless the file has the expected size and checksum, as far as the card states them."""
    _require_size(path.stat().st_size, expected, str(path))
    with path.open("rb") as file:
        _require_checksums(file, expected, str(path))


def _in_folder(folder: Path, member: Member) -> Path | None:
    """The member's file, at its path or directly in the folder; compressed only where it is not there otherwise."""
    for name in filter(None, (member.path, member.packed)):
        for path in (folder / name, folder / Path(name).name):
            if path.is_file():
                return path
    return None


def _from_folder(folder: Path, source: Source) -> Iterator[tuple[Member, BinaryIO]]:
    for member in source.members:
        path = _in_folder(folder, member)
        if path is None:
            raise HashbenchError(f"{folder / Path(member.path).name}: missing; {source.file} holds it")
        with path.open("rb") as file, _ready(file, path.name, member, str(path)) as ready:
            yield member, ready


def _from_tar(path: Path, source: Source) -> Iterator[tuple[Member, BinaryIO]]:
    with _damage_named(path, "tar archive"), tarfile.open(path, "r:*") as archive:
        for member in source.members:
            name = member.packed or member.path
            where = f"{path}: {name}"
            try:
                info = archive.getmember(name)
            except KeyError:
                raise HashbenchError(f"{where}: not in the archive") from None
            packed = archive.extractfile(info) if info.isreg() else None  # a link could point anywhere
            if packed is None:
                raise HashbenchError(f"{where}: not a regular file")
            with packed, _ready(packed, name, member, where) as ready:
                yield member, ready


def _from_zip(path: Path, source: Source) -> Iterator[tuple[Member, BinaryIO]]:
    with _damage_named(path, "zip archive"), zipfile.ZipFile(path) as archive:
        for member in source.members:
            name = member.packed or member.path
            where = f"{path}: {name}"
            if name not in archive.namelist():
                raise HashbenchError(f"{where}: not in the archive")
            with archive.open(name) as packed, _ready(packed, name, member, where) as ready:
                yield member, ready


def _from_itself(path: Path, source: Source) -> Iterator[tuple[Member, BinaryIO]]:
    """A source that is no archive is its own and only member, perhaps compressed."""
    if len(source.members) > 1:
        raise HashbenchError(f"{path}: damaged, truncated or not a tar or zip archive")
    with path.open("rb") as file, _ready(file, path.name, source.members[0], str(path)) as ready:
        yield source.members[0], ready


@contextmanager
def _damage_named(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except UNREADABLE as error:
        raise HashbenchError(f"{path}: damaged, truncated or not a {what} ({one_line(error)})") from None


@contextmanager
def _ready(packed: IO[bytes], name: str, member: Member, where: str) -> Iterator[BinaryIO]:
    """The member's verified bytes: the file itself where it lies plain on the disk, else a decompressed copy."""
    if isinstance(packed, io.BufferedReader) and name == Path(member.path).name:
        _require_size(os.fstat(packed.fileno()).st_size, member, where)
        _require_checksums(packed, member, where)
        yield packed
        return
    unpack = UNPACK.get(Path(name).suffix, _plain) if member.packed else _plain
    with tempfile.TemporaryFile() as copy:
        try:
            _copy(unpack(packed), copy, member, where)
        except UNREADABLE as error:
            raise HashbenchError(f"{where}: damaged or truncated ({one_line(error)})") from None
        _require_size(copy.tell(), member, where)
        _require_checksums(copy, member, where)
        yield cast("BinaryIO", copy)


def _plain(packed: IO[bytes]) -> IO[bytes]:
    return packed


def _lzw(packed: IO[bytes]) -> IO[bytes]:
    import unlzw3

    return io.BytesIO(unlzw3.unlzw(packed.read()))


UNPACK: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    ".gz": lambda packed: cast("IO[bytes]", gzip.GzipFile(fileobj=packed)),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".Z": _lzw,
}


def _copy(unpacked: IO[bytes], copy: IO[bytes], member: Member, where: str) -> None:
    """Copies as much as the member may have, and refuses more: a header may promise any number of bytes."""
    limit = member.size_bytes if member.size_bytes is not None else member.limit_bytes
    while piece := unpacked.read(PIECE):
        if copy.tell() + len(piece) > limit:
            raise HashbenchError(f"{where}: more than the {limit:,} bytes it should have at most")
        copy.write(piece)


def _require_size(size_bytes: int, expected: Verified, where: str) -> None:
    if expected.size_bytes not in (None, size_bytes):
        raise HashbenchError(f"{where}: {size_bytes:,} bytes; it should have {expected.size_bytes:,}")


def _require_checksums(file: IO[bytes], expected: Verified, where: str) -> None:
    for algorithm, checksum in expected.checksums.items():
        file.seek(0)
        found = hashlib.file_digest(cast("io.BytesIO", file), algorithm).hexdigest()
        if found != checksum:
            raise HashbenchError(f"{where}: {algorithm} is {found}; it should be {checksum}")
    file.seek(0)
