"""Binary codes: packed bits, 64 to a word; codes made of packed bytes, whichever bit of a byte comes first."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices

MAX_BITS = 4096
BLOCK_WORDS = 1 << 17  # of the database, counted at a time: 1 MiB, which fits the level-2 cache of a core
LEAST_BLOCK = 1 << 12  # items; with fewer, adding the counts up costs more than counting
REVERSED = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.uint8)
ROWS = 1 << 16  # reversed at a time


@dataclass(frozen=True)
class Codes:
    """``n`` codes; ``words`` is uint64[n, ceil(n_bits / 64)], padded with 0; bit j is bit j % 64 of word j // 64."""

    words: NDArray[np.uint64]
    n_bits: int

    def __post_init__(self) -> None:
        if not 1 <= self.n_bits <= MAX_BITS:
            raise HashbenchError(f"codes: {self.n_bits} bits; 1 to {MAX_BITS} are possible")
        if self.words.ndim != 2 or self.words.shape[1] != -(-self.n_bits // 64):
            raise HashbenchError(f"codes: words of shape {self.words.shape} do not hold {self.n_bits} bits")

    @property
    def shape(self) -> tuple[int, int]:
        """(items, bits)."""
        return len(self.words), self.n_bits

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> "Codes":
        return Codes(self.words[rows], self.n_bits)

    def bytes(self) -> NDArray[np.uint8]:
        """The words as uint8[n, 8 words], the lowest bit of a byte first."""
        return np.ascontiguousarray(self.words).astype("<u8", copy=False).view(np.uint8)

    def bits(self) -> NDArray[np.uint8]:
        """The codes as uint8[n, n_bits] of 0 and 1."""
        return np.unpackbits(self.bytes(), axis=1, count=self.n_bits, bitorder="little")

    def packbits(self) -> NDArray[np.uint8]:
        """The bits as ``numpy.packbits(bits, axis=1)`` packs them: uint8[n, ceil(n_bits / 8)], padded with 0."""
        rows = self.bytes()[:, : -(-self.n_bits // 8)].copy()
        reverse_bits(rows)
        return rows


def pack(bits: NDArray[np.bool_] | NDArray[np.uint8]) -> Codes:
    """The codes of ``bits`` [n, n_bits], where every non-zero entry is a set bit."""
    if bits.ndim != 2:
        raise HashbenchError(f"codes: an array of shape {bits.shape} is not items x bits")
    return Codes(pack_words(bits), bits.shape[1])


def pack_words(bits: NDArray[Any]) -> NDArray[np.uint64]:
    """``bits`` [n, any number] as uint64[n, words], 64 to a word; a non-zero entry is a set bit, padding is zero."""
    if bits.dtype not in (np.bool_, np.uint8):  # of these no second array is made: they may be a million codes
        bits = bits != 0
    packed = np.packbits(bits, axis=1, bitorder="little")
    padded = np.zeros((len(bits), 8 * -(-bits.shape[1] // 64)), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


def binarize(activations: NDArray[np.floating]) -> Codes:
    """The codes of ``activations`` float[n, bits]: a bit is set where the activation is > 0, not at exactly 0."""
    if not np.isfinite(activations).all():
        raise HashbenchError("activations: not finite (NaN or inf), as of items that are too large: no codes")
    return pack(activations > 0)


def magnitudes(activations: NDArray[np.floating], query: Codes) -> NDArray[np.float64]:
    """The absolute values of ``activations`` [q, bits]; raises HashbenchError if their signs are not the codes."""
    if not np.array_equal(binarize(activations).words, query.words):
        raise HashbenchError("the signs of the activations are not the codes of the queries")
    return np.abs(activations, dtype=np.float64)


def block_items(n_bits: int) -> int:
    """The number of items counted at a time; a piece of a database should have as many, or a multiple of it."""
    return max(LEAST_BLOCK, BLOCK_WORDS // -(-n_bits // 64))


def reverse_bits(rows: NDArray[np.uint8]) -> None:
    """Makes the highest bit of each byte the lowest, in place."""
    for part in slices(len(rows), ROWS):
        rows[part] = REVERSED.take(rows[part])


def is_packed(values: Any, n_bits: int | None) -> bool:
    """True where an array or a tensor is [n, ceil(n_bits / 8)] bytes, eight bits in each; one bit is never packed."""
    is_bytes = str(values.dtype).removeprefix("torch.") in ("uint8", "int8") and len(values.shape) == 2
    return bool(n_bits is not None and n_bits > 1 and is_bytes and values.shape[1] == -(-n_bits // 8))


def unsigned(packed: NDArray[Any]) -> NDArray[np.uint8]:
    """Packed bytes; of int8, 128 was subtracted from each, as sentence-transformers does."""
    if packed.dtype == np.int8:
        return packed.view(np.uint8) ^ np.uint8(128)
    return packed


def from_bytes(where: str, rows: NDArray[np.uint8], n_bits: int, bit_order: str | None) -> Codes:
    """The codes in ``rows`` uint8[n, ceil(n_bits / 8)]; the first bit is the lowest of a byte (little) or the highest.

    Raises HashbenchError where bits beyond ``n_bits`` are set.
    """
    padded = np.zeros((len(rows), 8 * -(-n_bits // 64)), np.uint8)
    padded[:, : rows.shape[1]] = rows
    if bit_order != "little":
        reverse_bits(padded)
    words = padded.view("<u8").astype(np.uint64, copy=False)
    n_used = n_bits % 64
    if n_used and (words[:, -1] >> np.uint64(n_used)).any():
        advice = (
            f"give the length of whole codes (--layout {8 * rows.shape[1]}), or the order of bits (--layout little)"
        )
        raise HashbenchError(f"{where}: bits beyond n_bits = {n_bits} are set: {advice}")
    return Codes(words, n_bits)
