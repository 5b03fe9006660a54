"""A protocol, encoded: the codes of its queries and of its database, made block by block, saved and counted."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from hashbench import affinity, codes, histogram, saved_codes
from hashbench.affinity import Affinity
from hashbench.affinity_distance import DistanceAffinity
from hashbench.codes import Codes
from hashbench.datasets.draw import Ids
from hashbench.datasets.protocol import Protocol
from hashbench.datasets.split import Split
from hashbench.datasets.store import Dataset
from hashbench.files import atomic
from hashbench.hasher import Hasher
from hashbench.histogram import Histogram

BLOCK_BYTES = 64 << 20  # of items, held together
WHOLE_BATCHES = 1000  # items: the deep hashers' batch; cut between two, the blocks give the bits that the whole gives


@dataclass(frozen=True)
class Encoded:
    """The codes of a protocol's queries and database, in the order of the ids."""

    query: Codes
    database: Codes

    def count(self, relevance: Affinity, *, progress: bool = False) -> Histogram:
        """The histogram of the codes, with ``relevance`` between these queries and this database."""
        if not isinstance(relevance, DistanceAffinity):
            return histogram.count(self.query, self.database, relevance, progress=progress)
        pieces = ((self.database[part], known) for part, known in relevance.pieces())
        return histogram.count_blocks(self.query, pieces, progress=progress)

    def save(self, path: Path, dataset: Dataset, ids: Split, protocol: Protocol) -> None:
        """Writes the codes with their labels, whole or not at all: what ``hashbench eval`` reads.

        Where relevance is by distance no label says it: then the ids stand in their place, with the data set's name,
        and only a run scores the codes.
        """
        if protocol.relevance is None:
            labels = affinity.from_labels(dataset.labels[ids.query_ids], dataset.labels[ids.database_ids])
            saved_codes.save(path, saved_codes.SavedCodes(self.query, self.database, labels))
        else:
            self._save_with_ids(path, dataset.name, ids)

    def _save_with_ids(self, path: Path, dataset: str, ids: Split) -> None:
        with atomic(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(
                file,
                query_codes=self.query.bits(),
                database_codes=self.database.bits(),
                query_ids=ids.query_ids,
                database_ids=ids.database_ids,
                n_bits=self.query.n_bits,
                layout="items-by-bits",
                dataset=dataset,
            )


def encode_protocol(hasher: Hasher, dataset: Dataset, ids: Split, *, progress: bool) -> Encoded:
    """The codes of a protocol's queries and database; of the items, one block is held at a time."""
    total = len(ids.query_ids) + len(ids.database_ids)
    with tqdm(total=total, desc="encode", unit="item", disable=not progress, leave=False, delay=2) as bar:
        return Encoded(*(_codes(hasher, dataset, each, bar) for each in (ids.query_ids, ids.database_ids)))


def _codes(hasher: Hasher, dataset: Dataset, ids: Ids, bar: "tqdm[None]") -> Codes:
    blocks = []
    for block in _blocks(dataset, ids):
        blocks.append(codes.binarize(hasher.encode(dataset.items[block])))
        bar.update(len(block))
    return Codes(np.concatenate([block.words for block in blocks]), blocks[0].n_bits)


def _blocks(dataset: Dataset, ids: Ids) -> Iterator[Ids]:
    batch_bytes = WHOLE_BATCHES * dataset.items.itemsize * math.prod(dataset.items.shape[1:])
    step = WHOLE_BATCHES * max(1, BLOCK_BYTES // batch_bytes)
    for first in range(0, len(ids), step):
        yield ids[first : first + step]
