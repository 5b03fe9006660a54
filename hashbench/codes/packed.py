"""Binary codes: packed bits, 64 to a word."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError

MAX_BITS = 4096
BLOCK_WORDS = 1 << 17  # of the database, counted at a time: 1 MiB, which fits the level-2 cache of a core
LEAST_BLOCK = 1 << 12  # items; with fewer, adding the counts up costs more than counting


@dataclass(frozen=True)
class Codes:
    """``n`` codes of ``n_bits`` bits; ``words`` is uint64[n, ceil(n_bits / 64)], padded with zero bits.

    Bit j of a code is bit j % 64 of word j // 64.
    """

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

    def __getitem__(self, rows: slice) -> "Codes":
        return Codes(self.words[rows], self.n_bits)

    def bits(self) -> NDArray[np.uint8]:
        """The codes as uint8[n, n_bits] of 0 and 1."""
        as_bytes = np.ascontiguousarray(self.words).astype("<u8", copy=False).view(np.uint8)
        return np.unpackbits(as_bytes, axis=1, count=self.n_bits, bitorder="little")


def pack(bits: NDArray[np.bool_] | NDArray[np.uint8]) -> Codes:
    """The codes of ``bits`` [n, n_bits], where every non-zero entry is a set bit.

    >>> pack(np.array([[1, 0, 1]], np.uint8)).words
    array([[5]], dtype=uint64)
    """
    if bits.ndim != 2:
        raise HashbenchError(f"codes: an array of shape {bits.shape} is not items x bits")
    return Codes(pack_words(bits), bits.shape[1])


def pack_words(bits: NDArray[Any]) -> NDArray[np.uint64]:
    """``bits`` [n, any number] as uint64[n, words], 64 to a word; a non-zero entry is a set bit, padding bits are zero.

    >>> pack_words(np.eye(2, 65, k=63)).tolist()
    [[9223372036854775808, 0], [0, 1]]
    """
    packed = np.packbits(bits != 0, axis=1, bitorder="little")
    padded = np.zeros((len(bits), 8 * -(-bits.shape[1] // 64)), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


def binarize(activations: NDArray[np.floating]) -> Codes:
    """The codes of ``activations`` float[n, bits]: a bit is set where the activation is > 0.

    The bit of an activation of exactly 0 is not set. Raises HashbenchError for activations that are not finite.
    """
    if not np.isfinite(activations).all():
        raise HashbenchError("activations: not finite (NaN or inf); codes cannot be made of them")
    return pack(activations > 0)


def block_items(n_bits: int) -> int:
    """The number of items counted at a time; a piece of a database should have as many, or a multiple of it."""
    return max(LEAST_BLOCK, BLOCK_WORDS // -(-n_bits // 64))
