"""``.mat`` of versions 5 to 7, MATLAB's own format; version 7.3 is HDF5.

Only matrices of numbers are read, by this file itself: what reads everything else in the format (cells, objects,
functions) can be crashed by a damaged file. A variable is an element ``type, size, content``; the content of a matrix
is four elements more: flags, shape, name, values. A compressed element inflates to one; its checksum is compared when
its last byte is read. Values lie column by column, perhaps in a smaller type than the matrix has.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._stored import Arrays, Format, Stored, printable, refuse_bomb
from hashbench.errors import HashbenchError

MATRIX, COMPRESSED = 14, 15
ELEMENT_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
OTHER_CLASSES = {1: "cell", 2: "struct", 3: "object", 4: "text", 5: "sparse", 16: "function", 17: "object"}
COMPLEX = 0x0800
MOST_HEAD_BYTES = 1 << 16


@dataclass(frozen=True)
class Element:
    """Where a variable's element lies in the file."""

    path: Path
    order: str
    start: int
    n_bytes: int
    is_compressed: bool


class Content:
    """The bytes of an element, one after another, inflated where it is compressed."""

    def __init__(self, file: IO[bytes], element: Element) -> None:
        file.seek(element.start)
        self.file, self.order, self.left = file, element.order, element.n_bytes
        self.inflater = zlib.decompressobj() if element.is_compressed else None
        if self.inflater and self.unpack("I", 8)[0] != MATRIX:
            raise ValueError("a compressed element that is no matrix")

    def read(self, n_bytes: int) -> bytes:
        """Exactly ``n_bytes``; raises ValueError where they are not there."""
        content = self._inflated(n_bytes) if self.inflater else self._raw(n_bytes)
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

    def unpack(self, kind: str, n_bytes: int) -> tuple[int, ...]:
        """The integers in the next ``n_bytes``."""
        if n_bytes > MOST_HEAD_BYTES:
            raise ValueError(f"{n_bytes} bytes of names and shapes")
        return struct.unpack(f"{self.order}{n_bytes // 4}{kind}", self.read(n_bytes))

    def tag(self) -> tuple[int, int, int]:
        """(type, bytes of values, bytes with padding) of the next element inside the matrix."""
        (first,) = self.unpack("I", 4)
        if first >> 16:  # type, size and up to 4 bytes of values in 8
            return first & 0xFFFF, first >> 16, 4
        (n_bytes,) = self.unpack("I", 4)
        return first, n_bytes, -(-n_bytes // 8) * 8

    def end(self) -> None:
        """Reads on to the end of a compressed element, so that its checksum is compared."""
        if self.inflater:
            self._inflated(64)
            if not self.inflater.eof:
                raise ValueError("compressed data that end early or hold more than the matrix")


@dataclass(frozen=True)
class Head:
    """What a variable says before its values."""

    name: str
    matlab_class: int
    is_complex: bool
    shape: tuple[int, ...]


def _recognises(head: bytes) -> bool:
    return head.startswith(b"MATLAB 5.0") and len(head) >= 128


def _arrays(path: Path) -> Arrays:
    found: dict[str, partial[Stored]] = {}
    for element in _elements(path):
        with path.open("rb") as file:
            head = _head(Content(file, element))
        found[head.name] = partial(_stored, element, head)
    return found


def _elements(path: Path) -> Iterator[Element]:
    size = path.stat().st_size
    with path.open("rb") as file:
        order = {b"IM": "<", b"MI": ">"}.get(file.read(128)[126:])
        if order is None:
            raise ValueError("the header names no byte order")
        while (at := file.tell()) < size:
            kind, n_bytes = struct.unpack(f"{order}II", file.read(8))
            if at + 8 + n_bytes > size:
                raise ValueError("the file ends early")
            if kind in (MATRIX, COMPRESSED):
                yield Element(path, order, at + 8, n_bytes, kind == COMPRESSED)
            file.seek(at + 8 + n_bytes)


def _head(content: Content) -> Head:
    _, n_bytes, padded = content.tag()
    flags = content.unpack("I", padded)[0]
    _, n_bytes, padded = content.tag()
    shape = content.unpack("i", padded)[: n_bytes // 4]
    _, n_bytes, padded = content.tag()
    if padded > MOST_HEAD_BYTES:
        raise ValueError(f"a name of {n_bytes} bytes")
    name = content.read(padded)[:n_bytes].decode("ascii", "replace")
    return Head(name, flags & 0xFF, bool(flags & COMPLEX), shape)


def _stored(element: Element, head: Head) -> Stored:
    where = f"{element.path}: {printable(head.name)}"
    if head.matlab_class not in CLASSES or head.is_complex:
        kind = "complex" if head.is_complex else OTHER_CLASSES.get(head.matlab_class, f"class {head.matlab_class}")
        raise HashbenchError(f"{where}: not numeric (MATLAB {kind}): a matrix of numbers is expected")
    with element.path.open("rb") as file:
        n_bytes, values = _values(Content(file, element), element.order)
    if any(length < 0 for length in head.shape) or n_bytes != prod(head.shape) * values.itemsize:
        raise HashbenchError(f"{where}: cannot be read: {n_bytes} bytes for {values} of shape {head.shape}")
    refuse_bomb(where, n_bytes, element.n_bytes)
    dtype = np.dtype(CLASSES[head.matlab_class])
    if dtype.kind != "f" and not np.can_cast(values, dtype):
        raise HashbenchError(f"{where}: cannot be read: values of {values} do not fit a matrix of {dtype}")
    return Stored(where, head.name, head.shape[::-1], dtype, partial(_pieces, element, head, dtype), is_turned=True)


def _values(content: Content, order: str) -> tuple[int, np.dtype[Any]]:
    """(bytes, type) of the values, which come next."""
    _head(content)
    kind, n_bytes, _ = content.tag()
    if kind not in ELEMENT_TYPES:
        raise ValueError(f"values of type {kind}, which is none of numbers")
    return n_bytes, np.dtype(order + ELEMENT_TYPES[kind])


def _pieces(element: Element, head: Head, dtype: np.dtype[Any], n: int) -> Iterator[NDArray[Any]]:
    columns = head.shape[::-1]
    with element.path.open("rb") as file:
        content = Content(file, element)
        _, values = _values(content, element.order)
        for start in range(0, columns[0], n):
            shape = (min(n, columns[0] - start), *columns[1:])
            raw = content.read(prod(shape) * values.itemsize)
            yield np.frombuffer(raw, values).reshape(shape).astype(dtype)
        content.end()


FORMAT = Format(_recognises, _arrays)
