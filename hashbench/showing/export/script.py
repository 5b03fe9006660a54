"""The script encode.py of an export: it checks items as the run does, and encodes them without hashbench."""

from pathlib import Path
from typing import NamedTuple

from hashbench.foundation.files import file_sha256
from hashbench.learning.steps import LARGEST
from hashbench.running.datasets.custom.expected import BYTE_MAX, ROUNDING
from hashbench.showing.export.description import Input


class Program(NamedTuple):
    """The parts of a script that its form decides; in ``activations`` a ``block`` are items, in order.

    The script holds the activations of one block at a time: those of all items take four times the bytes of the bits.
    """

    imports: str
    loaded: str  # the lines that load FILE, the file of the function
    activations: str  # the expression of the activations of a block
    needs: str = ""  # what the first line says beside the run
    n_at_once: int = 1000  # items of a block, about


SCRIPT = '''\
"""Codes of {run}{needs}: python encode.py ITEMS.npy CODES.npy"""

import hashlib
import sys
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.excepthook = lambda _, error, __: print(f"error: {{error}}", file=sys.stderr)  # one line
{imports}FILE = Path(__file__).with_name("{file}")
if hashlib.sha256(FILE.read_bytes()).hexdigest() != "{sha256}":
    raise ValueError(f"{{FILE}}: damaged: its SHA-256 is another than that of the export: export the run again")
{loaded}


{check}

{functions}def encode(items: np.ndarray) -> np.ndarray:
    """Bits uint8 [n, bits] of 0 and 1; numpy.packbits(bits, axis=1) packs them."""
    with np.errstate(over="ignore", invalid="ignore"):
        outputs = ({activations} for block in np.array_split(checked(items), max(1, len(items) // {n_at_once})))
        codes = np.concatenate([np.where(np.isfinite(values), values > 0, 2).astype(np.uint8) for values in outputs])
    is_finite = (codes < 2).all(axis=1)
    if not is_finite.all():
        raise ValueError(f"row {{is_finite.argmin()}}: an activation is not finite (NaN or inf): are values too large?")
    return codes


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    np.save(sys.argv[2], encode(np.lib.format.read_array(Path(sys.argv[1]).open("rb"))))
'''
CHECK = '''\
def checked(items: np.ndarray) -> np.ndarray:
    """The items; ValueError where they are not such as the run takes."""
    if items.shape[1:] != {shape} or items.dtype.kind not in "buif":
        raise ValueError(f"{{items.dtype}} items of shape {{items.shape}}: numbers {expected} are expected")
    if not len(items):
        raise ValueError("no items: one or more are expected")
    low, high = float(items.min()), float(items.max())
    if not ({fits}):
        found = "a value is NaN" if np.isnan(low) else f"values from {{low:g}} to {{high:g}}"
        raise ValueError(f"{{found}}: {values} are expected")
{warning}{scaled}    return items.astype("{dtype}", "C")
'''
WARNING = """\
    if items.dtype.kind == "f" and high <= 1:
        print("warning: no value is above 1, and images of values 0 to 255 are expected", file=sys.stderr)
"""
SCALED = f"""\
    items = items.astype("float32", copy=False)
    norms = np.sqrt(np.einsum("nd,nd->n", items, items, dtype="float64"))
    if not norms.all():
        raise ValueError(f"row {{norms.argmin()}} has norm 0, and no cosine: leave it out")
    norms[abs(norms - 1) <= {ROUNDING:g}] = 1
    items = (items / norms[:, None]).astype("float32")  # as for cosine
"""


def script(run: str, program: Program, file: Path, taken: Input, dtype: str, functions: str = "") -> str:
    """The text of encode.py for items such as ``taken``, which the ``program`` in ``file`` gets as ``dtype``."""
    return SCRIPT.format(
        run=run,
        imports=program.imports,
        loaded=program.loaded,
        activations=program.activations,
        needs=program.needs,
        n_at_once=program.n_at_once,
        check=check(taken, dtype),
        file=file.name,
        sha256=file_sha256(file),
        functions=functions,
    )


def values_of(taken: Input, dtype: str) -> str:
    """The values of items such as ``taken``, which are given as ``dtype``, in the words of an error."""
    low, high = _range(taken)
    if dtype == "uint8":
        return f"whole numbers, {low:g} to {high:g},"
    return f"{low:g} to {high:g}"


def _range(taken: Input) -> tuple[float, float]:
    if taken.value_max is None:
        return -LARGEST, LARGEST
    return 0, taken.value_max


def check(taken: Input, dtype: str) -> str:
    """The text of the function ``checked`` of encode.py, which gives items such as ``taken`` as ``dtype``."""
    low, high = _range(taken)
    fits = f"{low:g} <= low and high <= {high:g}"
    if dtype == "uint8":
        fits += " and (items == np.round(items)).all()"
    may_be_dark = len(taken.shape) == 3 and taken.value_max == BYTE_MAX
    return CHECK.format(
        shape=tuple(taken.shape),
        expected=f"[n, {', '.join(map(str, taken.shape))}]",
        fits=fits,
        values=values_of(taken, dtype),
        warning=WARNING if may_be_dark else "",
        scaled=SCALED if taken.unit_norm else "",
        dtype=dtype,
    )
