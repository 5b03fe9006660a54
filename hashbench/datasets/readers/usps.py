"""USPS as AT&T published it: each line has a digit and 256 grey values of three decimals, in one of two text formats.

The ``zip.train`` of The Elements of Statistical Learning has the digit, 0 to 9, and then the values. The other format
is LIBSVM's, in which the class is the digit plus 1. LIBSVM's own copy of USPS has smoothed values; it is another data
set, usps_libsvm, and raises HashbenchError here.
"""

from collections.abc import Iterator

import numpy as np

from hashbench.datasets.card import Card
from hashbench.datasets.readers import _text, libsvm
from hashbench.datasets.readers._reader import Block, Files, Reader
from hashbench.foundation.errors import HashbenchError

DECIMALS = 3


def _read(card: Card, files: Files) -> Iterator[Block]:
    for member, file in files.members:
        is_libsvm = b":" in file.readline()
        file.seek(0)
        if is_libsvm:
            block = libsvm.decode(card, member.path, file)
        else:
            rows = _text.table(member.path, file, None, 1 + card.item_shape[0])
            block = _text.block(card, member.path, rows[:, 1:], rows[:, 0], first=0)
        assert block.items is not None
        if (block.items != np.round(block.items, DECIMALS)).any():
            raise HashbenchError(
                f"{member.path}: values of more than {DECIMALS} decimals: this is LIBSVM's smoothed copy of USPS, "
                "which is the data set usps_libsvm"
            )
        yield block


READER = Reader(_read)
