"""Stored labels: class ids, or one column a label, of 0 and 1 or of -1 and +1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench import affinity
from hashbench.affinity import ClassAffinity, Labels, SharedLabelAffinity
from hashbench.errors import HashbenchError
from hashbench.saved_codes._layout import View


def read(query: View, database: View) -> tuple[ClassAffinity | SharedLabelAffinity, list[str]]:
    """The affinity of stored labels, and what there is to say about them.

    Where no row on either side has two labels they are classes: the same affinity, counted faster.
    """
    notes: list[str] = []
    labels = [_ids(view) if view.is_ids else _hot(view, notes) for view in (query, database)]
    if not query.is_ids and not any(_is_multi(hot) for hot in labels):
        labels = [_class_of(hot) for hot in labels]
    return affinity.from_labels(*labels), notes


def _ids(view: View) -> Labels:
    ids = np.empty(view.stored.shape, np.int64)
    for at, slab in view.stored.slabs():
        ids[at] = _whole(view.stored.where, slab)
    return ids.ravel()


def _whole(where: str, slab: NDArray[Any]) -> NDArray[np.int64]:
    with np.errstate(invalid="ignore"):  # a float that no int64 holds turns into another number, and is seen below
        ids = slab.astype(np.int64)
    if not (ids == slab).all() or (slab.dtype.kind == "u" and (ids < 0).any()):
        raise HashbenchError(f"{where}: class ids are whole numbers that fit 64 bits; others are in it")
    return ids


def _hot(view: View, notes: list[str]) -> Labels:
    where, n_negative = view.stored.where, 0
    hot = np.empty(view.stored.shape, np.uint8)
    for at, slab in view.stored.slabs():
        present, absent = slab == 1, slab == -1
        if not (present | absent | (slab == 0)).all():
            raise HashbenchError(f"{where}: multi-hot labels [n, labels] are 0 or 1 (or -1 or 1); others are in it")
        n_negative += int(np.count_nonzero(absent))
        hot[at] = present
    if n_negative:
        notes.append(f"{where}: {n_negative} labels are -1, read as absent")
    return hot


def _is_multi(hot: Labels) -> bool:
    return bool((hot.sum(axis=1, dtype=np.int64) > 1).any())


def _class_of(hot: Labels) -> Labels:
    return np.where(hot.any(axis=1), hot.argmax(axis=1), -1)
