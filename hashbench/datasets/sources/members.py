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
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, Literal, NamedTuple, cast

from hashbench.datasets.card import Member, Source, Verified
from hashbench.datasets.sources import lzw
from hashbench.errors import HashbenchError, one_line

UNREADABLE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    OSError,
    NotImplementedError,  # a zip's unknown compression
    RuntimeError,  # a zip's password
    ValueError,
    zlib.error,
    lzma.LZMAError,
)
PIECE = 1 << 20
MAX_NAME_BYTES = 1 << 20  # of a tar's name record, which is read into memory whole
MAX_ENTRIES = 1 << 20
MAX_UNPACKED_BYTES = 64 << 30  # of all that must be decompressed to find a member in a tar

# tarfile's own guess takes anything for the oldest form of LZMA, without magic, and reserves what its header asks for
TAR_MODES: dict[bytes, Literal["r:gz", "r:bz2", "r:xz"]] = {b"\x1f\x8b": "r:gz", b"BZh": "r:bz2", b"\xfd7zXZ\0": "r:xz"}
MAGIC_BYTES = 6

Pieces = Iterator[bytes]
Unpack = Callable[[IO[bytes]], Pieces]


class _Candidate(NamedTuple):
    """A name under which a member may be found, and how what lies there is decompressed; None: it lies plain."""

    name: str
    unpack: Unpack | None


class _Entry(NamedTuple):
    """A file of an archive; ``open`` is None for a link, a device, a folder, and ``n`` how often it is listed."""

    open: Callable[[], IO[bytes]] | None
    n: int


_Entries = dict[str, _Entry]


def locate(folder: Path, source: Source) -> Path:
    """Where the source lies in ``folder``: the folder that holds its members (or its images), or its archive.

    The members may lie at their paths inside ``folder`` or directly in it, compressed or not. Raises HashbenchError
    where neither they nor the archive are there.
    """
    first = source.members[0].path if source.members else "the images"
    if not folder.is_dir():
        raise HashbenchError(f"{folder}: not a folder; name the one that holds {first} or {source.file}")
    if source.images or any(_in_folder(folder, member) for member in source.members):
        return folder
    if (folder / source.file).is_file():
        return folder / source.file
    raise HashbenchError(f"{folder}: holds neither {first} nor {source.file}")


def open_members(place: Path, source: Source, scratch: Path | None = None) -> Iterator[tuple[Member, BinaryIO]]:
    """The source's members in the card's order, each open at its first byte, decompressed and verified.

    A member is closed when the next one is asked for. What has to be decompressed lies in a nameless file in
    ``scratch`` (default: the system's temporary folder) meanwhile. Raises HashbenchError for a member that is missing,
    damaged, listed twice, longer than it may be or not what the card says.
    """
    if place.is_dir():
        return _from_folder(place, source, scratch)
    verify_file(place, source)
    return _from_file(place, source, scratch)


def verify_file(path: Path, expected: Verified) -> None:
    """Raises HashbenchError unless the file has the expected size and checksum, as far as the card states them."""
    try:
        with path.open("rb") as file:
            _require(file, expected, str(path))
    except OSError as error:
        raise HashbenchError(f"{path}: cannot be read ({error.strerror})") from None


def _candidates(member: Member) -> Iterator[_Candidate]:
    """Plain before compressed; at its path before directly in the folder."""
    for name, unpack in ((member.path, None), (member.packed, UNPACK.get(Path(member.packed or "").suffix))):
        if name is not None:
            yield _Candidate(name, unpack)
            yield _Candidate(Path(name).name, unpack)


def _in_folder(folder: Path, member: Member) -> _Candidate | None:
    return next((found for found in _candidates(member) if (folder / found.name).is_file()), None)


def _from_folder(folder: Path, source: Source, scratch: Path | None) -> Iterator[tuple[Member, BinaryIO]]:
    for member in source.members:
        found = _in_folder(folder, member)
        if found is None:
            raise HashbenchError(f"{folder / Path(member.path).name}: missing; {source.file} holds it")
        path = folder / found.name
        with _damage_named(path), path.open("rb") as file:
            if found.unpack is None:  # nothing to decompress: it is verified and read where it lies
                _require(file, member, str(path))
                yield member, file
            else:
                with _copied(found.unpack(file), member, str(path), scratch) as copy:
                    yield member, copy


def _from_file(path: Path, source: Source, scratch: Path | None) -> Iterator[tuple[Member, BinaryIO]]:
    with _damage_named(path), _entries(path, source) as entries:
        for member in source.members:
            found = next((found for found in _candidates(member) if found.name in entries), None)
            where = f"{path}: {found.name if found else member.packed or member.path}"
            if found is None:
                raise HashbenchError(f"{where}: not in the archive")
            entry = entries[found.name]
            if entry.n > 1:
                raise HashbenchError(f"{where}: listed {entry.n} times in the archive")
            if entry.open is None:  # a link could point anywhere
                raise HashbenchError(f"{where}: not a regular file")
            unpack = found.unpack or _plain
            with entry.open() as packed, _copied(unpack(packed), member, where, scratch) as copy:
                yield member, copy


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except UNREADABLE as error:
        raise HashbenchError(f"{path}: damaged or truncated ({one_line(error)})") from None


