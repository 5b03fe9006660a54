"""Encodes the user's own items into a file; one that need not fit into memory piece by piece."""

from collections.abc import Callable, Iterator
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import atomic
from hashbench.foundation.progress import bar
from hashbench.learning.contract import BLOCK_BYTES, WHOLE_BATCHES, BinaryHasher, Hasher, save_own_codes
from hashbench.running.datasets.custom import inputs
from hashbench.running.datasets.custom.encoder import Encoder, ItemForm
from hashbench.running.datasets.images import is_image
from hashbench.running.runs.data import own_rows
from hashbench.running.runs.run import Run
from hashbench.scoring.codes import Codes, binarize

PIECEWISE = (".npy", ".h5")  # suffixes of the files that are written so
OTHER = "name a FILE.npz with --out"


def encode_by_run(run: Run, hasher: Hasher, items: Path | None, out: Path, device: str = "auto") -> None:
    """Writes the codes of a file piece by piece, by the ``hasher`` of a run; HashbenchError if these are not binary."""
    if not isinstance(hasher, BinaryHasher):
        raise HashbenchError(f"{out}: packed bytes hold binary codes, which {run.name} does not make: {OTHER}")
    form = ItemForm(tuple(run.card.item_shape), run.card.value_max)

    def codes_of(block: NDArray[Any]) -> Codes:
        return binarize(hasher.encode(own_rows(run, block, device).whole()))

    encode_file(codes_of, form, items, out)


def encode_by_folder(encoder: Encoder, items: Path | None, out: Path) -> None:
    """Writes the codes of the user's own items by an ``encoder`` that was loaded from a folder."""
    if items is None:
        raise HashbenchError("the folder of a hash function has no items: name your own after it")
    form = encoder.form
    if out.suffix in PIECEWISE:
        encode_file(encoder.codes_of, form, items, out)
        return
    loaded = inputs.read(items, form.shape, form.class_names, form.value_max)
    save_own_codes(out, encoder.codes_of(np.asarray(loaded.items)), loaded.names, loaded.labels)


def encode_file(encode: Callable[[NDArray[Any]], Codes], form: ItemForm, items: Path | None, out: Path) -> None:
    """Writes the packed codes uint8[n, bytes] of the array of items in a file, as .npy or as ``codes`` of .h5.

    ``encode`` gets a block of at most 64 MiB of items, or of one batch, at a time. HashbenchError without such a file.
    """
    if items is None or items.is_dir() or is_image(items):
        raise HashbenchError(f"{out}: the items of a file of your own are encoded piece by piece: name one, or {OTHER}")
    batch_bytes = WHOLE_BATCHES * 8 * prod(form.shape)  # of the widest type
    n = WHOLE_BATCHES * max(1, BLOCK_BYTES // batch_bytes)  # whole batches: the bits are as if all were encoded at once
    source = inputs.read_blocks(items, form.shape, n, form.value_max)

    def blocks() -> Iterator[Codes]:
        with bar("encode", "item", source.n_items) as shown:
            for block in source.blocks:
                yield encode(block)
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
