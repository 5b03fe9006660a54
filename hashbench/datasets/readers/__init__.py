"""The catalogue of readers: each module decodes one file format."""

from hashbench.datasets.readers._reader import Block, Files, Items, Reader, as_float32
from hashbench.foundation.registry import Catalogue

__all__ = ["READERS", "Block", "Files", "Items", "Reader", "as_float32"]

READERS: Catalogue[Reader] = Catalogue(
    "reader", "hashbench.datasets.readers", "READER", Reader, group="hashbench.readers"
)
