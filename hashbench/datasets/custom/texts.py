"""Texts of the user and the network that embeds them: a text a line, a field of .jsonl, or a column of .csv."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import StoredArray
from hashbench.foundation.errors import HashbenchError, printable, quietly, retold, unknown
from hashbench.foundation.extras import how_to_install

SUFFIXES = (".jsonl", ".txt", ".csv", ".tsv")
FIELD = "text"  # of a row, if no other is named
PREFIX = "sentence-transformers:"
BATCH = 32  # texts


def read(path: Path, field: str | None) -> list[str]:
    """The texts in the file, one or more, none of which is empty."""
    if path.suffix.lower() not in SUFFIXES:
        raise HashbenchError(f"{path}: texts to embed are expected: {', '.join(SUFFIXES)}")
    texts = quietly(str(path), lambda: list(_texts(path, field or FIELD)))
    if not texts:
        raise HashbenchError(f"{path}: no text: one in each line is expected")
    if empty := [number for number, text in enumerate(texts, 1) if not text.strip()]:
        raise HashbenchError(f"{path}: text {empty[0]} is empty: leave it out")
    return texts


def embedded(path: Path, texts: Sequence[str], embedder: "Embedder") -> StoredArray:
    """The vectors of the texts of the file, computed when they are read."""
    shape = (len(texts), embedder.width)
    return StoredArray(str(path), path.stem, shape, np.dtype(np.float32), lambda n: embedder.blocks(texts, n))


class Embedder:
    """A network of sentence-transformers, by its name on Hugging Face or the folder that holds it."""

    def __init__(self, name: str) -> None:
        place = name.removeprefix(PREFIX)
        if place == name or not place:
            raise HashbenchError(f"--embed {printable(name)}: {PREFIX}NAME or {PREFIX}FOLDER is expected")
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging
        except ImportError:
            needed = f"sentence-transformers is needed: {how_to_install('text')}"
            raise HashbenchError(f"--embed {printable(name)}: {needed}") from None
        logging.disable_progress_bar()  # there is one bar, of the data set
        with retold(lambda cause: f"--embed {printable(name)}: cannot be loaded: {printable(cause, 200)}"):
            self.network = SentenceTransformer(place)
            self.width = len(self.network.encode(["one"])[0])

    @property
    def distance(self) -> str:
        """The similarity that the network was trained for, as it says: cosine, dot or euclidean."""
        return str(self.network.similarity_fn_name or "cosine")

    def blocks(self, texts: Sequence[str], n: int) -> Iterator[NDArray[np.float32]]:
        """The vectors of the texts, at most ``n`` at a time."""
        step = max(BATCH, min(n, 32 * BATCH) // BATCH * BATCH)
        for first in range(0, len(texts), step):
            part = list(texts[first : first + step])
            yield np.asarray(self.network.encode(part, batch_size=BATCH, show_progress_bar=False), np.float32)


def _texts(path: Path, field: str) -> Iterator[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        suffix = path.suffix.lower()
        if suffix == ".txt":
            yield from file.read().splitlines()
        elif suffix == ".jsonl":
            for number, line in enumerate(file, 1):
                yield _field(f"{path}: line {number}", json.loads(line), field)
        else:
            delimiter = ","
            if suffix == ".tsv":
                delimiter = "\t"
            for number, row in enumerate(csv.DictReader(file, delimiter=delimiter), 2):
                yield _field(f"{path}: row {number}", row, field)


def _field(where: str, row: Any, field: str) -> str:
    if not isinstance(row, dict):
        raise HashbenchError(f"{where}: an object with a text in {printable(field)} is expected")
    if field not in row:
        raise HashbenchError(f"{where}: {unknown('field', field, map(str, row))}: --items names it")
    text = row[field]
    if not isinstance(text, str):
        raise HashbenchError(f"{where}: {printable(field)} is no text: a text is expected")
    return text
