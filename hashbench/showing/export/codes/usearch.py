"""USearch: the file of an index of bits."""

from pathlib import Path

import numpy as np

from hashbench.scoring.codes import Codes
from hashbench.showing.export.codes._target import Target, library

EXAMPLE = """
from usearch.index import Index

index = Index.restore("$file")
matches = index.search(packed, $k, exact=True)
ids, distances = matches.keys, matches.distances
"""

BEFORE = """
Without `exact=True` the search walks the graph of the index: it is faster, and approximate.
"""


def write(codes: Codes, path: Path, _table: str) -> None:
    """Writes the index of all codes; its keys are their rows."""
    packed = codes.packbits()
    index = library("usearch.index", "usearch", "usearch").Index(ndim=8 * packed.shape[1], dtype="b1", metric="hamming")
    index.add(np.arange(len(codes), dtype=np.uint64), packed)
    index.save(str(path))


TARGET = Target(
    file="codes.usearch",
    about='the file of an `Index(ndim=$stored_bits, dtype="b1", metric="hamming")`',
    write=write,
    needs="numpy usearch",
    example=EXAMPLE,
    before=BEFORE,
)
