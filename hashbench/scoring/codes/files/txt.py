"""``.txt``: a text a line, such as the hexadecimal hash of an image."""

import re
from pathlib import Path

import numpy as np

from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.parallel import slices
from hashbench.scoring.codes.files._stored import Arrays, StoredArray

BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some editors begin UTF-8 with it
LINES = re.compile(rb"[0-9A-Fa-f]+[ \t]*(\r?\n[0-9A-Fa-f]*[ \t]*)*\r?")
TEXT = re.compile(rb"[0-9A-Fa-f]+")
MOST_BYTES = 1 << 30


def recognises(head: bytes) -> bool:
    """True where a file that begins with ``head`` has lines of hexadecimal digits; spaces may end a line."""
    return LINES.fullmatch(head.removeprefix(BYTE_ORDER_MARK)) is not None


def arrays(path: Path) -> Arrays:
    """The lines of the file, by its stem."""
    return {path.stem: lambda: _stored(path)}


def _stored(path: Path) -> StoredArray:
    if path.stat().st_size > MOST_BYTES:
        raise HashbenchError(f"{path}: lines are read from files of at most {MOST_BYTES >> 20} MiB: save an .npz")
    content = path.read_bytes().removeprefix(BYTE_ORDER_MARK)
    texts = [line.rstrip(b" \t") for line in content.rstrip().splitlines()]
    for number, text in enumerate(texts, 1):  # a line is an item: an id is the number of a line
        if TEXT.fullmatch(text) is None:
            shown = printable(text.decode("utf-8", "replace")) or "an empty line"
            raise HashbenchError(f"{path}: line {number}: {shown}: hexadecimal digits alone are expected on each line")
    lines = np.array(texts)
    where = f"{path}: {printable(path.stem)}"
    return StoredArray(
        where, path.stem, lines.shape, lines.dtype, lambda n: (lines[at] for at in slices(len(lines), n))
    )
