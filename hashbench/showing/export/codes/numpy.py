"""NumPy: an array of packed bytes."""

from pathlib import Path

import numpy as np

from hashbench.scoring.codes import Codes
from hashbench.showing.export.codes._target import Target

EXAMPLE = """
codes = np.load("$file")
ids, distances = [], []
for query in packed:
    to_all = np.bitwise_count(codes ^ query).sum(axis=1, dtype=int)
    nearest = np.argsort(to_all, kind="stable")[:10]
    ids.append(nearest)
    distances.append(to_all[nearest])
"""


def write(codes: Codes, path: Path, _table: str) -> None:
    """Writes the packed codes uint8[n, bytes] as .npy."""
    with path.open("wb") as file:
        np.save(file, codes.packbits())


TARGET = Target(
    file="codes.npy",
    about="an array `uint8[n, bytes]` of `numpy.packbits`",
    write=write,
    needs="'numpy>=2'",
    example=EXAMPLE,
)
