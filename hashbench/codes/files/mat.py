"""``.mat`` of versions 5 to 7, MATLAB's own format (version 7.3 is HDF5), for all that hashbench reads from it.

A variable is an element: ``type, size, content``. The content of a matrix is elements again: flags, shape, name, and
then its values, or the matrices in a cell or a structure. A compressed element inflates to a matrix; its checksum is
compared when its last byte is read. Values lie column by column, perhaps in a smaller type than the matrix has.

``scipy.io.loadmat`` is not used, for two reasons. It takes types and classes as they stand in the file for indices of
its tables: of small uncompressed files with up to three wrong bytes, about one in forty ends the process with a
segmentation fault (SciPy 1.17.1). A guard that checks each element before SciPy sees it has to parse all that this
reader parses. And it holds the whole matrix: codes of 512 MB take 550 MiB, 1050 MiB with the guard, and 70 MiB here.
"""

import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._stored import Arrays, Format, StoredArray, refuse_bomb
from hashbench.errors import HashbenchError, one_line, printable, quietly

MATRIX, COMPRESSED = 14, 15  # types of elements
INTEGERS, MOST_TYPE = (5, 6), 18
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
TEXT_CODES = {2: "utf-8", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
KINDS = {1: "cell", 2: "struct", 3: "object", 4: "text", 5: "sparse", 6: "double", 7: "single", 16: "function"}
KINDS |= {8: "int8", 9: "uint8", 10: "int16", 11: "uint16", 12: "int32", 13: "uint32", 14: "int64", 15: "uint64"}
OPAQUE = 17  # an object of a class that MATLAB defines, such as a table: it has no shape
KINDS |= {OPAQUE: "object"}
COMPLEX, LOGICAL = 0x0800, 0x0200  # among the flags, whose lowest byte is the class
HEADER_BYTES = 128
MOST_HEAD_BYTES = 1 << 16  # of a shape, a name or the names of fields
MOST_BYTES = 1 << 30  # of a compressed variable that is read whole; the networks of the field are a quarter of it
MOST_VALUES = 1 << 20  # in the cells and structures of one variable
MOST_DEPTH = 16

Opener = Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(frozen=True)
class Head:
    """What stands before the values of a matrix.

    ``kind`` is MATLAB's word for its class (double, cell, struct, ...), or text, logical or complex. ``dtype`` is the
    type of a matrix of real numbers, and None for all else.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any] | None


@dataclass(frozen=True)
class Element:
    """Where a variable lies in its file, which ``open_file`` opens."""

    open_file: Opener
    order: str
    start: int
    n_bytes: int
    is_compressed: bool

    @contextmanager
    def opened(self, most_bytes: int = sys.maxsize) -> Iterator["Content"]:
        """Its content, which may inflate to ``most_bytes``; what fails inside ``with`` raises ValueError."""
        try:
            with self.open_file() as file:
                file.seek(self.start)
                yield Content(file, self, most_bytes)
        except (IndexError, struct.error, zlib.error) as error:
            raise ValueError(one_line(error)) from None


class Content:
    """The bytes of an element, one after another, inflated where it is compressed.

    ``size`` is that of the matrix in it, and ``at`` the number of bytes that were read.
    """

    def __init__(self, file: IO[bytes], element: Element, most_bytes: int) -> None:
        self.file, self.order, self.left = file, element.order, element.n_bytes
        self.most_bytes, self.at, self.n_values = most_bytes, 0, 0
        self.inflater = zlib.decompressobj() if element.is_compressed else None
        kind, self.size = self.unpack("I", self.read(8)) if self.inflater else (MATRIX, element.n_bytes)
        if kind != MATRIX:
            raise ValueError("a compressed element that is no matrix")

    def read(self, n_bytes: int) -> bytes:
        """Exactly ``n_bytes``; raises ValueError where they are not there."""
        if self.inflater and self.at + n_bytes > self.most_bytes:
            raise ValueError(f"a variable of more than {self.most_bytes >> 20} MiB")
        content = self._inflated(n_bytes) if self.inflater else self._raw(n_bytes)
        self.at += len(content)
        if len(content) != n_bytes:
            raise ValueError("the file ends early")
        return content

    def _raw(self, n_bytes: int) -> bytes:
        content = self.file.read(min(n_bytes, self.left))
        self.left -= len(content)
        return content

    def _inflated(self, n_bytes: int) -> bytes:
        assert self.inflater is not None
        content = bytearray()
        while len(content) < n_bytes:
            fed = self.inflater.unconsumed_tail or self._raw(1 << 16)
            piece = self.inflater.decompress(fed, n_bytes - len(content))
            if not piece and not fed:
                break
            content += piece
        return bytes(content)

    def unpack(self, kind: str, content: bytes) -> tuple[int, ...]:
        """The 32-bit integers in ``content``."""
        return struct.unpack(f"{self.order}{len(content) // 4}{kind}", content)

    def tag(self) -> tuple[int, int, int]:
        """(type, bytes of content, bytes with padding) of the next element inside the matrix."""
        (first,) = self.unpack("I", self.read(4))
        kind, n_bytes = first & 0xFFFF, first >> 16
        if n_bytes > 4:
            raise ValueError(f"{n_bytes} bytes in a tag, which has room for 4")
        if n_bytes:  # type, size and up to 4 bytes of content in 8
            return kind, n_bytes, 4
        (n_bytes,) = self.unpack("I", self.read(4))
        return kind, n_bytes, -(-n_bytes // 8) * 8

    def part(self) -> tuple[int, bytes]:
        """(type, content) of the next element, which is a small one."""
        kind, n_bytes, padded = self.tag()
        if padded > MOST_HEAD_BYTES:
            raise ValueError(f"{n_bytes} bytes of names or shapes")
        return kind, self.read(padded)[:n_bytes]

    def integers(self) -> tuple[int, ...]:
        """The 32-bit integers in the next element; raises ValueError where they are something else."""
        kind, content = self.part()
        if kind not in INTEGERS:
            raise ValueError(f"an element of type {kind} in place of flags or lengths")
        return self.unpack("i", content)

    def head(self) -> Head:
        """What stands before the values, which come next."""
        flags = self.integers()[0]
        number = flags & 0xFF
        shape = () if number == OPAQUE else self.integers()
        name = self.part()[1].decode("ascii", "replace")
        if number != OPAQUE and min(shape, default=-1) < 0:
            raise ValueError(f"{printable(name) or 'a matrix'} of shape {shape}")
        kind = KINDS.get(number, f"class {number}")
        if number in CLASSES and flags & (COMPLEX | LOGICAL):
            kind = "complex" if flags & COMPLEX else "logical"
        dtype = np.dtype(CLASSES[number]) if number in CLASSES and kind != "complex" else None
        return Head(name, kind, shape, dtype)

    def numbers(self, head: Head) -> tuple[int, np.dtype[Any]]:
        """(bytes, type) of the values, which come next; raises ValueError where they do not fit the ``head``."""
        kind, n_bytes, _ = self.tag()
        if kind not in NUMBERS:
            raise ValueError(f"values of type {kind}, which is none of numbers")
        values = np.dtype(self.order + NUMBERS[kind])
        if n_bytes != prod(head.shape) * values.itemsize:
            raise ValueError(f"{n_bytes} bytes for {values} of shape {head.shape}")
        if head.dtype is not None and head.dtype.kind != "f" and not np.can_cast(values, head.dtype):
            raise ValueError(f"values of {values} do not fit a matrix of {head.dtype}")
        return n_bytes, values

    def skip_to(self, end: int) -> None:
        """Reads on until ``end`` bytes were read."""
        if self.at > end:
            raise ValueError("an element that ends behind the one around it")
        while self.at < end:
            self.read(min(1 << 16, end - self.at))

    def close(self) -> None:
        """Reads on to the end of a compressed element, so that its checksum is compared."""
        if self.inflater:
            self._inflated(64)
            if not self.inflater.eof:
                raise ValueError("compressed data that end early or hold more than the matrix")


@dataclass(frozen=True)
class Variable:
    """One variable of a file: its head is known, its values are read when they are asked for."""

    head: Head
    element: Element

    def array(self, where: str) -> StoredArray:
        """The array, to be read in pieces of columns; raises HashbenchError unless it is a matrix of real numbers."""
        head = self.head
        if head.dtype is None:
            raise HashbenchError(f"{where}: not numeric (MATLAB {head.kind}): a matrix of numbers is expected")
        with self.element.opened() as content:
            n_bytes, _ = content.numbers(content.head())
        refuse_bomb(where, n_bytes, self.element.n_bytes)
        return StoredArray(where, head.name, head.shape[::-1], head.dtype, self._slabs, is_transposed=True)

    def _slabs(self, n: int) -> Iterator[NDArray[Any]]:
        columns = self.head.shape[::-1]
        with self.element.opened() as content:
            _, values = content.numbers(content.head())
            for start in range(0, columns[0], n):
                shape = (min(n, columns[0] - start), *columns[1:])
                raw = content.read(prod(shape) * values.itemsize)
                yield np.frombuffer(raw, values).reshape(shape).astype(self.head.dtype, copy=False)
            content.close()

    def value(self) -> Any:
        """The variable in memory: an array, a str, or what ``read`` says of cells and structures."""
        with self.element.opened(MOST_BYTES) as content:
            value = _value(content, content.size, 0)
            content.close()
        return value


def variables(open_file: Opener) -> list[Variable]:
    """The variables of a file in its order; raises ValueError where it is damaged."""
    found = []
    for element in _elements(open_file):
        with element.opened() as content:
            found.append(Variable(content.head(), element))
    return found


def read(path: Path) -> dict[str, Any]:
    """The variables by name: matrices as arrays, text as str, cells as lists, a structure as a dictionary.

    Arrays have MATLAB's shape; cells and arrays of structures are lists in MATLAB's order (first index fastest).
    Objects, functions, sparse and complex matrices are left unread, as None. Raises HashbenchError when the file is
    damaged or of another format.
    """
    found = quietly(str(path), lambda: variables(lambda: path.open("rb")), "not a readable .mat file")
    return {variable.head.name: quietly(str(path), variable.value, "not a readable .mat file") for variable in found}


def _elements(open_file: Opener) -> Iterator[Element]:
    with open_file() as file:
        size = file.seek(0, 2)
        file.seek(0)
        order = _byte_order(file.read(HEADER_BYTES))
        at = HEADER_BYTES
        while at < size:
            file.seek(at)  # whoever reads the element before the next is asked for may move in the same file
            tag = file.read(8)
            kind, n_bytes = struct.unpack(f"{order}II", tag) if len(tag) == 8 else (0, size)
            if at + 8 + n_bytes > size:
                raise ValueError("the file ends early")
            if kind > MOST_TYPE:
                raise ValueError(f"an element of type {kind} in place of a variable")
            if kind in (MATRIX, COMPRESSED):
                yield Element(open_file, order, at + 8, n_bytes, kind == COMPRESSED)
            at += 8 + n_bytes


def _byte_order(header: bytes) -> str:
    if header.startswith(b"MATLAB 7.3"):
        raise ValueError("MATLAB 7.3 is HDF5: save it with -v7")
    order = {b"IM": "<", b"MI": ">"}.get(header[HEADER_BYTES - 2 :])
    if order is None:
        raise ValueError("the header names no byte order")
    return order


def _value(content: Content, n_bytes: int, depth: int) -> Any:
    """The matrix in the next ``n_bytes``; no bytes are an empty one."""
    if not n_bytes:
        return np.empty((0, 0))
    if depth > MOST_DEPTH:
        raise ValueError(f"cells more than {MOST_DEPTH} deep")
    end = content.at + n_bytes
    value = _after(content, content.head(), depth)
    content.skip_to(end)
    return value


def _after(content: Content, head: Head, depth: int) -> Any:
    """The value that comes after its ``head``."""
    if head.kind == "cell":
        return [_inner(content, depth + 1) for _ in range(prod(head.shape))]
    if head.kind == "struct":
        return _structures(content, head, depth)
    if head.kind == "text":
        kind, n_bytes, _ = content.tag()
        return content.read(n_bytes).decode(_text_code(kind, content.order), "replace")
    if head.dtype is None:
        return None
    n_bytes, values = content.numbers(head)
    array = np.frombuffer(content.read(n_bytes), values)
    return array.reshape(head.shape, order="F").astype(head.dtype, copy=False)


def _structures(content: Content, head: Head, depth: int) -> dict[str, Any] | list[dict[str, Any]]:
    length, (_, text) = content.integers()[0], content.part()
    if length < 1:
        raise ValueError("field names without letters")
    names = [text[at : at + length].split(b"\0")[0].decode("ascii", "replace") for at in range(0, len(text), length)]
    count = prod(head.shape) if names else 0
    found = [{name: _inner(content, depth + 1) for name in names} for _ in range(count)]
    return found[0] if count == 1 else found


def _inner(content: Content, depth: int) -> Any:
    """The next matrix of a cell or structure."""
    content.n_values += 1
    kind, n_bytes, padded = content.tag()
    if kind != MATRIX or content.n_values > MOST_VALUES:
        raise ValueError(f"not a matrix, or one too many: number {content.n_values} in cells and structures")
    end = content.at + padded
    value = _value(content, n_bytes, depth)
    content.skip_to(end)
    return value


def _text_code(kind: int, order: str) -> str:
    code = TEXT_CODES.get(kind, "latin-1")
    return code if code in ("utf-8", "latin-1") else f"{code}-{'le' if order == '<' else 'be'}"


def _recognises(head: bytes) -> bool:
    return head.startswith(b"MATLAB 5.0") and len(head) >= HEADER_BYTES


def _arrays(path: Path) -> Arrays:
    return {
        variable.head.name: partial(variable.array, f"{path}: {printable(variable.head.name)}")
        for variable in variables(lambda: path.open("rb"))
    }


FORMAT = Format(_recognises, _arrays)
