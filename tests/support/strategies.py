"""What hypothesis draws: rankings and codes with few distinct distances, so that ties abound."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from hashbench.scoring.relevance.labels import ClassRelevance, SharedLabelRelevance, from_labels


@dataclass(frozen=True)
class Ranking:
    """Distance (0 .. 3) and level of each item of a small database."""

    distances: list[int]
    levels: list[int]

    N_BITS = 3


@st.composite
def rankings(draw: st.DrawFn, max_items: int = 7, max_level: int = 3, relevant: bool = True) -> Ranking:
    """A ranking of up to ``max_items``; with ``relevant`` at least one item is."""
    size = draw(st.integers(1, max_items))
    distances = draw(st.lists(st.integers(0, draw(st.integers(0, Ranking.N_BITS))), min_size=size, max_size=size))
    levels = draw(st.lists(st.integers(0, max_level), min_size=size, max_size=size))
    if relevant and not any(levels):
        levels[draw(st.integers(0, size - 1))] = draw(st.integers(1, max_level))
    return Ranking(distances, levels)


@dataclass(frozen=True)
class CodeSet:
    """Bits of 0 and 1, [n, bits], and the relevance between queries and database."""

    query: np.ndarray
    database: np.ndarray
    relevance: ClassRelevance | SharedLabelRelevance


@st.composite
def code_sets(draw: st.DrawFn, max_queries: int = 4, max_items: int = 12) -> CodeSet:
    """Codes that repeat a handful of patterns, of 1 to 130 bits (one to three words), with ids or multi-hot labels."""
    n_bits = draw(st.sampled_from([1, 2, 7, 8, 12, 63, 64, 65, 130]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    patterns = rng.integers(0, 2, (draw(st.integers(1, 4)), n_bits), np.uint8)
    sizes = draw(st.integers(1, max_queries)), draw(st.integers(1, max_items))
    query, database = (patterns[rng.integers(0, len(patterns), size)] for size in sizes)
    n_labels = draw(st.sampled_from([0, 2, 5]))
    if n_labels:
        labels = [rng.integers(0, 2, (size, n_labels), np.uint8) for size in sizes]
    else:
        labels = [rng.integers(-1, 3, size) for size in sizes]
    return CodeSet(query, database, from_labels(*labels))
