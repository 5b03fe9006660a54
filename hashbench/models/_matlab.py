"""Nested MATLAB variables (cells and structures) from a ``.mat`` of versions 5 to 7.

Read by this file itself, in memory that is checked at every step: SciPy's reader can be crashed by a damaged file.
An element is ``type, size, content``, and the content of a matrix is elements again: flags, shape, name, then what it
holds. Objects and functions are left unread, as None.
"""

import struct
import zlib
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from hashbench.errors import HashbenchError, one_line

MATRIX, COMPRESSED = 14, 15
CELL, STRUCT, TEXT = 1, 2, 4
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
COMPLEX = 0x0800
TEXT_CODES = {2: "utf-8", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
HEADER = 128
MOST_BYTES = 1 << 30  # of an inflated variable; the networks of the field are a quarter of it
MOST_DEPTH = 16


def read(path: Path) -> dict[str, Any]:
    """The variables by name: matrices as arrays, text as str, cells as lists, a structure as a dictionary.

    Arrays have MATLAB's shape; cells and arrays of structures are lists in MATLAB's order (first index fastest).
    Raises HashbenchError when the file is damaged or of another format.
    """
    try:
        content = path.read_bytes()
        order = _byte_order(content[:HEADER])
        elements = _elements(memoryview(content)[HEADER:], order, padded=False)
        return dict(_variable(kind, payload, order) for kind, payload in elements)
    except (OSError, ValueError, KeyError, IndexError, StopIteration, OverflowError, struct.error, zlib.error) as error:
        raise HashbenchError(f"{path}: not a readable .mat file ({one_line(error)})") from None


def _byte_order(header: bytes) -> str:
    if header.startswith(b"MATLAB 7.3"):
        raise ValueError("MATLAB 7.3 is HDF5: save it with -v7")
    if header[HEADER - 2 :] not in (b"IM", b"MI"):
        raise ValueError("the header is not that of MATLAB 5")
    return "<" if header[HEADER - 2 :] == b"IM" else ">"


def _variable(kind: int, payload: memoryview, order: str) -> tuple[str, Any]:
    if kind == COMPRESSED:
        kind, payload = next(_elements(memoryview(_inflated(payload)), order))
    return _matrix(payload, order, 0) if kind == MATRIX else ("", None)


def _inflated(payload: memoryview) -> bytes:
    inflater = zlib.decompressobj()
    content = inflater.decompress(payload, MOST_BYTES)
    if inflater.unconsumed_tail:
        raise ValueError(f"a variable of more than {MOST_BYTES >> 20} MiB")
    if not inflater.eof:
        raise ValueError("the compressed data end early")
    return content


def _elements(content: memoryview, order: str, *, padded: bool = True) -> Iterator[tuple[int, memoryview]]:
    """(type, content) of one element after another; inside a matrix they are padded to 8 bytes."""
    at = 0
    while at < len(content):
        kind, size = struct.unpack_from(f"{order}II", content, at)
        start, step = at + 8, 8 + (-(-size // 8) * 8 if padded else size)
        if kind >> 16:  # type, size and up to 4 bytes of content in 8
            kind, size, start, step = kind & 0xFFFF, kind >> 16, at + 4, 8
        if start + size > len(content):
            raise ValueError("the file ends early")
        yield kind, content[start : start + size]
        at += step


def _matrix(payload: memoryview, order: str, depth: int) -> tuple[str, Any]:
    """(name, value) of a matrix; an empty element is an empty matrix."""
    if not len(payload):
        return "", np.empty((0, 0))
    if depth > MOST_DEPTH:
        raise ValueError(f"cells more than {MOST_DEPTH} deep")
    parts = _elements(payload, order)
    flags = int(_numbers(next(parts), order)[0])
    shape = tuple(int(length) for length in _numbers(next(parts), order))
    name = bytes(next(parts)[1]).decode("ascii", "replace")
    if min(shape, default=-1) < 0:
        raise ValueError(f"{name or 'a matrix'} of shape {shape}")
    return name, _value(flags, shape, parts, order, depth)


def _value(flags: int, shape: tuple[int, ...], parts: Iterator[tuple[int, memoryview]], order: str, depth: int) -> Any:
    matlab_class = flags & 0xFF
    if matlab_class == CELL:
        return [_matrix(content, order, depth + 1)[1] for _, content in _exactly(prod(shape), parts)]
    if matlab_class == STRUCT:
        return _structures(prod(shape), parts, order, depth)
    if matlab_class == TEXT:
        kind, content = next(parts)
        return bytes(content).decode(_code(kind, order), "replace")
    if matlab_class not in CLASSES or flags & COMPLEX:
        return None
    values = _numbers(next(parts), order)
    if values.size != prod(shape):
        raise ValueError(f"{values.size} values for a matrix of shape {shape}")
    return values.reshape(shape, order="F").astype(CLASSES[matlab_class], copy=False)


def _structures(
    count: int, parts: Iterator[tuple[int, memoryview]], order: str, depth: int
) -> dict[str, Any] | list[dict[str, Any]]:
    length = int(_numbers(next(parts), order)[0])
    text = bytes(next(parts)[1])
    if length < 1:
        raise ValueError("field names without letters")
    names = [text[at : at + length].split(b"\0")[0].decode("ascii", "replace") for at in range(0, len(text), length)]
    values = [_matrix(content, order, depth + 1)[1] for _, content in _exactly(count * len(names), parts)]
    found = [dict(zip(names, values[i * len(names) :], strict=False)) for i in range(count if names else 0)]
    return found[0] if count == 1 and found else found


def _exactly(count: int, parts: Iterator[tuple[int, memoryview]]) -> Iterator[tuple[int, memoryview]]:
    """``count`` matrices; never counts further than there are elements."""
    for n in range(count):
        kind, content = next(parts, (None, memoryview(b"")))
        if kind != MATRIX:
            raise ValueError(f"{n} of {count} elements of a cell or structure")
        yield kind, content


def _numbers(element: tuple[int, memoryview], order: str) -> np.ndarray[Any, np.dtype[Any]]:
    kind, content = element
    if kind not in NUMBERS:
        raise ValueError(f"an element of type {kind} in place of numbers")
    return np.frombuffer(content, order + NUMBERS[kind])


def _code(kind: int, order: str) -> str:
    code = TEXT_CODES.get(kind, "latin-1")
    return code if code in ("utf-8", "latin-1") else f"{code}-{'le' if order == '<' else 'be'}"
