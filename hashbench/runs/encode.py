"""Encodes a file of items that need not fit into memory: it is read, encoded and written piece by piece."""

from collections.abc import Iterator
from itertools import chain
from math import prod
from pathlib import Path

import h5py
from numpy.lib import format as npy_format

from hashbench.codes import Codes, binarize
from hashbench.contract import BLOCK_BYTES, WHOLE_BATCHES, BinaryHasher, Hasher
from hashbench.datasets.images import is_image
from hashbench.datasets.own import inputs
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import atomic
from hashbench.foundation.progress import bar
from hashbench.runs.data import own_rows
from hashbench.runs.run import Run

PIECEWISE = (".npy", ".h5")  # suffixes of the files that are written so


def encode_file(run: Run, hasher: Hasher, items: Path | None, out: Path, device: str = "auto") -> None:
    """Writes the packed codes uint8[n, bytes] of the array of items in a file, as .npy or as ``codes`` of .h5.

    A block of at most 64 MiB of items, or of one batch, is in memory at a time. HashbenchError without such a file,
    and for a ``hasher`` whose codes are not binary.
    """
    other = "name a FILE.npz with --out"
    if not isinstance(hasher, BinaryHasher):
        raise HashbenchError(f"{out}: packed bytes hold binary codes, which {run.name} does not make: {other}")
    if items is None or items.is_dir() or is_image(items):
        raise HashbenchError(f"{out}: the items of a file of your own are encoded piece by piece: name one, or {other}")
    shape = tuple(run.card.item_shape)
    batch_bytes = WHOLE_BATCHES * 8 * prod(shape)  # of the widest type
    n = WHOLE_BATCHES * max(1, BLOCK_BYTES // batch_bytes)  # whole batches: the bits are as if all were encoded at once
    source = inputs.read_blocks(items, shape, n, run.card.value_max)

    def blocks() -> Iterator[Codes]:
        with bar("encode", "item", source.n_items) as shown:
            for block in source.blocks:
                yield binarize(hasher.encode(own_rows(run, block, device).whole()))
                shown.update(len(block))

    with atomic(out) as temporary:
        write = _write_npy if out.suffix == ".npy" else _write_h5
        write(temporary, source.n_items, blocks())


def _write_npy(path: Path, n_items: int, blocks: Iterator[Codes]) -> None:
    first = next(blocks)
    with path.open("wb") as file:
        shape = n_items, first.packbits().shape[1]
        npy_format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
        for block in chain([first], blocks):
            file.write(block.packbits().data)


def _write_h5(path: Path, n_items: int, blocks: Iterator[Codes]) -> None:
    first = next(blocks)
    with h5py.File(path, "w") as file:
        codes = file.create_dataset("codes", (n_items, first.packbits().shape[1]), "u1")
        file["n_bits"] = first.n_bits
        start = 0
        for block in chain([first], blocks):
            codes[start : start + len(block)] = block.packbits()
            start += len(block)
