"""The members of a source: found in a folder or inside an archive, decompressed, and verified before they are read.

Archives are hostile: nothing of one is extracted to a place that it names. A member is copied into a nameless temporary
file, no longer than the card allows, and only then opened.
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
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, Literal, cast

from hashbench.datasets.card import Member, Source, Verified
from hashbench.errors import HashbenchError, one_line

PIECE = 1 << 20
MAX_NAME_BYTES = 1 << 20  # of a tar's name record, which is read into memory whole
MAX_ENTRIES = 1 << 20
MAX_UNPACKED_BYTES = 64 << 30  # of all that must be decompressed to find a member in a tar

# tarfile's own guess takes anything for the oldest form of LZMA, without magic, and reserves what its header asks for
TAR_MODES: dict[bytes, Literal["r:gz", "r:bz2", "r:xz"]] = {b"\x1f\x8b": "r:gz", b"BZh": "r:bz2", b"\xfd7zXZ\0": "r:xz"}

Entry = tuple[str, Callable[[], IO[bytes] | None] | None]  # a file's name, and what opens it: nothing opens a link


def locate(folder: Path, source: Source) -> Path:
    """Where the source lies in ``folder``: the folder that holds its members (or its images), or its archive.

    The members may lie at their paths inside ``folder`` or directly in it, compressed or not. Raises HashbenchError
    where neither they nor the archive are there.
    """
    first = source.members[0].path if source.members else "the images"
    if not folder.is_dir():
        raise HashbenchError(f"{folder}: not a folder; name the one that holds {first} or {source.file}")
    if source.images or any((folder / name).is_file() for member in source.members for name in _names(member)):
        return folder
    if (folder / source.file).is_file():
        return folder / source.file
    raise HashbenchError(f"{folder}: holds neither {first} nor {source.file}")


def verify_file(path: Path, expected: Verified) -> None:
    """Raises HashbenchError unless the file has the expected size and checksum, as far as the card states them."""
    try:
        with path.open("rb") as file:
            _require(file, expected, str(path))
    except OSError as error:
        raise HashbenchError(f"{path}: cannot be read ({error.strerror})") from None


def open_members(place: Path, source: Source, scratch: Path | None = None) -> Iterator[tuple[Member, BinaryIO]]:
    """The source's members in the card's order, each open at its first byte, decompressed and verified.

    A member is closed when the next one is asked for. What has to be decompressed lies in a nameless file in
    ``scratch`` (default: the system's temporary folder) meanwhile. Raises HashbenchError for a member that is missing,
    damaged, listed twice, longer than it may be or not what the card says.
    """
    if not place.is_dir():
        verify_file(place, source)
    with _damage(place), ExitStack() as stack:
        entries = defaultdict(list)
        for name, opened in _entries(place, source, stack):
            entries[name.removeprefix("./")].append(opened)
        for member in source.members:
            found = next((name for name in _names(member) if name in entries), None)
            if found is None and place.is_dir():
                raise HashbenchError(f"{place / Path(member.path).name}: missing; {source.file} holds it")
            if found is None:
                raise HashbenchError(f"{place}: {member.packed or member.path}: not in the archive")
            where = str(place / found) if place.is_dir() else f"{place}: {found}"
            if len(entries[found]) > 1:
                raise HashbenchError(f"{where}: listed {len(entries[found])} times in the archive")
            if (opened := entries[found][0]) is None or (packed := opened()) is None:  # a link could point anywhere
                raise HashbenchError(f"{where}: not a regular file")
            lies_plain = place.is_dir() and not _is_packed(found, member)  # it is verified and read where it lies
            opening = nullcontext(packed) if lies_plain else _copied(packed, found, member, where, scratch)
            with _damage(where), packed, opening as file:
                _require(file, member, where)
                yield member, cast("BinaryIO", file)


def _names(member: Member) -> list[str]:
    """Where a member may be: plain before compressed; at its path before directly in the folder."""
    return [name for path in (member.path, member.packed) if path is not None for name in (path, Path(path).name)]


def _is_packed(name: str, member: Member) -> bool:
    return Path(name).name != Path(member.path).name and Path(name).suffix in UNPACK


@contextmanager
def _damage(where: object) -> Iterator[None]:
    """Whatever a library raises over bytes that an enemy may have written is one line."""
    try:
        yield
    except HashbenchError:
        raise
    except Exception as error:
        raise HashbenchError(f"{where}: damaged or truncated ({one_line(error)})") from None


def _entries(place: Path, source: Source, stack: ExitStack) -> Iterator[Entry]:
    """The files of a folder that may be members, or of an archive; another file is its own and only member."""
    if place.is_dir():
        for name in {name for member in source.members for name in _names(member) if (place / name).is_file()}:
            yield name, lambda path=place / name: path.open("rb")  # type: ignore[misc]  # it takes no argument too
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
        yield source.file, lambda: place.open("rb")
    else:
        raise HashbenchError(f"{place}: damaged, truncated or not a tar or zip archive")


class _TarHeader(tarfile.TarInfo):
    """A header whose name record, if it has one, is no longer than a name may be."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str | None, errors: str) -> "_TarHeader":
        """The header; raises ReadError for a name that would fill the memory."""
        header = super().frombuf(buf, encoding, errors)  # type: ignore[arg-type]  # typeshed: None is allowed
        if not header.isreg() and header.size > MAX_NAME_BYTES:
            raise tarfile.ReadError(f"a header of {header.size:,} bytes")
        return header


def _tar(path: Path, stack: ExitStack) -> tarfile.TarFile | None:
    """The open tar, compressed or not; None for what is none, an endless run of zeros among them."""
    with path.open("rb") as file:
        head = file.read(max(map(len, TAR_MODES)))
    mode = next((mode for magic, mode in TAR_MODES.items() if head.startswith(magic)), None)
    with suppress(Exception):  # whatever it raises, it is no tar
        archive = stack.enter_context(tarfile.open(path, mode or "r:", tarinfo=_TarHeader))  # noqa: SIM115
        return None if archive.next() is None else archive
    return None


@contextmanager
def _lzw(packed: IO[bytes]) -> Iterator[IO[bytes]]:
    """What a .Z file holds; its codes have 16 bits at most, for a table of longer ones could fill the memory."""
    from uncompresspy import LZWFile

    stream = io.BufferedReader(cast("io.RawIOBase", packed), PIECE)  # LZWFile goes back by a few bytes now and then
    try:
        if (flags := stream.peek(3)[2:3]) and flags[0] & 0x7F > 16:
            raise ValueError("not a .Z file, or one with flags that compress does not write")
        yield cast("IO[bytes]", LZWFile(stream, save_checkpoints=False))
    finally:
        stream.detach()  # the file is its opener's to close


UNPACK: dict[str, Callable[[IO[bytes]], AbstractContextManager[IO[bytes]]]] = {
    ".gz": lambda packed: cast("AbstractContextManager[IO[bytes]]", gzip.GzipFile(fileobj=packed)),
    ".bz2": bz2.BZ2File,
    ".xz": partial(lzma.LZMAFile, format=lzma.FORMAT_XZ),
    ".Z": _lzw,
}


@contextmanager
def _copied(packed: IO[bytes], name: str, member: Member, where: str, scratch: Path | None) -> Iterator[IO[bytes]]:
    """The member's decompressed bytes in a nameless file; no more of them than it may have, whatever is promised."""
    unpack = UNPACK[Path(name).suffix] if _is_packed(name, member) else nullcontext
    limit, size_bytes, piece = member.limit_bytes if member.size_bytes is None else member.size_bytes, 0, b"-"
    with tempfile.TemporaryFile(dir=scratch) as copy, unpack(packed) as unpacked:
        while piece:
            with warnings.catch_warnings(action="error"):  # uncompresspy warns of a file that ends within a code
                piece = unpacked.read(PIECE)
            size_bytes += len(piece)
            if size_bytes > limit:
                raise HashbenchError(f"{where}: more than the {limit:,} bytes it should have at most")
            try:
                copy.write(piece) if piece else copy.flush()
            except OSError as error:  # a disk that is full is not an archive that is damaged
                raise HashbenchError(f"{where}: no room to unpack it ({error.strerror})") from None
        yield cast("IO[bytes]", copy)


def _require(file: IO[bytes], expected: Verified, where: str) -> None:
    """Leaves the file at its first byte."""
    size_bytes = file.seek(0, io.SEEK_END)
    if expected.size_bytes not in (None, size_bytes):
        raise HashbenchError(f"{where}: {size_bytes:,} bytes; it should have {expected.size_bytes:,}")
    for algorithm, checksum in expected.checksums.items():
        file.seek(0)
        found = hashlib.file_digest(cast("io.BytesIO", file), algorithm).hexdigest()
        if found != checksum:
            raise HashbenchError(f"{where}: {algorithm} is {found}; it should be {checksum}")
    file.seek(0)
