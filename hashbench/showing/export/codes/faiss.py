"""faiss: the file of an IndexBinaryFlat."""

from pathlib import Path

from hashbench.scoring.codes import Codes
from hashbench.showing.export.codes._target import Target, library

EXAMPLE = """
import faiss

index = faiss.read_index_binary("$file")
distances, ids = index.search(packed, $k)
"""


def write(codes: Codes, path: Path, _table: str) -> None:
    """Writes the index of all codes; its ids are their rows."""
    faiss = library("faiss", "faiss", "search")
    packed = codes.packbits()
    index = faiss.IndexBinaryFlat(8 * packed.shape[1])
    index.add(packed)
    faiss.write_index_binary(index, str(path))


TARGET = Target(
    file="codes.faiss",
    about="the file of an `IndexBinaryFlat` of $stored_bits bits, which compares a query with every code",
    write=write,
    needs="numpy faiss-cpu",
    example=EXAMPLE,
)
