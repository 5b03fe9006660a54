"""The members of a source: found in a folder or inside an archive, decompressed, and verified before they are read.

An archive may be hostile: a member is copied into an unnamed temporary file, and no path in the archive is used.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import stat
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from uncompresspy import LZWFile

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.running.datasets.card import ExpectedFile, Member, Source

PIECE = 1 << 20
MAX_NAME_BYTES = 1 << 20  # of a name record in a tar, which is read into memory as a whole
MAX_ENTRIES = 1 << 20
MAX_UNPACKED_BYTES = 64 << 30  # in all, while a tar is searched for a member

# tarfile takes any file for the oldest LZMA format, and then reserves as much memory as the "header" says
TAR_MODES = {b"\x1f\x8b": "r:gz", b"BZh": "r:bz2", b"\xfd7zXZ\0": "r:xz"}

# the name of a file and the function that opens it; None for a link, which could point anywhere
Entry = tuple[str, Callable[[], IO[bytes] | None] | None]


def locate(folder: Path, source: Source) -> Path:
    """``folder`` if it holds the members of the source, at their paths or directly, or its images; or the archive."""
    names = list(chain.from_iterable(map(_names, source.members))) or ["the images"]
    if not folder.is_dir():
        raise HashbenchError(f"{folder}: not a folder; name the one that holds {names[0]} or {source.file}")
    if source.images or any((folder / name).is_file() for name in names):
        return folder
    if (folder / source.file).is_file():
        return folder / source.file
    raise HashbenchError(f"{folder}: holds neither {names[0]} nor {source.file}")


def verify_file(path: Path, expected: ExpectedFile) -> None:
    """Raises HashbenchError unless the file has the size and the checksums that the card states."""
    try:
        with path.open("rb") as file:
            _require(file, expected, str(path))
    except OSError as error:
        raise HashbenchError(f"{path}: cannot be read ({error.strerror})") from None


def open_members(place: Path, source: Source, scratch: Path | None = None) -> Iterator[tuple[Member, BinaryIO]]:
    """The source's members in the card's order, each verified, and open at its first byte until the next one is."""
    if not place.is_dir():
        verify_file(place, source)
    with retold(lambda cause: f"{place}: damaged or truncated ({cause})"), ExitStack() as stack:
        entries: dict[str, Callable[[], IO[bytes] | None] | None] = {}
        for name, opener in _entries(place, source, stack):
            entries.setdefault(name.removeprefix("./"), opener)
        for member in source.members:
            entry = next((name for name in _names(member) if name in entries), None)
            if entry is None:
                raise HashbenchError(f"{place}: {member.packed or member.path}: missing; {source.file} holds it")
            where = f"{place}: {entry}"
            if place.is_dir():
                where = str(place / entry)
            if (opener := entries[entry]) is None or (packed := opener()) is None:
                raise HashbenchError(f"{where}: not a regular file")
            opening: AbstractContextManager[IO[bytes]] = nullcontext(packed)
            if not place.is_dir() or _is_packed(entry, member):
                opening = _copied(packed, entry, member, where, scratch)
            with retold(partial("{}: damaged or truncated ({})".format, where)), packed, opening as file:
                _require(file, member, where)
                yield member, cast("BinaryIO", file)


def _names(member: Member) -> list[str]:
    """The paths to search for a member, in order: uncompressed first; its path before its base name."""
    names = [member.path, Path(member.path).name]
    if member.packed is not None:
        names += [member.packed, Path(member.packed).name]
    return names


def _is_packed(name: str, member: Member) -> bool:
    return Path(name).name != Path(member.path).name and Path(name).suffix in UNPACK


def _entries(place: Path, source: Source, stack: ExitStack) -> Iterator[Entry]:
    """The files of a folder that may be members, or the files of an archive; a single file is its own only member."""
    if place.is_dir():
        for name in set(chain.from_iterable(map(_names, source.members))):
            if (place / name).is_file():
                yield name, partial(_open, place / name)
    elif (tar := _tar(place, stack)) is not None:
        unpacked = 0
        for n, header in enumerate(tar, start=1):
            unpacked += header.size
            if n > MAX_ENTRIES or unpacked > MAX_UNPACKED_BYTES:
                raise HashbenchError(f"{place}: more than any archive of the cards holds")
            yield header.name, partial(tar.extractfile, header) if header.isreg() else None
    elif zipfile.is_zipfile(place):
        archive = stack.enter_context(zipfile.ZipFile(place))
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)  # of Unix; 0 where another system made the archive
            regular = kind in (0, stat.S_IFREG) and not info.is_dir()
            yield info.filename, partial(archive.open, info) if regular else None
    elif [Path(member.packed or member.path).name for member in source.members] == [source.file]:
        yield source.file, partial(_open, place)
    else:
        raise HashbenchError(f"{place}: damaged, truncated or not a tar or zip archive")


def _open(path: Path) -> IO[bytes]:
    return path.open("rb")


class _TarHeader(tarfile.TarInfo):
    """A header whose name record, if it has one, has at most ``MAX_NAME_BYTES``."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str | None, errors: str) -> "_TarHeader":
        """The header; raises ReadError if its name is too long."""
        header = super().frombuf(buf, encoding, errors)  # type: ignore[arg-type]  # typeshed: None is allowed
        if not header.isreg() and header.size > MAX_NAME_BYTES:
            raise tarfile.ReadError(f"a header of {header.size:,} bytes")
        return header


