"""The kernels of the CPU: NumPy's or Numba's, cut or whole, by one worker or five, count what a plain loop counts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.one_line import one_line
from support.python import python

from hashbench.scoring.codes import Codes, pack, packed
from hashbench.scoring.histogram import count, count_blocks, counts, numpy_kernel
from hashbench.scoring.histogram import numba_kernel as kernels
from hashbench.scoring.histogram.counting import Kernel
from hashbench.scoring.relevance.labels import ClassRelevance, Relevance, SharedLabelRelevance

KERNELS = get_args(Kernel)
BITS = [1, 2, 12, 48, 63, 64, 65, 127, 128, 200, 1000, 4096]


@dataclass(frozen=True)
class Case:
    """Bits of queries and database that repeat a few patterns, and ids or multi-hot labels."""

    query: NDArray[np.uint8]
    database: NDArray[np.uint8]
    query_labels: NDArray[Any]
    database_labels: NDArray[Any]

    def relevance(self, items: slice = slice(None)) -> ClassRelevance | SharedLabelRelevance:
        kind = ClassRelevance if self.query_labels.ndim == 1 else SharedLabelRelevance
        return kind(self.query_labels, self.database_labels[items])

    def count(self, **options: Any) -> counts.Histogram:
        return count(pack(self.query), pack(self.database), self.relevance(), **options)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n_bits = draw(st.sampled_from(BITS))
    n_queries = draw(st.integers(1, 9))
    n_items = draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    patterns = rng.integers(0, 2, (draw(st.integers(1, 6)), n_bits), np.uint8)
    query, database = (patterns[rng.integers(0, len(patterns), size)] for size in (n_queries, n_items))
    n_labels = draw(st.sampled_from([0, 0, 1, 21, 70]))
    if n_labels:
        return Case(query, database, *(rng.integers(0, 2, (size, n_labels), np.uint8) for size in (n_queries, n_items)))
    # ids of the two sides overlap in part, so that some classes are empty; negative ids are no class
    ids = rng.integers(-2, 4, n_queries), rng.integers(-2, 4, n_items) + draw(st.integers(0, 3))
    dtype = draw(st.sampled_from([np.int8, np.int64]))
    return Case(query, database, *(labels.astype(dtype) * draw(st.sampled_from([1, 20, 30])) for labels in ids))


def plain(case: Case) -> NDArray[np.int64]:
    counts = np.zeros((len(case.query), case.query.shape[1] + 1, len(case.relevance().levels)), np.int64)
    for q, bits in enumerate(case.query):
        for n, others in enumerate(case.database):
            one = case.query_labels[q]
            other = case.database_labels[n]
            level = sum(a and b for a, b in zip(one, other, strict=True)) if one.ndim else int(one == other >= 0)
            counts[q, np.count_nonzero(bits != others), level] += 1
    return counts


@dataclass(frozen=True)
class AskedByBlock:
    """A relevance that no kernel knows: it is asked for its levels, block by block."""

    known: Relevance

    @property
    def levels(self) -> NDArray[np.int64]:
        return self.known.levels

    @property
    def shape(self) -> tuple[int, int]:
        return self.known.shape

    def block(self, queries: slice, database: slice) -> NDArray[np.uint16]:
        return self.known.block(queries, database)


@pytest.mark.parametrize("kernel", KERNELS)
@given(case=cases())
def test_fused_and_generic_count_what_a_plain_loop_counts(kernel: Kernel, case: Case) -> None:
    truth = plain(case)
    by_block = count(pack(case.query), pack(case.database), AskedByBlock(case.relevance()), kernel=kernel)
    assert np.array_equal(case.count(kernel=kernel).counts, truth)
    assert np.array_equal(by_block.counts, truth)


@pytest.mark.parametrize("kernel", KERNELS)
@given(case=cases(), data=st.data())
@settings(max_examples=50)
def test_blocks_tiles_and_workers_change_nothing(kernel: Kernel, case: Case, data: st.DataObject) -> None:
    truth = plain(case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numpy_kernel, "QUERY_BLOCK", data.draw(st.integers(1, 5)))
        patch.setattr(numpy_kernel, "ITEM_BLOCK", data.draw(st.integers(1, 7)))
        patch.setattr(kernels, "QUERY_BLOCK", data.draw(st.integers(2, 5)))
        patch.setattr(kernels, "LEVEL_BLOCK", data.draw(st.integers(1, 7)))
        patch.setattr(packed, "BLOCK_WORDS", data.draw(st.integers(1, 40)))
        patch.setattr(packed, "LEAST_BLOCK", data.draw(st.integers(1, 9)))
        for workers in (1, 2, 5):
            assert np.array_equal(case.count(workers=workers, kernel=kernel).counts, truth)
        by_block = count(pack(case.query), pack(case.database), AskedByBlock(case.relevance()), kernel=kernel)
        assert np.array_equal(by_block.counts, truth)


@pytest.mark.parametrize("kernel", KERNELS)
@given(case=cases(), data=st.data())
def test_a_database_in_pieces_is_the_database_whole(kernel: Kernel, case: Case, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(case.database)), max_size=4)))
    bounds = zip([0, *cuts], [*cuts, len(case.database)], strict=True)

    def pieces() -> Iterator[tuple[Codes, Relevance]]:  # a generator: pieces are asked for once, one after the other
        for items in (slice(*bound) for bound in bounds):
            yield pack(case.database[items]), case.relevance(items)

    assert count_blocks(pack(case.query), pieces(), kernel=kernel).sha256() == case.count().sha256()


def test_pieces_that_do_not_belong_together_are_refused() -> None:
    query = pack(np.ones((2, 3), np.uint8))
    ids = np.array([1, 2])
    with one_line("no piece"):
        count_blocks(query, [])
    with one_line("rows must match"):
        count_blocks(query, [(query, ClassRelevance(ids, ids)), (query, ClassRelevance(ids, ids[:1]))])

    class Distant(AskedByBlock):
        levels = np.array([0, 5])

    with one_line("must agree"):
        count_blocks(query, [(query, ClassRelevance(ids, ids)), (query, Distant(ClassRelevance(ids, ids)))])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("relevance", ["class", "shared", "asked"])
def test_counts_beyond_16_bits_in_one_cell_and_beyond_32_in_sum(relevance: str, kernel: Kernel) -> None:
    n_items = 300_001  # of one distance and level: above 2^16 in each of the tables, and three blocks
    zeros = np.zeros((3, 5), np.uint8)
    ids = ClassRelevance(np.array([7, 7, 8]), np.full(n_items, 7))
    hot = SharedLabelRelevance(np.array([[1], [1], [0]]), np.ones((n_items, 1), np.uint8))
    chosen = {"class": ids, "shared": hot, "asked": AskedByBlock(ids)}[relevance]
    query = pack(zeros)
    database = pack(np.broadcast_to(zeros[:1], (n_items, 5)))
    counts = count(query, database, chosen, kernel=kernel).counts
    assert counts[:, 0].tolist() == [[0, n_items], [0, n_items], [n_items, 0]]
    assert counts.sum() == 3 * n_items
    counts[:] = 2**32 - 1
    jobs = numpy_kernel.jobs if kernel == "numpy" else kernels.jobs
    for job in jobs(chosen, query, database, slice(0, n_items), counts):
        job()
    assert counts[:, 0, 1].tolist() == [2**32 - 1 + n_items, 2**32 - 1 + n_items, 2**32 - 1]


@pytest.mark.parametrize("kernel", KERNELS)
def test_ids_that_differ_by_more_than_a_real_number_can_tell_are_not_one_class(kernel: Kernel) -> None:
    big = np.array([2**63 - 1, 2**63 - 2], np.int64)
    same = pack(np.zeros((2, 3), np.uint8))
    for labels in (big, big.astype(np.uint64) + np.uint64(2**63)):
        counts = count(same, same, ClassRelevance(labels, labels), kernel=kernel).counts
        assert counts[:, 0].tolist() == [[1, 1], [1, 1]]


def test_few_pairs_are_counted_without_numba() -> None:
    script = """
