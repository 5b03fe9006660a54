"""The same counts from torch: on the CPU here, on a CUDA device in gpu-check."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.one_line import one_line
from support.strategies import CodeSet, code_sets
from support.torch_on_cpu import count_with_torch, stand_in_for_cuda

from hashbench.scoring import histogram
from hashbench.scoring.codes import pack
from hashbench.scoring.histogram import torch_kernel
from hashbench.scoring.relevance.labels import ClassRelevance, Relevance, from_labels

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="no Triton here")


def on_numba(drawn: CodeSet) -> histogram.Histogram:
    return histogram.count(pack(drawn.query), pack(drawn.database), drawn.relevance)


@given(code_sets(max_queries=6, max_items=20))
def test_torch_counts_what_numba_counts(drawn: CodeSet) -> None:
    truth = on_numba(drawn)
    packed = count_with_torch(pack(drawn.query), pack(drawn.database), drawn.relevance)
    signs = [torch.from_numpy(bits * 2.0 - 1) for bits in (drawn.query, drawn.database)]
    assert packed.sha256() == truth.sha256()
    assert count_with_torch(signs[0], signs[1], drawn.relevance).sha256() == truth.sha256()


@given(code_sets(max_queries=6, max_items=20), st.integers(1, 3), st.integers(1, 90))
@settings(max_examples=40)
def test_blocks_change_nothing(drawn: CodeSet, query_block: int, pairs: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch_kernel, "QUERY_BLOCK", query_block)
        patch.setattr(torch_kernel, "PAIRS", pairs)
        patch.setattr(torch_kernel, "PACKED_BITS", pairs)
        patch.setattr(torch_kernel, "ITEMS", query_block)
        counted = count_with_torch(torch.from_numpy(drawn.query), pack(drawn.database), drawn.relevance)
    assert counted.sha256() == on_numba(drawn).sha256()


def test_a_training_script_may_count_inside_autocast_and_with_gradients() -> None:
    """4,095 bits: half precision would round their inner products."""
    bits = np.random.default_rng(0).integers(0, 2, (5, 4095), np.uint8)
    relevance = ClassRelevance(np.arange(5) % 2, np.arange(5) % 2)
    outputs = torch.from_numpy(bits * 2.0 - 1).float().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        counted = count_with_torch(outputs, outputs, relevance)
    assert counted.sha256() == histogram.count(pack(bits), pack(bits), relevance).sha256()


@given(code_sets(max_queries=6, max_items=20), st.data())
def test_a_database_in_pieces_is_the_database_whole(drawn: CodeSet, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(drawn.database)), max_size=4)))
    parts = [slice(*bounds) for bounds in pairwise([0, *cuts, len(drawn.database)])]
    labels = drawn.relevance.database_labels
    packers = [pack, lambda bits: torch_kernel.pack(torch.from_numpy(bits))]  # in NumPy's memory, and in torch's
    chosen = data.draw(st.lists(st.sampled_from(packers), min_size=len(parts), max_size=len(parts)))

    def pieces() -> Iterator[tuple[Any, Relevance]]:
        for part, packer in zip(parts, chosen, strict=True):
            yield packer(drawn.database[part]), from_labels(drawn.relevance.query_labels, labels[part])

    with pytest.MonkeyPatch.context() as patch:
        stand_in_for_cuda(patch)
        counted = histogram.count_blocks(pack(drawn.query), pieces(), device="cuda:0")
    # pieces of multi-hot labels may know fewer levels than the whole: what lies in the others is 0 there
    truth = on_numba(drawn).counts
    assert np.array_equal(counted.counts, truth[:, :, : len(counted.levels)])
    assert counted.counts.sum() == truth.sum()


@needs_triton
def test_where_the_kernel_does_not_compile_matrix_products_count(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hashbench.scoring.histogram import triton_kernel

    def fails(*arguments: object) -> None:
        raise RuntimeError("Failed to find C compiler.\nPlease specify one")

    monkeypatch.setattr(triton_kernel, "count_into", fails)
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    codes = pack(np.eye(5, dtype=np.uint8))
    ids = np.arange(5) % 2
    counter = torch_kernel.TorchCounter(codes, "cpu")
    counter.has_kernel = True
    for _ in range(2):
        counter.add(codes, ClassRelevance(ids, ids), int)
    counted = counter.histogram()
    assert np.array_equal(counted.counts, 2 * histogram.count(codes, codes, ClassRelevance(ids, ids)).counts)
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning.startswith("counting by matrix products")
    assert warning.endswith("Failed to find C compiler. Please specify one")


def test_memory_that_is_full_is_said_with_what_would_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **others: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 1 TiB")

    monkeypatch.setattr(torch, "bincount", full)
    stand_in_for_cuda(monkeypatch)
    codes = pack(np.eye(5, dtype=np.uint8))
    ids = np.arange(5)
    with one_line() as caught:
        histogram.count(codes, codes, ClassRelevance(ids, ids), device="cuda:0")
    assert str(caught.value).endswith(": its memory is full: --device cpu counts in the memory of the machine")


INTERPRETED = """
import numpy as np, torch, triton, triton.language as tl
from hashbench.scoring import histogram
from hashbench.scoring.histogram import torch_kernel
from hashbench.scoring.histogram import triton_kernel
from hashbench.scoring.relevance.labels import ClassRelevance, SharedLabelRelevance
from hashbench.scoring.codes import pack
from hashbench.scoring.codes.values import CodeValues

