"""Codes and labels as users give them, checked: NumPy arrays, lists, torch tensors, packed bytes, names of classes."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.array_like import as_array, require_values
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.scoring.codes import Codes, pack
from hashbench.scoring.codes.hexadecimal import packed_bits
from hashbench.scoring.codes.packed import from_bytes, is_packed, unsigned
from hashbench.scoring.codes.values import CodeValues, not_numeric
from hashbench.scoring.histogram.counting import AnyCodes
from hashbench.scoring.relevance.labels import GradedRelevance, class_ids, class_names, from_labels
from hashbench.scoring.relevance.neighbours import PairRelevance

BitOrder = Literal["big", "little"]

COUNTED = 1 << 20  # values that are looked at together
MAX_LEVEL = 65_535  # of relevance: levels are counted by it
GRADED = (
    "levels of relevance are query_labels [queries, items] with database_labels=None, or [queries, classes] beside "
    "database_labels of class ids"
)
NOT_MULTI_HOT = f"multi-hot labels [n, labels] are 0 or 1; others are in it: {GRADED}"


def numbers(name: str, values: Any, *, are_codes: bool = False) -> NDArray[Any]:
    """``values`` as an array of finite numbers; raises HashbenchError for anything else, with advice for codes."""
    array = as_array(name, values)
    if array.dtype.kind not in "buif":
        raise not_numeric(name, str(array.dtype), array.dtype.kind if are_codes else "")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise HashbenchError(f"{name}: not finite (NaN or inf): finite numbers are expected")
    return array


def read_codes(
    name: str, values: Any, device: str, bits: int | None, bit_order: BitOrder | None
) -> tuple[AnyCodes, CodeValues]:
    """The codes in ``values``, on a tensor's own GPU, and what values they are, for ``interpret``."""
    seen = CodeValues(name)
    if isinstance(values, Codes) or hasattr(values, "to_host"):
        return _of_length(name, values, bits), seen
    if device != "cpu" and hasattr(values, "detach") and not is_packed(values, bits):
        from hashbench.scoring.histogram import torch_kernel

        require_values(name, values)
        return _of_length(name, torch_kernel.pack(values, seen), bits), seen
    array = texts_of(as_array(name, values))
    if array.dtype.kind in "US" and array.ndim == 1:
        rows, n_bits = packed_bits(name, array, bits)
        return from_bytes(name, rows, n_bits, "big"), seen
    array = numbers(name, array, are_codes=True)
    if array.ndim != 2:
        raise HashbenchError(f"{name}: shape {array.shape} is not items x bits")
    if bits is not None and is_packed(array, bits):
        return from_bytes(name, unsigned(array), bits, bit_order), seen
    if array.dtype != np.bool_:
        for rows_at_once in slices(len(array), max(1, COUNTED // max(1, array.shape[1]))):
            seen.add(array[rows_at_once])
    return _of_length(name, pack(array > 0), bits), seen


def texts_of(array: NDArray[Any]) -> NDArray[Any]:
    """``array``, of type str where it is a column of pandas that holds nothing but texts."""
    if array.dtype.kind == "O" and all(isinstance(value, str) for value in array.ravel()):
        return array.astype(np.str_)
    return array


def read_labels(name: str, values: Any, *, of_pairs: bool = False) -> NDArray[Any]:
    """Class ids int64[n], names str[n], multi-hot uint8[n, labels] or levels int64[n, columns]; or HashbenchError."""
    array = texts_of(as_array(name, values))
    if array.ndim == 2 and array.shape[1] == 1 and not of_pairs:
        array = array[:, 0]  # class ids; levels of pairs may be one column
    if array.dtype.kind == "U":
        if array.ndim != 1:
            raise HashbenchError(f"{name}: shape {array.shape}: names of classes are [n], one for each item")
        return array
    array = numbers(name, array)
    whole = array.astype(np.int64)
    if array.ndim not in (1, 2) or not (whole == array).all():
        raise HashbenchError(f"{name}: class ids [n] are whole numbers, multi-hot labels [n, labels] are 0 or 1")
    if whole.ndim == 1 or not ((whole == 0) | (whole == 1)).all():
        if whole.ndim == 2 and name != "query_labels":  # only queries have levels
            raise HashbenchError(f"{name}: {NOT_MULTI_HOT}")
        return whole
    return whole.astype(np.uint8)


def relevance(query: NDArray[Any], database: NDArray[Any] | None) -> PairRelevance:
    """The relevance by the labels of both sides, as ``read_labels`` returns them; items of one name share a class."""
    # levels of pairs [q, n], or beside class ids of the database of each class [q, classes]
    if database is None or (query.ndim, database.ndim, database.dtype.kind) == (2, 1, "i"):
        return _graded(query, database)
    are_names = {labels.dtype.kind == "U" for labels in (query, database)}
    if len(are_names) > 1:
        raise HashbenchError("query_labels, database_labels: names of classes on one side, numbers on the other")
    if are_names == {True}:
        known = class_names(query)
        query = class_ids(query, known)
        database = class_ids(database, known)
    if query.ndim == database.ndim == 2 and query.dtype != np.uint8:
        raise HashbenchError(f"query_labels: {NOT_MULTI_HOT}")
    return from_labels(query, database)


def _graded(level: NDArray[Any], classes: NDArray[Any] | None) -> GradedRelevance:
    if level.ndim != 2 or level.min(initial=0) < 0 or level.max(initial=0) > MAX_LEVEL:
        raise HashbenchError(f"query_labels: not levels from 0 to {MAX_LEVEL:,}: {GRADED}")
    n_classes = level.shape[1]
    if classes is not None and classes.max(initial=-1) >= n_classes:
        known = f"query_labels has the levels of classes 0 to {n_classes - 1}"
        raise HashbenchError(f"database_labels: class {classes.max()}: {known}")
    n_with = np.bincount(level.ravel())
    n_with[:1] += 1  # 0 is a level even where no pair has it
    levels = np.flatnonzero(n_with)
    index = np.zeros((len(level), n_classes + 1), np.uint16)
    index[:, :-1] = (np.cumsum(n_with > 0) - 1).astype(np.uint16)[level]
    if classes is None:
        classes = np.arange(n_classes)
    return GradedRelevance(levels, index, np.maximum(classes, -1))


def _of_length(name: str, codes: AnyCodes, bits: int | None) -> AnyCodes:
    if bits is not None and codes.n_bits != bits:
        packed = f"uint8 of width {-(-bits // 8)} as numpy.packbits makes"
        whole = f"{bits} columns, or {packed}, are expected; {name}[:, :{bits}] would be the first {bits} bits"
        raise HashbenchError(f"{name}: {codes.n_bits} columns, bits={bits}: {whole}")
    return codes
