"""The catalogue of readers: each module decodes one file format."""

from hashbench.datasets.readers._reader import Block, Files, Items, Reader
from hashbench.foundation.registry import Catalogue

__all__ = ["READERS", "Block", "Files", "Items", "Reader"]

READERS: Catalogue[Reader] = Catalogue(
    "reader", "hashbench.datasets.readers", "READER", Reader, group="hashbench.readers"
)
