"""USPS as AT&T published it: each line has a digit and 256 grey values of three decimals, in one of two text formats.

``zip.train`` of The Elements of Statistical Learning has the digit, 0 to 9, and then the values; in LIBSVM's format the
class is the digit plus 1. LIBSVM's own copy has smoothed values, and is refused.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.datasets import load_svmlight_file

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.readers import Block, Files, Reader, class_ids, text_features, text_table

DECIMALS = 3


def _read(card: Card, files: Files) -> Iterator[Block]:
    (d,) = card.item_shape
    for member, file in files.members:
        is_libsvm = b":" in file.readline()
        file.seek(0)
        if is_libsvm:
            with retold(partial("{}: damaged or truncated ({})".format, member.path), ValueError, OverflowError):
                features, digits = load_svmlight_file(file, n_features=d, zero_based=False)
            values = features.toarray()
        else:
            rows = text_table(member.path, file, None, 1 + d)
            values = rows[:, 1:]
            digits = rows[:, 0]
        items = text_features(member.path, values)
        labels = class_ids(card, member.path, digits, first=int(is_libsvm))
        if (items != np.round(items, DECIMALS)).any():
            advice = "this is LIBSVM's smoothed copy of USPS, which is another data set"
            raise HashbenchError(f"{member.path}: values of more than {DECIMALS} decimals: {advice}")
        yield Block(items, labels)


READER = Reader(_read)