@triton.jit
def popcount(x):  # the interpreter has none
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    return ((((x + (x >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24) & 0xFF

triton_kernel.BLOCK, triton_kernel.TILES = 64, 2
rng, cpu = np.random.default_rng(0), torch.device("cpu")
for bits in (7, 130):
    query, database = (pack(rng.integers(0, 2, (n, bits))) for n in (2, 150))
    ids, hot = [rng.integers(-1, 3, n) for n in (2, 150)], [rng.integers(0, 2, (n, 40)) for n in (2, 150)]
    for relevance in (ClassRelevance(*ids), SharedLabelRelevance(*hot)):
        counts = torch.zeros((2, bits + 1, len(relevance.levels)), dtype=torch.int64)
        words = [torch_kernel.TensorCodes.of(codes, cpu).words for codes in (query, database)]
        labels = torch_kernel.labels_on(cpu, relevance, slice(None))
        triton_kernel.count_into(counts, words[0], words[1].T.contiguous(), *labels, popcount=popcount)
        assert (counts.numpy() == histogram.count(query, database, relevance).counts).all(), (bits, relevance)
print("equal")
"""


@needs_triton
def test_the_cuda_kernel_counts_the_same_when_it_is_interpreted() -> None:
    """All of the kernel but its popcount instruction, and nothing of the device."""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-W", "ignore", "-c", INTERPRETED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.stdout == "equal\n", done.stderr


@needs_cuda
@pytest.mark.gpu
@given(code_sets(max_queries=9, max_items=200))
@settings(max_examples=60)
def test_a_cuda_device_counts_what_numba_counts(drawn: CodeSet) -> None:
    counted = count_with_torch(pack(drawn.query), pack(drawn.database), drawn.relevance, device="cuda")
    assert counted.sha256() == on_numba(drawn).sha256()


@needs_cuda
@pytest.mark.gpu
@pytest.mark.parametrize("n_bits", [12, 64, 512, 4096])
@pytest.mark.parametrize("with_triton", [True, False])
def test_a_cuda_device_counts_a_large_database(n_bits: int, with_triton: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not with_triton:
        monkeypatch.setattr(torch_kernel, "find_spec", lambda name: None)  # as where Triton is not installed
    rng = np.random.default_rng(0)
    query, database = (pack(rng.integers(0, 2, (size, n_bits), np.uint8)) for size in (33, 100_003))
    relevance = ClassRelevance(rng.integers(-1, 10, 33), rng.integers(-1, 10, 100_003))
    counted = count_with_torch(query, database, relevance, device="cuda")
    assert counted.sha256() == histogram.count(query, database, relevance).sha256()