import sys, numpy as np
from hashbench import score
codes, ids = np.eye(4), np.arange(4)
assert score(codes, codes, ids, ids)["ap"] == 1
print("numba" in sys.modules)
"""
    actual = python(script)
    assert actual.strip() == "False"


def test_every_kernel_is_compiled_once() -> None:
    """Two sets of types would share file names in the cache, and processes that fill it together could mix them up."""
    rng = np.random.default_rng(0)
    for n_bits in (12, 130):
        query, database = (pack(rng.integers(0, 2, (size, n_bits))) for size in (3, 7))
        for relevance in (
            ClassRelevance(np.zeros(3, np.int64), np.zeros(7, np.int16)),
            SharedLabelRelevance(np.ones((3, 2), bool), np.ones((7, 2), np.int64)),
            AskedByBlock(ClassRelevance(np.zeros(3), np.zeros(7))),
        ):
            count(query, database, relevance, kernel="numba")
            count(query[0:1], database[1:2], type(relevance)(*_first(relevance)), kernel="numba")
    for kernel in (kernels.count_classes, kernels.count_keys):
        assert len(kernel.signatures) == 1, kernel  # type: ignore[attr-defined]


def _first(relevance: Any) -> tuple[Any, ...]:
    if isinstance(relevance, AskedByBlock):
        return (ClassRelevance(*_first(relevance.known)),)
    return relevance.query_labels[:1], relevance.database_labels[:1]
