"""ImageNet32's .npz batches: ``data``, whose rows are the planes R, G, B of an image, and ``labels`` from 1.

The first 50 images of each class in ``train_data_batch_10`` get the first ids of that batch: they are the validation
items, one range of ids. Pickles are not read, since they can run any program.
"""

import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from math import prod
from pathlib import PurePosixPath
from typing import IO, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import retold
from hashbench.foundation.parallel import slices
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.readers import Block, Files, Reader, class_ids, images_of_planes
from hashbench.scoring.codes.files.npy import header

BLOCK = 8192  # images; 25 MB
FAULTS = (zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, ValueError, RuntimeError)  # of a damaged batch
VALIDATED_BATCH = "train_data_batch_10"
VALIDATED_PER_CLASS = 50


def _read(card: Card, files: Files) -> Iterator[Block]:
    advice = "the archives are those whose names end with _npz.zip, pickles are not read"
    fault = f"{{}}: damaged, truncated or no .npz of data and labels ({{}}); {advice}"
    for member, file in files.members:
        with retold(partial(fault.format, member.path), *FAULTS):
            yield from _batch(card, member.path, file)


def _batch(card: Card, path: str, file: BinaryIO) -> Iterator[Block]:
    with zipfile.ZipFile(file) as batch:
        with batch.open("labels.npy") as stored:
            shape, _, dtype = header(stored)
            if len(shape) != 1 or dtype.kind not in "iu" or shape[0] > card.n_items:
                raise ValueError(f"labels are {dtype} {shape}")
            values = np.frombuffer(stored.read(shape[0] * dtype.itemsize), dtype)
        labels = class_ids(card, path, values.astype(np.int64), first=1)
        for chosen in _passes(path, labels):
            with batch.open("data.npy") as data:
                yield from _images(card, data, labels, chosen)


def _passes(path: str, labels: NDArray[np.int64]) -> list[NDArray[np.bool_]]:
    """The images of each pass over a batch: two passes, validation items first, for that batch; one for the others."""
    if PurePosixPath(path).stem != VALIDATED_BATCH:
        return [np.ones(len(labels), np.bool_)]
    order = np.argsort(labels, kind="stable")
    first_of_class = np.searchsorted(labels[order], labels[order])
    early = np.empty(len(labels), np.bool_)
    early[order] = np.arange(len(labels)) - first_of_class < VALIDATED_PER_CLASS
    return [early, ~early]


def _images(card: Card, file: IO[bytes], labels: NDArray[np.int64], chosen: NDArray[np.bool_]) -> Iterator[Block]:
    row = prod(card.item_shape)
    shape, by_columns, dtype = header(file)
    if shape != (len(labels), row) or by_columns or dtype != np.uint8:
        order = " stored by columns" if by_columns else ""
        raise ValueError(f"data are {dtype} {shape}{order}, not uint8 {(len(labels), row)}")
    for rows in slices(len(labels), BLOCK):
        data = file.read(len(labels[rows]) * row)
        if len(data) != len(labels[rows]) * row:
            raise ValueError("data end before the last image that has a label")
        planes = np.frombuffer(data, np.uint8).reshape(-1, row)[chosen[rows]]
        yield Block(images_of_planes(card, planes), labels[rows][chosen[rows]])


READER = Reader(_read)
