"""A protocol, encoded: the codes of its queries and of its database, made block by block, saved and counted."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from hashbench import codes, histogram
from hashbench.codes import Codes, files
from hashbench.datasets.draw import Ids
from hashbench.datasets.protocol import Protocol
from hashbench.datasets.split import Split
from hashbench.datasets.store import Dataset
from hashbench.files import atomic
from hashbench.hasher import Hasher
from hashbench.histogram import Histogram
from hashbench.parallel import ALONE, ProcessGroup
from hashbench.relevance.distances import DistanceRelevance
from hashbench.relevance.labels import Relevance, from_labels

BLOCK_BYTES = 64 << 20  # of items, held together
WHOLE_BATCHES = 1000  # items: the deep hashers' batch; cut between two, the blocks give the bits that the whole gives


@dataclass(frozen=True)
class Encoded:
    """The codes of a protocol's queries and database, in the order of the ids."""

    query: Codes
    database: Codes

    def count(self, relevance: Relevance, *, progress: bool = False) -> Histogram:
        """The histogram of the codes, with ``relevance`` between these queries and this database."""
        if not isinstance(relevance, DistanceRelevance):
            return histogram.count(self.query, self.database, relevance, progress=progress)
        pieces = ((self.database[part], known) for part, known in relevance.pieces())
        return histogram.count_blocks(self.query, pieces, progress=progress)

    def save(self, path: Path, dataset: Dataset, ids: Split, protocol: Protocol) -> None:
        """Writes the codes with their labels, whole or not at all: what ``hashbench eval`` reads.

        Where relevance is by distance no label says it: then the ids stand in their place, with the data set's name,
        and only a run scores the codes.
        """
        if protocol.relevance is None:
            labels = from_labels(dataset.labels[ids.query_ids], dataset.labels[ids.database_ids])
            files.save(path, files.SavedCodes(self.query, self.database, labels))
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


def encode_protocol(
    hasher: Hasher, dataset: Dataset, ids: Split, *, progress: bool, group: ProcessGroup = ALONE
) -> Encoded:
    """The codes of a protocol's queries and database; of the items, one block is held at a time.

    Where there are several processes, each with the same hasher, each encodes its share and all return all codes.
    """
    shares = [each[group.share(len(each), WHOLE_BATCHES)] for each in (ids.query_ids, ids.database_ids)]
    total = sum(map(len, shares))
    with tqdm(total=total, desc="encode", unit="item", disable=not progress, leave=False, delay=2) as bar:
        query, database = (_codes(hasher, dataset, share, bar) for share in shares)
    if group.is_alone:
        return Encoded(_whole(query), _whole(database))
    return Encoded(_together(query, len(ids.query_ids), group), _together(database, len(ids.database_ids), group))


def _codes(hasher: Hasher, dataset: Dataset, ids: Ids, bar: "tqdm[None]") -> list[Codes]:
    blocks = []
    for block in _blocks(dataset, ids):
        blocks.append(codes.binarize(hasher.encode(dataset.items[block])))
        bar.update(len(block))
    return blocks


def _whole(blocks: list[Codes]) -> Codes:
    return Codes(np.concatenate([block.words for block in blocks]), blocks[0].n_bits)


def _together(blocks: list[Codes], n: int, group: ProcessGroup) -> Codes:
    """The codes of all ``n`` items, of which ``blocks`` are this process's share; it may have none."""
    import torch

    from hashbench.training import distributed

    n_bits = distributed.largest(blocks[0].n_bits if blocks else 0, group)
    own = _whole(blocks).words if blocks else np.zeros((0, -(-n_bits // 64)), np.uint64)
    words = distributed.gather(torch.from_numpy(own.view(np.int64)), n, group, WHOLE_BATCHES)
    return Codes(words.numpy().view(np.uint64), n_bits)


def _blocks(dataset: Dataset, ids: Ids) -> Iterator[Ids]:
    batch_bytes = WHOLE_BATCHES * dataset.items.itemsize * math.prod(dataset.items.shape[1:])
    step = WHOLE_BATCHES * max(1, BLOCK_BYTES // batch_bytes)
    for first in range(0, len(ids), step):
        yield ids[first : first + step]
