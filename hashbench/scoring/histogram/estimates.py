"""Distances estimated from codes of B bits a dimension: a factor of the item times the product of query and levels."""

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.parallel import slices
from hashbench.scoring.codes import Codes, magnitudes
from hashbench.scoring.histogram.ranking import Array, Distances, by_tables

PAIRS = 1 << 24  # query-item pairs estimated at a time: 128 MB
NUMBERS = 1 << 21  # decoded at a time: 16 MB
FEW = 4  # queries for which bytes of several numbers are not decoded, but looked up, which gives the same sums
MOST_BITS = 8  # of a number
EXACT_BITS = 52  # whole float64 of so many bits are added without rounding
SIGNS = np.array([-1.0, 1.0])  # the levels of a bit


def pack_tight(numbers: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """``numbers`` [n, d] below 2^bits as bytes [n, ceil(d bits / 8)]: one after the other, the lowest bits first."""
    unpacked = np.unpackbits(numbers[:, :, None], axis=2, count=bits, bitorder="little")
    return np.packbits(unpacked.reshape(len(numbers), -1), axis=1, bitorder="little")


def unpack_tight(packed: NDArray[np.uint8], bits: int, d: int) -> NDArray[np.uint8]:
    """The numbers [n, d] that :func:`pack_tight` packed."""
    if bits == MOST_BITS:
        return packed
    unpacked = np.unpackbits(packed, axis=1, count=d * bits, bitorder="little").reshape(len(packed), d, bits)
    return np.packbits(unpacked, axis=2, bitorder="little")[:, :, 0]


def pack_numbers(numbers: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """``numbers`` [n, d] below 2^bits as bytes [n, ceil(d / p)]: p = 8 // bits of them in a byte, the lowest first."""
    n_in_byte = 8 // bits
    padded = np.pad(numbers, [(0, 0), (0, -numbers.shape[1] % n_in_byte)])
    parts = padded.reshape(len(numbers), -1, n_in_byte) << np.arange(0, n_in_byte * bits, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(parts, axis=2)


def estimated(
    vectors: NDArray[np.float64],
    packed: NDArray[np.uint8],
    levels: NDArray[np.float64],
    scale: NDArray[np.float32],
    added: NDArray[np.float32],
) -> Distances:
    """Estimates float64[q, n]: ``added`` + ``scale`` <vector, levels of the item>, up to a constant of the query.

    ``vectors`` are [q, d], ``packed`` the numbers of the items as :func:`pack_numbers` has them, ``levels`` [2^B] whole
    numbers, ``scale`` and ``added`` [n]. The vectors are rounded to whole multiples of a unit of each query, a power of
    2, at most 2^-51 of the largest possible product, so that products are exact: items of equal codes and factors tie,
    whatever is computed beside them.
    """
    n_items = len(packed)
    n_features = vectors.shape[1]
    largest = np.abs(vectors).max(axis=1, initial=0) * np.abs(levels).max() * n_features
    unit = np.ldexp(1.0, np.frexp(largest)[1] - EXACT_BITS)[:, None]
    whole = np.rint(vectors / unit)
    bits = len(levels).bit_length() - 1
    shifts = np.arange(0, 8 // bits * bits, bits)
    of_byte = levels[(np.arange(256)[:, None] >> shifts) & (len(levels) - 1)]  # [256, p]: each byte holds p numbers

    def distances(rows: slice) -> Array:
        block = np.empty((len(whole[rows]), n_items))
        if not len(block):
            return block
        parts = slices(n_items, max(1, NUMBERS // n_features))
        if len(block) < FEW and of_byte.shape[1] > 1:
            padded = np.zeros((len(block), packed.shape[1] * of_byte.shape[1]))
            padded[:, :n_features] = whole[rows]
            tables = padded.reshape(len(block), packed.shape[1], -1) @ of_byte.T  # products with bytes [q, bytes, 256]
            for items in parts:
                block[:, items] = by_tables(tables, packed[items])(slice(0, len(block)))
        else:
            for items in parts:
                decoded = of_byte[packed[items]].reshape(len(packed[items]), -1)[:, :n_features]
                block[:, items] = whole[rows] @ decoded.T
        block *= unit[rows]
        block *= scale
        block += added
        return block

    return _ahead(distances, len(vectors), max(1, PAIRS // max(1, n_items)))


def by_activations(activations: NDArray[np.floating], query: Codes, database: Codes) -> Distances:
    """The asymmetric distances float64[q, n]: -<z, b> of ``activations`` z [q, bits] and b in {-1, +1}^bits.

    They are as ``weighted_hamming`` with the weights |z| ranks, but where two differ by about 2^-52 of the sum of all
    |z|; a product of matrices makes them. Raises HashbenchError where the codes are not the signs of the activations.
    """
    magnitudes(activations, query)  # checks the signs
    alike = np.ones(len(database), np.float32)
    return estimated(-activations.astype(np.float64), database.bytes(), SIGNS, alike, np.zeros_like(alike))


def _ahead(distances: Distances, n_queries: int, n_at_a_time: int) -> Distances:
    """``distances``, computed for ``n_at_a_time`` queries together where blocks of fewer are asked for in order.

    The items are decoded once for all queries that are computed together.
    """
    first = 0
    computed = distances(slice(0, 0))

    def of_rows(rows: slice) -> Array:
        nonlocal first, computed
        if rows.start < first or rows.stop > first + len(computed):
            first = rows.start
            computed = distances(slice(first, min(n_queries, max(rows.stop, first + n_at_a_time))))
        return computed[rows.start - first : rows.stop - first]

    return of_rows