def _entries(path: Path, source: Source) -> AbstractContextManager[_Entries]:
    """The files of the archive at ``path``; a source that is no archive is its own and only member."""
    if (archive := _tar(path)) is not None:
        return _tar_entries(archive, path)
    if zipfile.is_zipfile(path):
        return _zip_entries(path)
    itself = [Path(member.packed or member.path).name for member in source.members]
    if itself != [source.file]:
        raise HashbenchError(f"{path}: damaged, truncated or not a tar or zip archive")
    return nullcontext({source.file: _Entry(lambda: path.open("rb"), 1)})


class _TarHeader(tarfile.TarInfo):
    """A header whose name record, if it has one, is no longer than a name may be."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str | None, errors: str) -> "_TarHeader":
        """The header; raises ReadError for a name that would fill the memory."""
        header = super().frombuf(buf, encoding, errors)  # type: ignore[arg-type]  # typeshed: None is allowed
        if not header.isreg() and header.size > MAX_NAME_BYTES:
            raise tarfile.ReadError(f"a header of {header.size:,} bytes")
        return header


def _tar(path: Path) -> tarfile.TarFile | None:
    """The open tar, compressed or not; None for what is none, an endless run of zeros among them."""
    with path.open("rb") as file:
        head = file.read(MAGIC_BYTES)
    mode = next((mode for magic, mode in TAR_MODES.items() if head.startswith(magic)), None)
    try:
        archive = tarfile.open(path, mode or "r:", tarinfo=_TarHeader)  # noqa: SIM115  (given to a context manager)
    except UNREADABLE:
        return None
    if archive.next() is None:
        archive.close()
        return None
    return archive


@contextmanager
def _tar_entries(archive: tarfile.TarFile, path: Path) -> Iterator[_Entries]:
    entries: _Entries = {}
    unpacked = 0
    with archive:
        for n, info in enumerate(archive, start=1):
            unpacked += info.size
            if n > MAX_ENTRIES or unpacked > MAX_UNPACKED_BYTES:
                raise HashbenchError(f"{path}: more than any archive of the cards holds")
            opened = cast("Callable[[], IO[bytes]]", partial(archive.extractfile, info)) if info.isreg() else None
            _add(entries, info.name, opened)
        yield entries


@contextmanager
def _zip_entries(path: Path) -> Iterator[_Entries]:
    entries: _Entries = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16  # of Unix; 0 where another system made the archive
            regular = not info.is_dir() and stat.S_IFMT(mode) in (0, stat.S_IFREG)
            _add(entries, info.filename, partial(archive.open, info) if regular else None)
        yield entries


def _add(entries: _Entries, name: str, opened: Callable[[], IO[bytes]] | None) -> None:
    name = name.removeprefix("./")
    before = entries.get(name, _Entry(None, 0))
    entries[name] = _Entry(opened, before.n + 1)


def _plain(packed: IO[bytes]) -> Pieces:
    return iter(partial(packed.read, PIECE), b"")


UNPACK: dict[str, Unpack] = {
    ".gz": lambda packed: _plain(cast("IO[bytes]", gzip.GzipFile(fileobj=packed))),
    ".bz2": lambda packed: _plain(bz2.BZ2File(packed)),
    ".xz": lambda packed: _plain(lzma.LZMAFile(packed, format=lzma.FORMAT_XZ)),  # noqa: SIM115  (closed with what it reads)
    ".Z": lzw.unpack,
}


@contextmanager
def _copied(pieces: Pieces, member: Member, where: str, scratch: Path | None) -> Iterator[BinaryIO]:
    """The member's verified bytes in a nameless file, at its first byte."""
    with tempfile.TemporaryFile(dir=scratch) as copy:
        with closing(_readable(pieces, where)) as readable:  # before what they are read from is closed
            for piece in _within(member, readable, where):
                _write(copy, piece, where)
        _write(copy, b"", where)
        _require(copy, member, where)
        yield cast("BinaryIO", copy)


def _readable(pieces: Pieces, where: str) -> Generator[bytes]:
    try:
        yield from pieces
    except UNREADABLE as error:
        raise HashbenchError(f"{where}: damaged or truncated ({one_line(error)})") from None


def _within(member: Member, pieces: Pieces, where: str) -> Pieces:
    """The pieces, so long as they are no more than the member may have: a header may promise any number of bytes."""
    limit = member.limit_bytes if member.size_bytes is None else member.size_bytes
    size_bytes = 0
    for piece in pieces:
        size_bytes += len(piece)
        if size_bytes > limit:
            raise HashbenchError(f"{where}: more than the {limit:,} bytes it should have at most")
        yield piece


def _write(copy: IO[bytes], piece: bytes, where: str) -> None:
    """A disk that is full is not an archive that is damaged."""
    try:
        copy.write(piece)
        if not piece:
            copy.flush()
    except OSError as error:
        raise HashbenchError(f"{where}: no room to unpack it ({error.strerror})") from None


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
