"""The binary version of CIFAR-100: bytes for the coarse class (20) and the fine class (100), then the planes."""

from functools import partial

from hashbench.running.datasets.readers import Reader
from hashbench.running.datasets.readers.cifar10_binary import read_rows

READER = Reader(partial(read_rows, label_bytes=2))
