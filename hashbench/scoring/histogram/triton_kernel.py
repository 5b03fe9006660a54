"""The counting kernel on a CUDA device, in Triton; ``torch_kernel`` launches it where Triton is installed."""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra import libdevice

BLOCK = 2048  # items whose keys are counted together
TILES = 16  # blocks of one program, counted in registers before they are added in memory
MAX_KEYS = 2048  # distances x levels; more would not stay in registers


@triton.jit
def popcount(word: tl.tensor) -> tl.tensor:
    """Set bits of an int32: the device's own instruction."""
    return libdevice.popc(word)


@triton.jit
def _count(
    query: tl.tensor,  # int32[q, w]
    database: tl.tensor,  # int32[w, n]
    query_labels: tl.tensor,  # class ids [q, 1], or int32[q, l] packed labels
    database_labels: tl.tensor,  # class ids [1, n], or int32[l, n]
    counts: tl.tensor,  # int64[q, keys]
    n_items: tl.tensor,
    n_keys: tl.tensor,
    WORDS: tl.constexpr,  # noqa: N803
    LABEL_WORDS: tl.constexpr,  # noqa: N803  (0 for class ids)
    LEVELS: tl.constexpr,  # noqa: N803
    KEYS: tl.constexpr,  # noqa: N803  (a power of 2 above n_keys; the last key stands for places without an item)
    BLOCK: tl.constexpr,  # noqa: N803
    TILES: tl.constexpr,  # noqa: N803
    popcount: tl.constexpr,
) -> None:
    """Counts TILES blocks of items for one query: n[d * LEVELS + v] in registers, then added to ``counts``."""
    q = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1).to(tl.int64) * BLOCK * TILES
    seen = tl.zeros([KEYS], tl.int32)
    for tile in range(TILES):
        item = first + tile * BLOCK + tl.arange(0, BLOCK)
        inside = item < n_items
        key = tl.zeros([BLOCK], tl.int32)
        for w in tl.static_range(WORDS):
            word = tl.load(database + w * n_items + item, mask=inside, other=0)
            key += popcount(word ^ tl.load(query + q * WORDS + w)) * LEVELS
        if LABEL_WORDS == 0:
            query_label = tl.load(query_labels + q)
            label = tl.load(database_labels + item, mask=inside, other=-1)
            key += ((label == query_label) & (query_label >= 0)).to(tl.int32)
        for w in tl.static_range(LABEL_WORDS):
            labels = tl.load(database_labels + w * n_items + item, mask=inside, other=0)
            key += popcount(labels & tl.load(query_labels + q * LABEL_WORDS + w))
        seen += tl.histogram(tl.where(inside, key, KEYS - 1), KEYS)
    at = tl.arange(0, KEYS)
    tl.atomic_add(counts + q * n_keys + at, seen.to(tl.int64), mask=at < n_keys, sem="relaxed")


def count_into(
    counts: Tensor,
    query: Tensor,
    database: Tensor,
    query_labels: Tensor,
    database_labels: Tensor,
    popcount: Any = popcount,
) -> None:
    """Adds all pairs of int32[q, w] and int32[w, n] to ``counts`` int64[q, d, v]; labels are as ``labels_on`` gives."""
    n_queries, n_bins, n_levels = counts.shape
    n_items = database.shape[1]
    n_keys = n_bins * n_levels
    label_words = 0 if database_labels.ndim == 1 else len(database_labels)
    launch = _count[(n_queries, triton.cdiv(n_items, BLOCK * TILES))]
    launch(
        query,
        database,
        query_labels,
        database_labels,
        counts,
        n_items,
        n_keys,
        WORDS=len(database),
        LABEL_WORDS=label_words,
        LEVELS=n_levels,
        KEYS=triton.next_power_of_2(n_keys + 1),
        BLOCK=BLOCK,
        TILES=TILES,
        popcount=popcount,
    )
