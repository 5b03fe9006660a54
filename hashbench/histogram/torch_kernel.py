"""The same count with torch, on the CPU or a CUDA device, with identical counts.

On a CUDA device with Triton, pairs are compared and counted in one kernel. Everywhere else a block of distances is a
matrix product of codes of -1 and +1, exact in float32, and ``bincount`` counts it.
"""

from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hashbench.codes import Codes, pack_words
from hashbench.errors import HashbenchError
from hashbench.histogram.counts import Histogram, check_shapes
from hashbench.histogram.numba_kernel import is_multi_hot, is_signed
from hashbench.parallel import slices
from hashbench.relevance.labels import ClassRelevance, Relevance, SharedLabelRelevance

QUERY_BLOCK = 64
PAIRS = 1 << 21  # counted together by bincount: 16 MiB of keys
WORD_BITS = 32
CODES_BLOCK = 1 << 16  # codes packed or unpacked at once

Labels = tuple[Tensor, Tensor]


def count(
    query: Tensor | Codes, database: Tensor | Codes, relevance: Relevance, *, device: torch.device | str | None = None
) -> Histogram:
    """The histogram of ``query`` codes against ``database`` codes, identical to that of ``histogram.count``.

    Codes are packed, or tensors [n, bits] whose bits are set where they are > 0. ``device`` is where they are
    compared; by default where the query tensor is, or the CPU for packed codes. Values that are not finite raise
    HashbenchError.
    """
    place = torch.device(device or (query.device if isinstance(query, Tensor) else "cpu"))
    n_queries, n_bits = _shape(query)
    check_shapes((n_queries, n_bits), _shape(database), relevance)
    levels = relevance.levels
    counts = torch.zeros((n_queries, n_bits + 1, len(levels)), dtype=torch.int64, device=place)
    words, items = _words(query, place), _words(database, place)
    labels = _labels(relevance, place) if _fits_the_kernel(counts, items) else None
    if labels is None:
        _count_products(counts, words, items, relevance)
    else:
        from hashbench.histogram.triton_kernel import count_into

        count_into(counts, words, items.T.contiguous(), *labels)
    assert (counts.sum(dim=(1, 2)) == len(items)).all(), "every item is counted once for each query"
    return Histogram(counts.cpu().numpy(), levels)


def _shape(codes: Tensor | Codes) -> tuple[int, int]:
    if len(codes.shape) != 2:
        raise HashbenchError(f"codes: a tensor of shape {tuple(codes.shape)} is not items x bits")
    return codes.shape[0], codes.shape[1]


def _fits_the_kernel(counts: Tensor, items: Tensor) -> bool:
    if counts.device.type != "cuda" or not find_spec("triton") or not counts.numel() or not len(items):
        return False
    from hashbench.histogram.triton_kernel import MOST_KEYS

    return counts[0].numel() < MOST_KEYS


def _words(codes: Tensor | Codes, device: torch.device) -> Tensor:
    """The codes as int32[n, w] on the device, bit j of a code being bit j % 32 of word j // 32."""
    if isinstance(codes, Codes):
        return _int32(codes.words, device)
    words = torch.zeros((codes.shape[0], -(-codes.shape[1] // WORD_BITS)), dtype=torch.int32, device=device)
    for rows in slices(len(words), CODES_BLOCK):
        block = codes[rows].detach().to(device)
        if not torch.isfinite(block).all():
            raise HashbenchError("activations: not finite (NaN or inf); codes cannot be made of them")
        for j in range(block.shape[1]):
            words[rows, j // WORD_BITS] |= (block[:, j] > 0).to(torch.int32) << (j % WORD_BITS)
    return words


def _int32(words: NDArray[np.uint64], device: torch.device) -> Tensor:
    """64-bit words [n, w] as int32[n, 2 w], low halves first."""
    halves = np.ascontiguousarray(words, "<u8").view("<i4").astype(np.int32, copy=False)
    return torch.from_numpy(np.require(halves, requirements=["W"])).to(device)


def _labels(relevance: Relevance, device: torch.device) -> Labels | None:
    """What the kernel compares: class ids [q] and [n], or packed labels int32[q, l] and int32[l, n]; else None."""
    if (
        isinstance(relevance, ClassRelevance)
        and is_signed(relevance.query_labels)
        and is_signed(relevance.database_labels)
    ):
        return _ids(relevance.query_labels, device), _ids(relevance.database_labels, device)
    if isinstance(relevance, SharedLabelRelevance) and all(map(is_multi_hot, _sides(relevance))):
        query, database = (_int32(pack_words(labels), device) for labels in _sides(relevance))
        return query, database.T.contiguous()
    return None


def _sides(relevance: SharedLabelRelevance) -> tuple[NDArray[Any], NDArray[Any]]:
    return relevance.query_labels, relevance.database_labels


def _ids(labels: NDArray[Any], device: torch.device) -> Tensor:
    return torch.from_numpy(labels.astype(np.int64)).to(device)


def _count_products(counts: Tensor, words: Tensor, items: Tensor, relevance: Relevance) -> None:
    """Adds all pairs to ``counts`` int64[q, d, v], block by block."""
    n_bins, n_levels = counts.shape[1:]
    for rows in slices(len(words), QUERY_BLOCK):
        query = _signs(words[rows], n_bins - 1)
        first = torch.arange(len(query), device=counts.device)[:, None] * (n_bins * n_levels)
        for columns in slices(len(items), max(1, PAIRS // max(1, QUERY_BLOCK, n_bins))):
            product = _product(query, _signs(items[columns], n_bins - 1))
            level = torch.from_numpy(relevance.block(rows, columns).astype(np.int64)).to(counts.device)
            key = first + (n_bins - 1 - product.long()) // 2 * n_levels + level
            counts[rows] += torch.bincount(key.ravel(), minlength=counts[rows].numel()).view_as(counts[rows])


def _product(one: Tensor, other: Tensor) -> Tensor:
    with torch.autocast(one.device.type, enabled=False):  # half precision would round long codes
        return one @ other.T


def _signs(words: Tensor, n_bits: int) -> Tensor:
    """Codes of -1 and +1, float32[n, bits]."""
    shifts = torch.arange(WORD_BITS, dtype=torch.int32, device=words.device)
    bits = (words[:, :, None] >> shifts) & 1
    return bits.flatten(1)[:, :n_bits].float() * 2 - 1
