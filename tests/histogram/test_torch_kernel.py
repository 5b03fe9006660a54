"""The same counts from torch: on the CPU here, on a CUDA device in gpu-check."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import CodeSet, code_sets

from hashbench import histogram
from hashbench.codes import pack
from hashbench.errors import HashbenchError
from hashbench.histogram import torch_kernel
from hashbench.relevance.labels import ClassRelevance

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="no Triton here")


def on_numba(drawn: CodeSet) -> histogram.Histogram:
    return histogram.count(pack(drawn.query), pack(drawn.database), drawn.relevance)


@given(code_sets(max_queries=6, max_items=20))
def test_torch_counts_what_numba_counts(drawn: CodeSet) -> None:
    truth = on_numba(drawn)
    packed = torch_kernel.count(pack(drawn.query), pack(drawn.database), drawn.relevance)
    signs = [torch.from_numpy(bits * 2.0 - 1) for bits in (drawn.query, drawn.database)]
    assert packed.sha256() == truth.sha256()
    assert torch_kernel.count(signs[0], signs[1], drawn.relevance).sha256() == truth.sha256()


@given(code_sets(max_queries=6, max_items=20), st.integers(1, 3), st.integers(1, 90))
@settings(max_examples=40)
def test_blocks_change_nothing(drawn: CodeSet, query_block: int, pairs: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch_kernel, "QUERY_BLOCK", query_block)
        patch.setattr(torch_kernel, "PAIRS", pairs)
        patch.setattr(torch_kernel, "CODES_BLOCK", query_block)
        counted = torch_kernel.count(torch.from_numpy(drawn.query), pack(drawn.database), drawn.relevance)
    assert counted.sha256() == on_numba(drawn).sha256()


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.bfloat16, torch.float16, torch.float32])
def test_a_bit_is_set_where_a_tensor_is_above_0(dtype: torch.dtype) -> None:
    codes = torch.tensor([[1, 0, 0], [0, 0, 1]]).to(dtype)
    ids = np.array([4, 4])
    assert torch_kernel.count(codes, codes, ClassRelevance(ids, ids)).counts[:, :, 1].tolist() == [[1, 0, 1, 0]] * 2


def test_a_training_script_may_count_inside_autocast_and_with_gradients() -> None:
    """4,095 bits: half precision would round their inner products."""
    bits = np.random.default_rng(0).integers(0, 2, (5, 4095), np.uint8)
    relevance = ClassRelevance(np.arange(5) % 2, np.arange(5) % 2)
    outputs = torch.from_numpy(bits * 2.0 - 1).float().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        counted = torch_kernel.count(outputs, outputs, relevance)
    assert counted.sha256() == histogram.count(pack(bits), pack(bits), relevance).sha256()


def test_what_does_not_belong_together_is_refused() -> None:
    codes, ids = torch.ones(2, 4), np.zeros(2, np.int64)
    for query, database, complaint in (
        (codes, torch.ones(2, 5), "must agree"),
        (codes, torch.ones(3, 4), "rows must match"),
        (torch.ones(4), codes, "items x bits"),
        (codes / 0, codes, "not finite"),
    ):
        with pytest.raises(HashbenchError, match=complaint):
            torch_kernel.count(query, database, ClassRelevance(ids, ids))


INTERPRETED = """
import numpy as np, torch, triton, triton.language as tl
from hashbench import histogram
from hashbench.histogram import torch_kernel
from hashbench.histogram import triton_kernel
from hashbench.relevance.labels import ClassRelevance, SharedLabelRelevance
from hashbench.codes import pack

@triton.jit
def popcount(x):  # the interpreter has none
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    return ((((x + (x >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24) & 0xFF

triton_kernel.BLOCK, triton_kernel.TILES = 64, 2
rng, cpu = np.random.default_rng(0), torch.device("cpu")
for bits in (7, 64, 130):
    query, database = (pack(rng.integers(0, 2, (n, bits))) for n in (3, 301))
    ids, hot = [rng.integers(-1, 3, n) for n in (3, 301)], [rng.integers(0, 2, (n, 40)) for n in (3, 301)]
    for relevance in (ClassRelevance(*ids), SharedLabelRelevance(*hot)):
        counts = torch.zeros((3, bits + 1, len(relevance.levels)), dtype=torch.int64)
        words = [torch_kernel._words(codes, cpu) for codes in (query, database)]
        labels = torch_kernel._labels(relevance, cpu)
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


@needs_triton
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_cuda_kernel_compiles_for_a_device_that_is_not_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from hashbench.histogram import triton_kernel

    sizes = {"WORDS": 2, "LABEL_WORDS": 1, "LEVELS": 12, "KEYS": 1024, "BLOCK": 2048, "TILES": 16}
    fixed: dict[str, Any] = {**sizes, "popcount": triton_kernel.popcount}
    types = dict.fromkeys(["query", "database", "query_labels", "database_labels"], "*i32") | {"counts": "*i64"}
    types |= {"n_items": "i32", "n_keys": "i32"} | dict.fromkeys(fixed, "constexpr")
    source = ASTSource(triton_kernel._count, types, constexprs=fixed)
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    assert "popc.b32" in compiled.asm["ptx"]


@needs_cuda
@pytest.mark.gpu
@given(code_sets(max_queries=9, max_items=200))
@settings(max_examples=60)
def test_a_cuda_device_counts_what_numba_counts(drawn: CodeSet) -> None:
    counted = torch_kernel.count(pack(drawn.query), pack(drawn.database), drawn.relevance, device="cuda")
    assert counted.sha256() == on_numba(drawn).sha256()


@needs_cuda
@pytest.mark.gpu
@pytest.mark.parametrize("n_bits", [12, 64, 512, 4096])
@pytest.mark.parametrize("with_triton", [True, False])
def test_a_cuda_device_counts_a_large_database(n_bits: int, with_triton: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not with_triton:
        monkeypatch.setattr(torch_kernel, "find_spec", lambda name: None)
    rng = np.random.default_rng(0)
    query, database = (pack(rng.integers(0, 2, (size, n_bits), np.uint8)) for size in (33, 100_003))
    relevance = ClassRelevance(rng.integers(-1, 10, 33), rng.integers(-1, 10, 100_003))
    counted = torch_kernel.count(query, database, relevance, device="cuda")
    assert counted.sha256() == histogram.count(query, database, relevance).sha256()
