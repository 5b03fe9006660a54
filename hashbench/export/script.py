"""The script encode.py of an export: it checks items as the run does, and encodes them without hashbench."""

from typing import NamedTuple

from hashbench.export.description import Input


class Program(NamedTuple):
    """What scripts of a form have of their own; in ``codes`` a ``block`` are items, in order."""

    imports: str
    loaded: str  # the lines that load the file of the function
    codes: str  # the expression of the codes of a block
    needs: str = ""  # what the first line says beside the run
    n_at_once: int = 1000  # items of a block, about


SCRIPT = '''\
"""Codes of {run}{needs}: python encode.py ITEMS.npy CODES.npy"""

import sys
from pathlib import Path

import numpy as np
{imports}
{loaded}


{check}

{functions}def encode(items: np.ndarray) -> np.ndarray:
    """Bits uint8 [n, bits] of 0 and 1; numpy.packbits(bits, axis=1) packs them."""
    blocks = np.array_split(checked(items), max(1, len(items) // {n_at_once}))
    return np.concatenate([{codes} for block in blocks])


if __name__ == "__main__":
    np.save(sys.argv[2], encode(np.load(sys.argv[1])))
'''
CHECK = '''\
def checked(items: np.ndarray) -> np.ndarray:
    """The items; ValueError where they are not such as the run takes."""
    if items.shape[1:] != {shape} or not len(items):
        raise ValueError(f"items of shape {{items.shape}}: {expected} is expected")
    low, high = items.min(), items.max()
    if not ({fits}):
        raise ValueError(f"values from {{low:g}} to {{high:g}}: {values} are expected")
    return items.astype("{dtype}")
'''


def script(run: str, program: Program, taken: Input, dtype: str, functions: str = "") -> str:
    """The text of encode.py for items such as ``taken``, which the ``program`` gets as ``dtype``."""
    return SCRIPT.format(run=run, check=check(taken, dtype), functions=functions, **program._asdict())


def check(taken: Input, dtype: str) -> str:
    """The text of the function ``checked`` of encode.py, which gives items such as ``taken`` as ``dtype``."""
    shape, largest = tuple(taken.shape), taken.value_max
    fits, values = "np.isfinite([low, high]).all()", "finite numbers"
    if largest is not None:
        fits, values = f"low >= 0 and high <= {largest}", f"0 to {largest}"
    if dtype == "uint8":
        fits, values = f"{fits} and (items == np.round(items)).all()", f"whole numbers, {values},"
    expected = f"[n, {', '.join(map(str, shape))}]"
    return CHECK.format(shape=shape, expected=expected, fits=fits, values=values, dtype=dtype)
