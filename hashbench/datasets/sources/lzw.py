"""Files of Unix compress (.Z), unpacked piece by piece.

A few kilobytes of LZW codes can stand for gigabytes, and the format says nowhere how many: whoever unpacks them has to
be able to stop on the way, which a function that returns the whole does not allow.
"""

import io
from collections.abc import Iterator
from typing import IO, cast

MAGIC = b"\x1f\x9d"
BLOCK_MODE, UNKNOWN_FLAGS, WIDTH = 0x80, 0x60, 0x1F
CLEAR = 256  # the code that empties the table, in block mode
PIECE = 1 << 20


def unpack(packed: IO[bytes]) -> Iterator[bytes]:
    """The unpacked bytes, in pieces of about a mebibyte.

    No more than twice what was yielded so far, and a piece, is ever held. Raises ValueError for bytes that compress
    does not write; a file cut off between two codes cannot be told from a shorter one.
    """
    stream = io.BufferedReader(cast("io.RawIOBase", packed), PIECE)
    try:
        yield from _pieces(_texts(stream, *_header(stream.read(3))))
    finally:
        stream.detach()  # the file is its opener's to close


def _pieces(texts: Iterator[bytes]) -> Iterator[bytes]:
    gathered, size = [], 0
    for text in texts:
        gathered.append(text)
        size += len(text)
        if size >= PIECE:
            yield b"".join(gathered)
            gathered, size = [], 0
    yield b"".join(gathered)


def _header(header: bytes) -> tuple[int, bool]:
    """How wide codes become, and whether one of them empties the table."""
    if len(header) < 3 or header[:2] != MAGIC:
        raise ValueError("not a .Z file")
    width = header[2] & WIDTH
    if header[2] & UNKNOWN_FLAGS or not 9 <= width <= 16:
        raise ValueError("a .Z file with flags that compress does not write")
    return max(width, 10), bool(header[2] & BLOCK_MODE)  # 9 means 10 to every program that reads .Z


def _texts(stream: IO[bytes], max_bits: int, block_mode: bool) -> Iterator[bytes]:
    """What each code stands for. Eight codes make a group; a group is left unfinished where the width changes."""
    literals = [bytes([byte]) for byte in range(256)] + [b""] * block_mode
    table, bits, before = literals.copy(), 9, b""
    while group := stream.read(bits):
        for code in _codes(group, bits):
            if code == CLEAR and block_mode:
                table, bits, before = literals.copy(), 9, b""
                break
            text = _text(code, table, before)
            if before and len(table) < 1 << max_bits:
                table.append(before + text[:1])
            before = text
            yield text
            if len(table) >> bits and bits < max_bits:
                bits += 1
                break


def _codes(group: bytes, bits: int) -> Iterator[int]:
    """The codes of a group, the lowest bits first; the last group of a file may be a part of one."""
    n, over = divmod(8 * len(group), bits)
    if over >= 8:
        raise ValueError("it ends within a code")
    value, mask = int.from_bytes(group, "little"), (1 << bits) - 1
    for _ in range(n):
        yield value & mask
        value >>= bits


def _text(code: int, table: list[bytes], before: bytes) -> bytes:
    """An entry, or the one that this very code completes: the text before and its own first byte."""
    if code < len(table) and (before or code < CLEAR):
        return table[code]
    if code == len(table) and before:
        return before + before[:1]
    raise ValueError("a code that stands for nothing yet")
