"""Finds which axis of codes and labels counts the items, by the lengths that must agree."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeVar

import numpy as np

from hashbench.codes.files._stored import StoredArray
from hashbench.codes.packed import MAX_BITS
from hashbench.foundation.errors import HashbenchError, printable

LAYOUTS = ("items-by-bits", "bits-by-items")


@dataclass(frozen=True)
class StoredLabels:
    """Labels of one side, items first: ids, or one column a label; ``transposed`` where the file has labels x items."""

    stored: StoredArray
    is_ids: bool
    transposed: bool

    @property
    def width(self) -> int:
        """Number of labels, 1 for ids."""
        return 1 if self.is_ids else self.stored.shape[1]

    @property
    def layout(self) -> tuple[bool, int, bool]:
        """The properties that must be the same on both sides."""
        return self.is_ids, self.width, self.transposed

    @property
    def are_names(self) -> bool:
        """Whether they are names of classes, texts."""
        return is_text(self.stored)


@dataclass(frozen=True)
class StoredPair:
    """Codes of queries and database, items x bits (or bytes); ``transposed`` where the file has bits x items."""

    query: StoredArray
    database: StoredArray
    n_bits: int
    transposed: bool


@dataclass(frozen=True)
class StoredCodes(StoredPair):
    """Codes with their labels."""

    query_labels: StoredLabels
    database_labels: StoredLabels


Arranged = TypeVar("Arranged", bound=StoredPair)


def arrange(where: str, roles: Mapping[str, StoredArray], n_bits: int | None, layout: str | None) -> StoredCodes:
    """Codes and labels in the only layout in which their lengths and ``n_bits`` agree.

    Without ``layout`` codes may be items x bits or bits x items; labels are ids ([n], [n, 1] or [1, n]) or one column
    (or row) a label. Raises HashbenchError where no layout fits; where two fit, the error asks for ``--layout``.
    """
    for role, stored in roles.items():
        _check_shape(role, stored)
    of_query, of_database = roles["query_labels"], roles["database_labels"]
    if is_text(of_query) != is_text(of_database):
        raise HashbenchError(f"{of_query.where}: names of classes on one side, numbers on the other: both must agree")
    found = _fitting(layout, lambda transpose: _arrangements(where, roles, n_bits, transpose))
    if layout:
        found = [one for one in found if one.query_labels.transposed == one.transposed] or found
    return _only(where, roles, found)


def arrange_pair(where: str, roles: Mapping[str, StoredArray], n_bits: int | None, layout: str | None) -> StoredPair:
    """Like ``arrange``, of codes that have no labels: queries and database must agree in the number of bits."""
    for role, stored in roles.items():
        _check_shape(role, stored)
    return _only(where, roles, _fitting(layout, lambda transpose: [_pair(where, roles, n_bits, transpose)]))


def _fitting(layout: str | None, arrangements: Callable[[bool], list[Arranged]]) -> list[Arranged]:
    """The ``arrangements`` in each possible layout; raises HashbenchError if there are none."""
    found: list[Arranged] = []
    errors: list[_MisfitError] = []
    for transpose in [LAYOUTS.index(layout) == 1] if layout else [False, True]:
        try:
            found += arrangements(transpose)
        except _MisfitError as error:
            errors.append(error)
    if not found:
        raise HashbenchError(str(max(errors, key=lambda error: error.depth)))
    return found


def _only(where: str, roles: Mapping[str, StoredArray], found: list[Arranged]) -> Arranged:
    if len(found) > 1:
        shapes = " and ".join(f"{role} {roles[role].shape}" for role in ("query_codes", "database_codes"))
        raise HashbenchError(
            f"{where}: {shapes} can be read both ways: say --layout items-by-bits or --layout bits-by-items"
        )
    return found[0]


class _MisfitError(HashbenchError):
    """Why one layout does not fit; ``depth`` counts the checks that it passed, and the deepest error is shown."""

    def __init__(self, depth: int, message: str) -> None:
        super().__init__(message)
        self.depth = depth


def _check_shape(role: str, stored: StoredArray) -> None:
    if stored.dtype.kind not in "buif" and not (role.endswith("labels") and is_text(stored)):
        raise HashbenchError(f"{stored.where}: not numeric ({printable(str(stored.dtype))}): numbers are expected")
    shape = stored.shape
    if role.endswith("labels"):
        if len(shape) not in (1, 2) or prod(shape) == 0:
            raise HashbenchError(f"{stored.where}: shape {shape} is neither class ids [n] nor multi-hot [n, labels]")
        return
    if len(shape) != 2:
        raise HashbenchError(f"{stored.where}: shape {shape} is not items x bits")
    if prod(shape) == 0:
        raise HashbenchError(
            f"{stored.where}: {shape[0]} items of {shape[1]} bits; at least 1 item and 1 to {MAX_BITS} bits are "
            "expected"
        )


def _pair(where: str, roles: Mapping[str, StoredArray], n_bits: int | None, transpose: bool) -> StoredPair:
    query, database = (roles[role].transposed(transpose) for role in ("query_codes", "database_codes"))
    bits = [_bits(stored, n_bits) for stored in (query, database)]
    if bits[0] != bits[1]:
        raise _MisfitError(1, f"{where}: query_codes has {bits[0]} bits and database_codes {bits[1]}: they must agree")
    return StoredPair(query, database, bits[0], transpose)


def _arrangements(
    where: str, roles: Mapping[str, StoredArray], n_bits: int | None, transpose: bool
) -> list[StoredCodes]:
    pair = _pair(where, roles, n_bits, transpose)
    sides = (("query", pair.query), ("database", pair.database))
    choices = [_label_choices(roles[f"{side}_labels"], side, codes) for side, codes in sides]
    pairs = [(q, d) for q, d in product(*choices) if q.layout == d.layout]
    if not pairs:
        shapes = [roles[f"{side}_labels"].shape for side in ("query", "database")]
        raise _MisfitError(
            3,
            f"{where}: query_labels: shape {shapes[0]} beside {shapes[1]}: both must be class ids [n] or both "
            "multi-hot [n, labels]",
        )
    return [StoredCodes(pair.query, pair.database, pair.n_bits, transpose, q, d) for q, d in pairs]


def _bits(stored: StoredArray, n_bits: int | None) -> int:
    rows, width = stored.shape
    if width > MAX_BITS:
        raise _MisfitError(
            1,
            f"{stored.where}: {rows} items of {width} bits; at least 1 item and 1 to {MAX_BITS} bits are expected",
        )
    if n_bits is None or width == n_bits or is_packed(stored, n_bits):
        return n_bits or width
    raise _MisfitError(
        0,
        f"{stored.where}: {stored.dtype} of width {width} does not hold n_bits = {n_bits}: {n_bits} columns of 0 and "
        f"1, or uint8 of width {-(-n_bits // 8)} as numpy.packbits makes, would",
    )


def is_text(stored: StoredArray) -> bool:
    """Whether the array holds texts: names of classes."""
    return stored.dtype.kind in "US"


def is_packed(stored: StoredArray, n_bits: int) -> bool:
    """Whether codes, items x bytes, are ``n_bits`` packed eight to a byte (one bit reads the same packed or not)."""
    return stored.dtype == np.uint8 and stored.shape[1] == -(-n_bits // 8)


def _label_choices(labels: StoredArray, side: str, codes: StoredArray) -> list[StoredLabels]:
    """The ways in which ``labels`` can have one row an item of ``codes``."""
    shape, n = labels.shape, codes.shape[0]
    choices = []
    if prod(shape) == n and n in shape:
        choices.append(StoredLabels(labels.transposed(shape[0] != n), is_ids=True, transposed=False))
    several = len(shape) == 2 and not is_text(labels)
    if several and shape[0] == n and shape[1] > 1:
        choices.append(StoredLabels(labels, is_ids=False, transposed=False))
    if several and shape[1] == n and shape[0] > 1:
        choices.append(StoredLabels(labels.transposed(), is_ids=False, transposed=True))
    if not choices:
        rows = max(shape) if 1 in shape else shape[0]
        raise _MisfitError(2, f"{labels.where}: {rows} rows, {side}_codes has {n}: one row a code is expected")
    return choices
