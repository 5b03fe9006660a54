"""USPS as AT&T published it: each line has a digit and 256 grey values of three decimals, in one of two text formats.

``zip.train`` of The Elements of Statistical Learning has the digit, 0 to 9, and then the values; in LIBSVM's format the
class is the digit plus 1. LIBSVM's own copy has smoothed values: it is another data set, usps_libsvm.
"""

from collections.abc import Iterator

import numpy as np

from hashbench.datasets.card import Card
from hashbench.datasets.readers import Block, Files, Reader, class_ids, libsvm, text_features, text_table
from hashbench.foundation.errors import HashbenchError

DECIMALS = 3


def _read(card: Card, files: Files) -> Iterator[Block]:
    for member, file in files.members:
        is_libsvm = b":" in file.readline()
        file.seek(0)
        if is_libsvm:
            items, labels = libsvm.decode(card, member.path, file)
        else:
            rows = text_table(member.path, file, None, 1 + card.item_shape[0])
            items = text_features(member.path, rows[:, 1:])
            labels = class_ids(card, member.path, rows[:, 0])
        if (items != np.round(items, DECIMALS)).any():
            advice = "this is LIBSVM's smoothed copy of USPS, which is the data set usps_libsvm"
            raise HashbenchError(f"{member.path}: values of more than {DECIMALS} decimals: {advice}")
        yield Block(items, labels)


READER = Reader(_read)
