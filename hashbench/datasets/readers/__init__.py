"""The catalogue of readers: one file a format."""

from hashbench.datasets.readers._reader import Reader
from hashbench.registry import Catalogue

READERS: Catalogue[Reader] = Catalogue("reader", "hashbench.datasets.readers", "READER", Reader)
