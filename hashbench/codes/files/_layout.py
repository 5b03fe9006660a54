"""Which axis of codes and labels is the items: found from lengths that must agree, asked where two ways are left."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from hashbench.codes.files._stored import Stored, numeric
from hashbench.codes.packed import MAX_BITS
from hashbench.errors import HashbenchError

LAYOUTS = ("items-by-bits", "bits-by-items")


@dataclass(frozen=True)
class View:
    """Labels as ids (width 1) or as one column a label; ``turned`` where the file has labels by items."""

    stored: Stored
    is_ids: bool
    turned: bool

    @property
    def width(self) -> int:
        """Number of labels, 1 for ids."""
        return 1 if self.is_ids else self.stored.shape[1]


@dataclass(frozen=True)
class Arranged:
    """Codes items x bits (or bytes) and labels items first."""

    query: Stored
    database: Stored
    query_labels: View
    database_labels: View
    n_bits: int
    turned: bool


def arrange(where: str, roles: Mapping[str, Stored], n_bits: int | None, layout: str | None) -> Arranged:
    """The one way in which codes, labels and ``n_bits`` agree.

    Without ``layout`` codes may be items x bits or bits x items; labels are ids ([n], [n, 1] or [1, n]) or one column
    (or row) a label. Raises HashbenchError where no way fits, and where two do, which then asks for ``--layout``.
    """
    for role, stored in roles.items():
        _check_shape(role, stored)
    turns = [LAYOUTS.index(layout) == 1] if layout else [False, True]
    found: list[Arranged] = []
    errors: list[_MisfitError] = []
    for turn in turns:
        try:
            found += _arrangements(where, roles, n_bits, turn)
        except _MisfitError as error:
            errors.append(error)
    if not found:
        raise HashbenchError(str(max(errors, key=lambda error: error.depth)))
    if layout:
        found = [one for one in found if one.query_labels.turned == one.turned] or found
    if len(found) > 1:
        shapes = " and ".join(f"{role} {roles[role].shape}" for role in ("query_codes", "database_codes"))
        raise HashbenchError(
            f"{where}: {shapes} can be read both ways: say --layout items-by-bits or --layout bits-by-items"
        )
    return found[0]


class _MisfitError(HashbenchError):
    """Why one layout does not fit; the deeper, the more had fitted before."""

    def __init__(self, depth: int, message: str) -> None:
        super().__init__(message)
        self.depth = depth


def _check_shape(role: str, stored: Stored) -> None:
    numeric(stored.where, stored.dtype)
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


def _arrangements(where: str, roles: Mapping[str, Stored], n_bits: int | None, turn: bool) -> list[Arranged]:
    query, database = (roles[role].turned(turn) for role in ("query_codes", "database_codes"))
    bits = [_bits(stored, n_bits) for stored in (query, database)]
    if bits[0] != bits[1]:
        raise _MisfitError(1, f"{where}: query_codes has {bits[0]} bits and database_codes {bits[1]}: they must agree")
    views = [_views(roles[f"{side}_labels"], side, of) for side, of in (("query", query), ("database", database))]
    pairs = [(q, d) for q, d in product(*views) if (q.is_ids, q.width, q.turned) == (d.is_ids, d.width, d.turned)]
    if not pairs:
        shapes = [roles[f"{side}_labels"].shape for side in ("query", "database")]
        raise _MisfitError(
            3,
            f"{where}: query_labels: shape {shapes[0]} beside {shapes[1]}: both must be class ids [n] or both "
            "multi-hot [n, labels]",
        )
    return [Arranged(query, database, q, d, bits[0], turn) for q, d in pairs]


def _bits(stored: Stored, n_bits: int | None) -> int:
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


def is_packed(stored: Stored, n_bits: int) -> bool:
    """Whether codes items x bytes are ``n_bits`` packed eight to a byte (one bit alone reads the same either way)."""
    return stored.dtype == np.uint8 and stored.shape[1] == -(-n_bits // 8)


def _views(labels: Stored, side: str, codes: Stored) -> list[View]:
    shape, n = labels.shape, codes.shape[0]
    views = []
    if prod(shape) == n and n in shape:
        views.append(View(labels.turned(shape[0] != n), is_ids=True, turned=False))
    if len(shape) == 2 and shape[0] == n and shape[1] > 1:
        views.append(View(labels, is_ids=False, turned=False))
    if len(shape) == 2 and shape[1] == n and shape[0] > 1:
        views.append(View(labels.turned(), is_ids=False, turned=True))
    if not views:
        rows = max(shape) if 1 in shape else shape[0]
        raise _MisfitError(2, f"{labels.where}: {rows} rows, {side}_codes has {n}: one row a code is expected")
    return views
