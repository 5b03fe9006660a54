"""``.mat`` of versions 5 to 7, MATLAB's own format: a variable is an element, ``type, size, content``, of elements.

``scipy.io.loadmat`` takes types and classes from the file as indices, unchecked: of small files with three wrong bytes
one in forty ends the process (SciPy 1.17.1). And it holds the whole: 550 MiB for codes of 512 MB, 56 MiB here.
"""

import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._stored import Arrays, StoredArray, refuse_bomb
from hashbench.foundation.errors import HashbenchError, printable, quietly, retold

# Types of elements.
MATRIX = 14
COMPRESSED = 15
MOST_TYPE = 18
LENGTHS = (5, 6)  # of flags and lengths: integers of 32 bits
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
TEXTS = {2: "utf-8", 4: "utf-16-{}", 16: "utf-8", 17: "utf-16-{}", 18: "utf-32-{}"}
# Classes of matrices: the lowest byte of the flags.
OPAQUE = 17  # an object of a class that MATLAB defines, such as a table: it has no shape
KINDS = {1: "cell", 2: "struct", 3: "object", 4: "text", 5: "sparse", 16: "function", OPAQUE: "object"}
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
COMPLEX = 0x0800  # a flag
LOGICAL = 0x0200  # another

BYTE_ORDERS = {"<": "le", ">": "be"}
HEADER_BYTES = 128
MOST_HEAD_BYTES = 1 << 16  # of a shape, a name or the names of fields
MOST_BYTES = 1 << 30  # of a compressed variable that is read whole; the networks of the field are a quarter of it
MOST_MATRICES = 1 << 20  # in the cells and structures of one variable
MOST_DEPTH = 16

Opener = Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(frozen=True)
class Head:
    """The name, class and shape of a matrix, which come before its values."""

    name: str
    kind: str  # MATLAB's word for its class, or text, logical, complex or the ``dtype`` of its real numbers
    shape: tuple[int, ...]
    dtype: np.dtype[Any] | None


