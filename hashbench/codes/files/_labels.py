"""Reads labels (class ids, or one column a label, of 0 and 1 or of -1 and +1) and ids (integers or texts) of items."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._layout import StoredLabels, is_text
from hashbench.codes.files._stored import StoredArray
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.relevance.labels import (
    ClassRelevance,
    LabelRelevance,
    Labels,
    class_ids,
    class_names,
    combinations_note,
    from_labels,
)

Ids = NDArray[Any]  # [n], integers or texts
MOST_EXACT = 1 << 53  # floats beyond it are not all whole numbers apart


@dataclass
class LabelReader:
    """Reads the labels of queries or database: class ids as int64[n], others as uint8[n, labels] of 0 and 1."""

    labels: StoredLabels
    names: NDArray[np.str_] | None = None  # of the classes; None: their own, which it holds from then on
    n_negative: int = 0  # labels of -1, so far
    name_notes: list[str] = field(default_factory=list)

    def whole(self) -> Labels:
        """The labels of all items."""
        stored = self.labels.stored
        if is_text(stored):
            return self._checked(stored.whole())
        if self.labels.is_ids:
            labels = np.empty(stored.shape, np.int64)
        else:
            labels = np.empty(stored.shape, np.uint8)
        for at, slab in stored.slabs():
            labels[at] = self._checked(slab)
        return self._by_item(labels)

    def pieces(self) -> Iterator[Labels]:
        """The labels of some items at a time; of all items at once where the file does not store them item by item."""
        if not self.labels.stored.by_rows:
            yield self.whole()
            return
        for _, slab in self.labels.stored.slabs():
            yield self._by_item(self._checked(slab))

    def _by_item(self, labels: Labels) -> Labels:
        """Class ids [n], which a file may have as [n, 1] or [1, n]; all other labels as they are."""
        if self.labels.is_ids:
            return labels.ravel()
        return labels

    def notes(self) -> list[str]:
        """Notes about the labels that were read."""
        where = self.labels.stored.where
        notes = [f"{where}: {note}" for note in self.name_notes]
        if self.n_negative:
            notes.append(f"{where}: {self.n_negative} labels are -1, read as absent")
        return notes

    def _checked(self, slab: NDArray[Any]) -> Labels:
        where = self.labels.stored.where
        if is_text(self.labels.stored):
            texts = _texts(where, slab.ravel())
            if self.names is None:
                self.names = class_names(texts)
                self.name_notes += filter(None, [combinations_note(self.names.tolist())])
            return class_ids(texts, self.names)
        if self.labels.is_ids:
            with np.errstate(invalid="ignore"):  # a float outside int64 becomes another number: see below
                ids = slab.astype(np.int64)
            if not (ids == slab).all() or (slab.dtype.kind == "u" and (ids < 0).any()):
                raise HashbenchError(f"{where}: class ids are whole numbers that fit 64 bits; others are in it")
            return ids
        present = slab == 1
        absent = slab == -1
        if not (present | absent | (slab == 0)).all():
            raise HashbenchError(f"{where}: multi-hot labels [n, labels] are 0 or 1 (or -1 or 1); others are in it")
        self.n_negative += int(np.count_nonzero(absent))
        return present.view(np.uint8)


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


def checked_ids(stored: StoredArray, n_items: int) -> StoredArray:
    """The stored ids of ``n_items`` items, [n]; raises HashbenchError if they are not one integer or text for each.

    They may be [1, n] or [n, 1]; and MATLAB's may be floats, of whole numbers, which are read as integers.
    """
    kinds = "uifUS" if stored.is_transposed else "uiUS"
    if prod(stored.shape) != n_items or n_items not in stored.shape or stored.dtype.kind not in kinds:
        kind = f"{stored.dtype} of shape {stored.shape}"
        raise HashbenchError(f"{stored.where}: {kind}: {n_items} integers or texts are expected")
    if len(stored.shape) == 1 and stored.dtype.kind != "f":
        return stored
    dtype = stored.dtype
    if dtype.kind == "f":
        dtype = np.dtype(np.int64)

    def read(_n_rows: int) -> Iterator[NDArray[Any]]:
        return (_as_ids(stored.where, slab.ravel()) for _, slab in stored.slabs())

    return StoredArray(stored.where, stored.name, (n_items,), dtype, read)


def _as_ids(where: str, values: NDArray[Any]) -> Ids:
    if values.dtype.kind != "f":
        return values
    if not (np.abs(values) <= MOST_EXACT).all() or (values != np.rint(values)).any():
        raise HashbenchError(f"{where}: ids are whole numbers up to 2^53, or texts: others are in it")
    return values.astype(np.int64)


def count_in(query: Ids, database: Iterable[Ids]) -> int:
    """The number of ``query`` ids that are in some piece of ``database``."""
    different, of_query = np.unique(_exact(query), return_inverse=True)
    seen = np.zeros(len(different), bool)
    for piece in database:
        seen[_shared(piece, different)[1]] = True
    return int(seen[of_query].sum())


def rows_of(query: Ids, database: Iterable[Ids], where: str) -> NDArray[np.int64]:
    """The row of each query in the database by its id, int64[q], -1 for none; HashbenchError if several rows have it.

    >>> rows_of(np.array([7, 5, 7]), [np.array([3, 7]), np.array([9])], "ids").tolist()
    [1, -1, 1]
    """
    different, of_query = np.unique(_exact(query), return_inverse=True)
    row = np.full(len(different), -1, np.int64)
    start = 0
    for piece in database:
        if (piece.dtype.kind in "ui") != (query.dtype.kind in "ui"):
            raise HashbenchError(f"{where}: integers beside texts in the other ids: both must be of one kind")
        rows, place = _shared(piece, different)
        if len(np.unique(place)) < len(place) or (row[place] >= 0).any():
            raise HashbenchError(f"{where}: the id of a query is there twice: each item needs an id of its own")
        row[place] = start + rows
        start += len(piece)
    return row[of_query]


def _shared(ids: Ids, different: Ids) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows of ``ids`` that are among ``different``, which are exact and sorted, and their places there."""
    ids = _exact(ids)
    rows = np.arange(len(ids))
    if {ids.dtype.kind, different.dtype.kind} == {"u", "i"}:  # NumPy would compare them as float64, of 53 bits
        rows = np.flatnonzero((ids >= 0) & (ids <= np.iinfo(np.int64).max))  # in the range of both
        ids = ids[rows].astype(different.dtype)
    elif (ids.dtype.kind == "U") != (different.dtype.kind == "U"):  # no text is an integer
        return rows[:0], rows[:0]
    is_there = np.isin(ids, different)
    return rows[is_there], np.searchsorted(different, ids[is_there])


def _exact(ids: Ids) -> Ids:
    """The ids as int64, uint64 or texts: some formats give bytes for these, which NumPy finds different."""
    if ids.dtype.kind == "S":
        return np.strings.decode(ids, "utf-8", "backslashreplace")
    if ids.dtype.kind in "ui":
        return ids.astype(f"{ids.dtype.kind}8", copy=False)
    return ids