def _tar(path: Path, stack: ExitStack) -> tarfile.TarFile | None:
    """The open tar archive, compressed or not; None if the file is not a tar, or has only zeros."""
    with path.open("rb") as file:
        head = file.read(max(map(len, TAR_MODES)))
    mode: Any = next((mode for magic, mode in TAR_MODES.items() if head.startswith(magic)), "r:")
    with suppress(Exception):  # any error means that it is not a tar
        archive: tarfile.TarFile = stack.enter_context(tarfile.open(path, mode, tarinfo=_TarHeader))  # noqa: SIM115
        if archive.next() is not None:
            return archive
    return None


@contextmanager
def _lzw(packed: IO[bytes]) -> Iterator[IO[bytes]]:
    """The decompressed .Z file; only codes of up to 16 bits are accepted: tables of longer ones could fill memory."""
    stream = io.BufferedReader(cast("io.RawIOBase", packed), PIECE)  # LZWFile sometimes seeks back by a few bytes
    try:
        if (flags := stream.peek(3)[2:3]) and flags[0] & 0x7F > 16:
            raise ValueError("not a .Z file, or one with flags that compress does not write")
        yield cast("IO[bytes]", LZWFile(stream, save_checkpoints=False))
    finally:
        stream.detach()  # the caller closes the file


UNPACK: dict[str, Callable[[IO[bytes]], AbstractContextManager[IO[bytes]]]] = {
    ".gz": lambda packed: cast("AbstractContextManager[IO[bytes]]", gzip.GzipFile(fileobj=packed)),
    ".bz2": bz2.BZ2File,
    ".xz": partial(lzma.LZMAFile, format=lzma.FORMAT_XZ),
    ".Z": _lzw,
}


@contextmanager
def _copied(packed: IO[bytes], name: str, member: Member, where: str, scratch: Path | None) -> Iterator[IO[bytes]]:
    """The decompressed bytes of the member in an unnamed file; raises HashbenchError if there are too many."""
    unpack: Callable[[IO[bytes]], AbstractContextManager[IO[bytes]]] = nullcontext
    if _is_packed(name, member):
        unpack = UNPACK[Path(name).suffix]
    limit = member.size_bytes
    if limit is None:
        limit = member.limit_bytes
    size_bytes = 0
    piece = b"-"
    with tempfile.TemporaryFile(dir=scratch) as copy, unpack(packed) as unpacked:
        while piece:
            with warnings.catch_warnings(action="error"):  # uncompresspy warns if a file ends inside a code
                piece = unpacked.read(PIECE)
            size_bytes += len(piece)
            if size_bytes > limit:
                raise HashbenchError(f"{where}: more than the {limit:,} bytes it should have at most")
            try:
                copy.write(piece)
                copy.flush()
            except OSError as error:  # a full disk must not be reported as a damaged archive
                raise HashbenchError(f"{where}: no room to unpack it ({error.strerror})") from None
        yield cast("IO[bytes]", copy)


def _require(file: IO[bytes], expected: ExpectedFile, where: str) -> None:
    """Raises HashbenchError unless the file has that size and those checksums; seeks to its first byte."""
    size_bytes = file.seek(0, io.SEEK_END)
    if expected.size_bytes not in (None, size_bytes):
        raise HashbenchError(f"{where}: {size_bytes:,} bytes; it should have {expected.size_bytes:,}")
    for algorithm, checksum in expected.checksums.items():
        file.seek(0)
        computed = hashlib.file_digest(cast("io.BytesIO", file), algorithm).hexdigest()
        if computed != checksum:
            raise HashbenchError(f"{where}: {algorithm} is {computed}; it should be {checksum}")
    file.seek(0)