class _Content:
    """The bytes of a variable, one after another, inflated where it is compressed; ``at`` counts those read."""

    def __init__(self, file: IO[bytes], variable: "Variable", most_bytes: int) -> None:
        self.file = file
        self.order = variable.order
        self.left = variable.n_bytes
        self.most_bytes = most_bytes
        self.at = 0
        self.n_matrices = 0
        self.inflater = None
        if variable.is_compressed:
            self.inflater = zlib.decompressobj()

    def read(self, n_bytes: int) -> bytes:
        """Exactly ``n_bytes``; raises ValueError where they are not there."""
        if self.inflater is None:
            content = self._raw(n_bytes)
        elif self.at + n_bytes > self.most_bytes:
            raise ValueError(f"a variable of more than {self.most_bytes >> 20} MiB")
        else:
            content = self._inflated(n_bytes)
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

    def finish(self) -> None:
        """Reads on to the end of a compressed element, so that its checksum is compared."""
        if self.inflater:
            self._inflated(64)
            if not self.inflater.eof:
                raise ValueError("compressed data that end early or hold more than the matrix")

    def tag(self) -> tuple[int, int, int]:
        """(type, bytes of content, bytes with padding) of the next element."""
        (first,) = struct.unpack(f"{self.order}I", self.read(4))
        kind = first & 0xFFFF
        n_bytes = first >> 16
        if n_bytes > 4:
            raise ValueError(f"{n_bytes} bytes in a tag, which has room for 4")
        if n_bytes:  # type, size and up to 4 bytes of content in 8
            return kind, n_bytes, 4
        (n_bytes,) = struct.unpack(f"{self.order}I", self.read(4))
        return kind, n_bytes, -(-n_bytes // 8) * 8

    def small(self) -> tuple[int, bytes]:
        """(type, content) of the next element, which is a name or a shape."""
        kind, n_bytes, padded = self.tag()
        if padded > MOST_HEAD_BYTES:
            raise ValueError(f"{n_bytes} bytes of names or shapes")
        return kind, self.read(padded)[:n_bytes]

    def integers(self) -> tuple[int, ...]:
        kind, content = self.small()
        if kind not in LENGTHS:
            raise ValueError(f"an element of type {kind} in place of flags or lengths")
        return struct.unpack(f"{self.order}{len(content) // 4}i", content)

    def head(self) -> Head:
        flags = self.integers()[0]
        number = flags & 0xFF
        shape: tuple[int, ...] = ()
        if number != OPAQUE:
            shape = self.integers()
        name = self.small()[1].decode("ascii", "replace")
        if number != OPAQUE and min(shape, default=-1) < 0:
            raise ValueError(f"{printable(name) or 'a matrix'} of shape {shape}")
        if number not in CLASSES:
            return Head(name, KINDS.get(number, f"class {number}"), shape, None)
        if flags & COMPLEX:
            return Head(name, "complex", shape, None)
        dtype = np.dtype(CLASSES[number])
        kind = dtype.name
        if flags & LOGICAL:
            kind = "logical"
        return Head(name, kind, shape, dtype)

    def first_head(self) -> Head:
        if self.tag()[0] != MATRIX:
            raise ValueError("a compressed element that is no matrix")
        return self.head()

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

    def matrix(self, depth: int = 0) -> Any:
        """The next matrix: an array, a text, a list of a cell's values or a structure's fields; None for all else."""
        kind, n_bytes, padded = self.tag()
        self.n_matrices += 1
        if kind != MATRIX:
            raise ValueError(f"an element of type {kind} in place of a matrix")
        if depth > MOST_DEPTH or self.n_matrices > MOST_MATRICES:
            raise ValueError(f"cells more than {MOST_DEPTH} deep, or with more than {MOST_MATRICES} matrices")
        end = self.at + (padded if depth else n_bytes)
        value: Any = np.empty((0, 0))
        if n_bytes:
            value = self._value(self.head(), depth)
        if self.at > end:
            raise ValueError("an element that is longer than the one around it")
        while self.at < end:
            self.read(min(1 << 16, end - self.at))
        return value

    def _value(self, head: Head, depth: int) -> Any:
        if head.kind == "cell":
            return [self.matrix(depth + 1) for _ in range(prod(head.shape))]
        if head.kind == "struct":
            return self._structures(prod(head.shape), depth)
        if head.kind == "text":
            kind, n_bytes, _ = self.tag()
            code = TEXTS.get(kind, "latin-1").format(BYTE_ORDERS[self.order])
            return self.read(n_bytes).decode(code, "replace")
        if head.dtype is None:
            return None
        n_bytes, values = self.numbers(head)
        array = np.frombuffer(self.read(n_bytes), values)
        return array.reshape(head.shape, order="F").astype(head.dtype, copy=False)

    def _structures(self, count: int, depth: int) -> dict[str, Any] | list[dict[str, Any]]:
        length = self.integers()[0]
        _, text = self.small()
        if length < 1:
            raise ValueError("field names without letters")
        fields = [text[at : at + length].split(b"\0")[0] for at in range(0, len(text), length)]
        names = [field.decode("ascii", "replace") for field in fields]
        if not names:
            return []
        structures = [{name: self.matrix(depth + 1) for name in names} for _ in range(count)]
        if count == 1:
            return structures[0]
        return structures


@dataclass(frozen=True)
class Variable:
    """One variable of a file: ``n_bytes`` from ``start`` are a matrix, or inflate to one; all is read on demand."""

    open_file: Opener
    order: str
    start: int
    n_bytes: int
    is_compressed: bool

    @contextmanager
    def _content(self, most_bytes: int = sys.maxsize) -> Iterator[_Content]:
        """Its bytes, inflated, at most ``most_bytes``; what fails inside ``with`` raises ValueError."""
        with retold(str, IndexError, struct.error, zlib.error, by=ValueError), self.open_file() as file:
            file.seek(self.start)
            yield _Content(file, self, most_bytes)

    @cached_property
    def head(self) -> Head:
        """Its name, kind, shape and type; raises ValueError where they are damaged."""
        with self._content() as content:
            return content.first_head()

    def array(self, where: str) -> StoredArray:
        """The array, read by columns; raises HashbenchError unless it is a matrix of real numbers."""
        head = self.head
        if head.dtype is None:
            raise HashbenchError(f"{where}: not numeric (MATLAB {head.kind}): a matrix of numbers is expected")
        with self._content() as content:
            n_bytes, _ = content.numbers(content.first_head())
        refuse_bomb(where, n_bytes, self.n_bytes)
        return StoredArray(where, head.name, head.shape[::-1], head.dtype, self._slabs, is_transposed=True)

    def _slabs(self, n: int) -> Iterator[NDArray[Any]]:
        columns = self.head.shape[::-1]
        with self._content() as content:
            _, values = content.numbers(content.first_head())
            for start in range(0, columns[0], n):
                shape = (min(n, columns[0] - start), *columns[1:])
                raw = content.read(prod(shape) * values.itemsize)
                yield np.frombuffer(raw, values).reshape(shape).astype(self.head.dtype, copy=False)
            content.finish()

    def value(self) -> Any:
        """The variable in memory, as ``read`` says; raises ValueError where it is damaged."""
        with self._content(MOST_BYTES) as content:
            value = content.matrix()
            content.finish()
        return value


def variables(open_file: Opener) -> dict[str, Variable]:
    """The variables of a file by name; raises ValueError where it is damaged."""
    in_file = list[Variable]()
    with open_file() as file:
        size = file.seek(0, 2)
        file.seek(0)
        order = _byte_order(file.read(HEADER_BYTES))
        at = HEADER_BYTES
        while at < size:
            file.seek(at)
            tag = file.read(8)
            if len(tag) < 8:
                raise ValueError("the file ends early")
            kind, n_bytes = struct.unpack(f"{order}II", tag)
            if at + 8 + n_bytes > size:
                raise ValueError("the file ends early")
            if kind > MOST_TYPE:
                raise ValueError(f"an element of type {kind} in place of a variable")
            if kind == COMPRESSED:
                in_file.append(Variable(open_file, order, at + 8, n_bytes, is_compressed=True))
            elif kind == MATRIX:
                in_file.append(Variable(open_file, order, at, 8 + n_bytes, is_compressed=False))
            at += 8 + n_bytes
    return {variable.head.name: variable for variable in in_file}


def read(path: Path) -> dict[str, Any]:
    """The variables by name: matrices as arrays, text as str, cells as lists, a structure as a dict, others as None."""

    def values() -> dict[str, Any]:
        return {name: variable.value() for name, variable in variables(lambda: path.open("rb")).items()}

    return quietly(str(path), values, "not a readable .mat file")


def _byte_order(header: bytes) -> str:
    if header.startswith(b"MATLAB 7.3"):
        raise ValueError("MATLAB 7.3 is HDF5: save it with -v7")
    order = {b"IM": "<", b"MI": ">"}.get(header[HEADER_BYTES - 2 :])
    if order is None:
        raise ValueError("the header names no byte order")
    return order


def recognises(head: bytes) -> bool:
    """True where a file that begins with ``head`` is of version 5 to 7."""
    return head.startswith(b"MATLAB 5.0") and len(head) >= HEADER_BYTES


def arrays(path: Path) -> Arrays:
    """The variables of the file, of which only matrices of real numbers can be read."""
    by_name = variables(lambda: path.open("rb"))
    return {name: partial(variable.array, f"{path}: {printable(name)}") for name, variable in by_name.items()}
