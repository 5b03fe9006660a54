"""``.txt``: a text a line, such as the hexadecimal hash of an image."""

from pathlib import Path

import numpy as np

from hashbench.foundation.errors import printable
from hashbench.scoring.codes.files._stored import Arrays, StoredArray, in_memory


def arrays(path: Path) -> Arrays:
    """The lines of the file, by its stem."""
    return {path.stem: lambda: _stored(path)}


def _stored(path: Path) -> StoredArray:
    lines = path.read_text(encoding="utf-8-sig").rstrip().splitlines()
    texts = np.array([line.rstrip() for line in lines], np.str_)
    return in_memory(f"{path}: {printable(path.stem)}", path.stem, texts)
