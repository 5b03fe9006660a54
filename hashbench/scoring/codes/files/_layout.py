"""Finds which axis of codes and labels counts the items, by the lengths that must agree."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, printable
from hashbench.scoring.codes.files._stored import Read, StoredArray
from hashbench.scoring.codes.hexadecimal import bits_of, n_bits_of
from hashbench.scoring.codes.packed import MAX_BITS, unsigned
from hashbench.scoring.codes.values import not_numeric

SIGNED = "int8, read as packed bytes less 128, as sentence-transformers' binary precision has them"
LAYOUTS = ("items-by-bits", "bits-by-items")
CODE_ROLES = ("query_codes", "database_codes")
LABEL_ROLES = ("query_labels", "database_labels")


@dataclass(frozen=True)
class StoredLabels:
    """Labels of one side, items first: ids, or one column a label; ``transposed`` where the file has labels x items."""

    stored: StoredArray
    is_ids: bool
    transposed: bool = False

    @property
    def width(self) -> int:
        """Number of labels, 1 for ids."""
        if self.is_ids:
            return 1
        return self.stored.shape[1]


@dataclass(frozen=True)
class StoredCodes:
    """Codes of queries and database, items x bits (or bytes), and their labels, if these were asked for."""

    query: StoredArray
    database: StoredArray
    n_bits: int
    transposed: bool  # the file has bits x items
    labels: tuple[StoredLabels, ...] = ()
    notes: tuple[str, ...] = ()  # of decisions about the codes


def arrange(where: str, roles: Mapping[str, StoredArray], n_bits: int | None, layout: str | None) -> StoredCodes:
    """Codes, and labels if ``roles`` has them, in the only layout in which their lengths and ``n_bits`` agree.

    Without ``layout`` codes may be items x bits or bits x items; labels are ids ([n], [n, 1] or [1, n]) or one column
    (or row) a label. Raises HashbenchError where no layout fits; where two fit, the error asks for ``--layout``.
    """
    texts = {role: _of_texts(roles[role], n_bits) for role in CODE_ROLES if is_text(roles[role])}
    if texts or any(roles[role].packed_bits is not None for role in CODE_ROLES):
        layout = LAYOUTS[0]  # a text is an item, and so is a row of faiss
    roles = {**roles, **texts}
    for role, stored in roles.items():
        _check_shape(role, stored)
    labels = [roles[role] for role in LABEL_ROLES if role in roles]
    if len({is_text(stored) for stored in labels}) > 1:
        raise HashbenchError(f"{labels[0].where}: names of classes on one side, numbers on the other: both must agree")
    possible: list[StoredCodes] = []
    misfits: list[tuple[int, str]] = []  # no errors: one holds the frames of its callers, with all that they hold
    for transpose in (False, True):
        if layout not in (None, LAYOUTS[transpose]):
            continue
        try:
            possible += _arrangements(where, roles, n_bits, transpose)
        except _MisfitError as error:
            misfits.append((error.depth, str(error)))
    if not possible:
        _, deepest = max(misfits, key=lambda misfit: misfit[0])
        raise HashbenchError(deepest)
    if layout:
        alike = [codes for codes in possible if all(labels.transposed == codes.transposed for labels in codes.labels)]
        possible = alike or possible
    if len(possible) > 1:
        shapes = " and ".join(f"{role} {roles[role].shape}" for role in CODE_ROLES)
        ways = " or ".join(f"--layout {name}" for name in LAYOUTS)
        raise HashbenchError(f"{where}: {shapes} can be read both ways: say {ways}, or --layout BITS")
    return possible[0]


class _MisfitError(HashbenchError):
    """Why one layout does not fit; ``depth`` counts the checks that it passed, and the deepest error is shown."""

    def __init__(self, depth: int, message: str) -> None:
        super().__init__(message)
        self.depth = depth


def _check_shape(role: str, stored: StoredArray) -> None:
    of_labels = role in LABEL_ROLES
    shape = stored.shape
    if stored.dtype.kind not in "buif" and not (of_labels and is_text(stored)):
        raise not_numeric(stored.where, printable(str(stored.dtype)), "" if of_labels else stored.dtype.kind)
    if of_labels and (len(shape) not in (1, 2) or prod(shape) == 0):
        raise HashbenchError(f"{stored.where}: shape {shape} is neither class ids [n] nor multi-hot [n, labels]")
    if not of_labels and len(shape) != 2:
        raise HashbenchError(f"{stored.where}: shape {shape} is not items x bits")
    if prod(shape) == 0:
        raise HashbenchError(_wrong_size(stored))


def _wrong_size(stored: StoredArray) -> str:
    rows, width = stored.shape
    return f"{stored.where}: {rows} items of {width} bits; at least 1 item and 1 to {MAX_BITS} bits are expected"


def _arrangements(
    where: str, roles: Mapping[str, StoredArray], n_bits: int | None, transpose: bool
) -> list[StoredCodes]:
    codes = [roles[role].transposed(transpose) for role in CODE_ROLES]
    bits = [_bits(stored, n_bits) for stored in codes]
    if bits[0] != bits[1]:
        raise _MisfitError(1, f"{where}: query_codes has {bits[0]} bits and database_codes {bits[1]}: they must agree")
    notes = []
    for side, stored in enumerate(codes):
        if stored.dtype == np.int8 and is_packed(stored, bits[side]):
            notes.append(f"{stored.where}: {SIGNED}")
            codes[side] = _changed(stored, unsigned, stored.file_shape, np.uint8)
    labels = [roles[role] for role in LABEL_ROLES if role in roles]
    choices = map(_label_choices, labels, CODE_ROLES, codes)
    # class ids on both sides, or as many columns, stored the same way
    pairs = [pair for pair in product(*choices) if len({(one.is_ids, one.width, one.transposed) for one in pair}) < 2]
    if not pairs:
        shapes = f"shape {labels[0].shape} beside {labels[1].shape}"
        kinds = "both must be class ids [n] or both multi-hot [n, labels]"
        raise _MisfitError(3, f"{where}: query_labels: {shapes}: {kinds}")
    return [StoredCodes(codes[0], codes[1], bits[0], transpose, pair, tuple(notes)) for pair in pairs]


def _bits(stored: StoredArray, n_bits: int | None) -> int:
    width = stored.shape[1]
    if width > MAX_BITS:
        raise _MisfitError(1, _wrong_size(stored))
    if n_bits is None or width == n_bits or is_packed(stored, n_bits):
        return n_bits or width
    fitting = f"{n_bits} columns of 0 and 1, or uint8 of width {-(-n_bits // 8)} as numpy.packbits makes, would"
    raise _MisfitError(0, f"{stored.where}: {stored.dtype} of width {width} does not hold n_bits = {n_bits}: {fitting}")


def is_text(stored: StoredArray) -> bool:
    """True where the array holds texts: names of classes."""
    return stored.dtype.kind in "US"


def is_packed(stored: StoredArray, n_bits: int) -> bool:
    """True where codes, items x bytes, are ``n_bits`` packed eight to a byte (one bit reads the same packed or not)."""
    is_bytes = stored.dtype == np.uint8 or (stored.dtype == np.int8 and n_bits > 1)
    return is_bytes and stored.shape[1] == -(-n_bits // 8)


def _of_texts(stored: StoredArray, n_bits: int | None) -> StoredArray:
    """The bits [n, bits] of texts of hexadecimal digits, or of 0 and 1 where ``n_bits`` says so."""
    if stored.shape not in ((prod(stored.shape),), (prod(stored.shape), 1)):
        return stored  # and the check of shapes says what is wrong
    character = np.dtype((stored.dtype.kind, 1))
    n_characters = stored.dtype.itemsize // character.itemsize
    n_bits = n_bits_of(stored.where, (slab for _, slab in stored.slabs()), n_characters, n_bits)

    def bits(texts: NDArray[Any]) -> NDArray[np.uint8]:
        return bits_of(stored.where, texts.ravel(), n_characters, n_bits)

    return replace(_changed(stored, bits, (prod(stored.shape), n_bits), np.uint8), is_transposed=False)


def _changed(
    stored: StoredArray, change: Callable[[NDArray[Any]], NDArray[Any]], shape: tuple[int, ...], dtype: Any
) -> StoredArray:
    """``stored`` with each part of it changed when it is read."""

    def changing(read: Read, n: int) -> Iterator[NDArray[Any]]:
        return map(change, read(n))

    return replace(stored, file_shape=shape, dtype=np.dtype(dtype), read=partial(changing, stored.read))


def _label_choices(labels: StoredArray, role: str, codes: StoredArray) -> list[StoredLabels]:
    """The ways in which ``labels`` can have one row an item of ``codes``."""
    shape = labels.shape
    n = codes.shape[0]
    choices = []
    if prod(shape) == n and n in shape:
        choices.append(StoredLabels(labels.transposed(shape[0] != n), is_ids=True))
    may_be_multi_hot = len(shape) == 2 and not is_text(labels)
    if may_be_multi_hot and shape[0] == n and shape[1] > 1:
        choices.append(StoredLabels(labels, is_ids=False))
    if may_be_multi_hot and shape[1] == n and shape[0] > 1:
        choices.append(StoredLabels(labels.transposed(), is_ids=False, transposed=True))
    if not choices:
        rows = shape[0]
        if 1 in shape:
            rows = max(shape)
        raise _MisfitError(2, f"{labels.where}: {rows} rows, {role} has {n}: one row a code is expected")
    return choices
