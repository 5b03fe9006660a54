"""Reads labels (class ids, or one column a label, of 0 and 1 or of -1 and +1) and ids (integers or texts) of items."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.scoring.codes.files._layout import StoredLabels, is_text
from hashbench.scoring.codes.files._stored import StoredArray
from hashbench.scoring.relevance.labels import (
    ClassRelevance,
    LabelRelevance,
    Labels,
    class_ids,
    class_names,
    from_labels,
)

Ids = NDArray[Any]  # [n], integers or texts
ClassNames = NDArray[np.str_]
MOST_EXACT = 1 << 53  # floats beyond it are not all whole numbers apart


def read(labels: StoredLabels, names: ClassNames | None = None) -> tuple[Labels, ClassNames | None, list[str]]:
    """Class ids int64[n], or uint8[n, labels] of 0 and 1; the names of the classes, if they are texts; and notes.

    The ids of classes are those in ``names``; None: in the names that the labels themselves have.
    """
    stored = labels.stored
    where = stored.where
    if is_text(stored):
        texts = _texts(where, stored.whole().ravel())
        if names is None:
            names = class_names(texts)
        return class_ids(texts, names), names, []
    if labels.is_ids:  # which a file may have as [n, 1] or [1, n]
        return _whole_numbers(where, stored.whole().ravel()), None, []
    hot = np.empty(stored.shape, np.uint8)
    n_negative = 0
    for at, slab in stored.slabs():
        absent = slab == -1
        if not ((slab == 1) | absent | (slab == 0)).all():
            raise HashbenchError(f"{where}: multi-hot labels [n, labels] are 0 or 1 (or -1 or 1); others are in it")
        hot[at] = slab == 1
        n_negative += int(np.count_nonzero(absent))
    notes = [f"{where}: {n_negative} labels are -1, read as absent"] if n_negative else []
    return hot, None, notes


def _whole_numbers(where: str, values: NDArray[Any]) -> NDArray[np.int64]:
    with np.errstate(invalid="ignore"):  # a float outside int64 becomes another number: see below
        ids = values.astype(np.int64)
    if not (ids == values).all() or (values.dtype.kind == "u" and (ids < 0).any()):
        raise HashbenchError(f"{where}: class ids are whole numbers that fit 64 bits; others are in it")
    return ids


def _texts(where: str, slab: NDArray[Any]) -> NDArray[np.str_]:
    if slab.dtype.kind == "U":
        return slab
    with retold(lambda _: f"{where}: names of classes that are not UTF-8 text", UnicodeDecodeError):
        return np.strings.decode(slab, "utf-8")


def relevance_between(query: Labels, database: Labels) -> LabelRelevance:
    """The relevance of labels; where no item has two, of class ids, which is the same and is counted faster."""
    if query.ndim == database.ndim == 2 and all((hot.sum(1, np.int64) < 2).all() for hot in (query, database)):
        return ClassRelevance(*(np.where(hot.any(axis=1), hot.argmax(axis=1), -1) for hot in (query, database)))
    return from_labels(query, database)


def checked_ids(stored: StoredArray | None, n_items: int) -> Ids | None:
    """The stored ids of ``n_items`` items, [n]; raises HashbenchError if they are not one integer or text for each.

    They may be [1, n] or [n, 1]; and MATLAB's may be floats, of whole numbers, which are read as integers.
    """
    if stored is None:
        return None
    kinds = "uifUS" if stored.is_transposed else "uiUS"
    if prod(stored.shape) != n_items or n_items not in stored.shape or stored.dtype.kind not in kinds:
        kind = f"{stored.dtype} of shape {stored.shape}"
        raise HashbenchError(f"{stored.where}: {kind}: {n_items} integers or texts are expected")
    values = stored.whole().ravel()
    if values.dtype.kind == "S":
        return np.strings.decode(values, "utf-8", "backslashreplace")
    if values.dtype.kind != "f":
        return values
    if not (np.abs(values) <= MOST_EXACT).all() or (values != np.rint(values)).any():
        raise HashbenchError(f"{stored.where}: ids are whole numbers up to 2^53, or texts: others are in it")
    return values.astype(np.int64)


def rows_of(query: Ids, database: Ids, where: str) -> NDArray[np.int64]:
    """The row of each query in the database by its id, int64[q], -1 for none; HashbenchError if several rows have it.

    >>> rows_of(np.array([7, 5, 7]), np.array([3, 7, 9]), "ids").tolist()
    [1, -1, 1]
    """
    if (database.dtype.kind in "ui") != (query.dtype.kind in "ui"):
        raise HashbenchError(f"{where}: integers beside texts in the other ids: both must be of one kind")
    wanted = query.tolist()  # integers of Python, which are compared exactly whatever their types were
    rows = dict.fromkeys(wanted, -1)
    for row, item in enumerate(database.tolist()):
        if item not in rows:
            continue
        if rows[item] >= 0:
            raise HashbenchError(f"{where}: the id of a query is there twice: each item needs an id of its own")
        rows[item] = row
    return np.array([rows[item] for item in wanted], np.int64)
