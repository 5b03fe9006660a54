"""Finds which axis of codes and labels counts the items, by the lengths that must agree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from hashbench.foundation.errors import HashbenchError, printable
from hashbench.scoring.codes.files._stored import StoredArray, in_memory
from hashbench.scoring.codes.hexadecimal import packed_bits
from hashbench.scoring.codes.packed import MAX_BITS, is_packed
from hashbench.scoring.codes.values import not_numeric

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
    def form(self) -> tuple[bool | int, ...]:
        """Equal where labels of queries and of a database can be compared: ids, names, or as many columns."""
        n_columns = 1 if self.is_ids else self.stored.shape[1]
        return self.is_ids, n_columns, self.transposed, is_text(self.stored)


@dataclass(frozen=True)
class StoredCodes:
    """Codes of queries and database, items x bits (or bytes), and their labels, if these were asked for."""

    sides: Sequence[StoredArray]
    n_bits: int
    transposed: bool  # the file has bits x items
    labels: tuple[StoredLabels, ...] = ()


def arrange(where: str, roles: Mapping[str, StoredArray], n_bits: int | None, layout: str | None) -> StoredCodes:
    """Codes, and labels if ``roles`` has them, in the only layout in which their lengths and ``n_bits`` agree.

    Without ``layout`` codes may be items x bits or bits x items; labels are ids ([n], [n, 1] or [1, n]) or one column
    (or row) a label. Raises HashbenchError where no layout fits; where two fit, the error asks for ``--layout``.
    """
    codes = [_without_texts(roles[role], n_bits) for role in CODE_ROLES]
    labels = [roles[role] for role in LABEL_ROLES if role in roles]
    for stored in codes:
        _check(stored, is_label=False)
    for stored in labels:
        _check(stored, is_label=True)
    stated = [stored.packed_bits for stored in codes if stored.packed_bits is not None]
    if stated:  # a text is an item, and so is a row of faiss
        layout = LAYOUTS[0]
        n_bits = n_bits or stated[0]
    shapes = " and ".join(dict.fromkeys(f"{stored.name} {stored.dtype}{stored.shape}" for stored in codes))
    fitting = _fitting(codes, n_bits, layout)
    if not fitting:
        length = f"of n_bits = {n_bits}" if n_bits else f"of the same 1 to {MAX_BITS} bits"
        packed = "or uint8 [items, bits / 8] as numpy.packbits makes, with their length"
        raise HashbenchError(f"{where}: {shapes}: codes {length} are expected, [items, bits], {packed}")
    possible = [replace(one, labels=pair) for one in fitting for pair in _fitting_labels(labels, one.sides)]
    if not possible:
        raise HashbenchError(
            f"{where}: query_labels {labels[0].shape} and database_labels {labels[1].shape} beside {shapes}: a label "
            "each is expected, class ids or names [items] on both sides, or multi-hot [items, labels] on both"
        )
    if layout:
        alike = [one for one in possible if all(labels.transposed == one.transposed for labels in one.labels)]
        possible = alike or possible
    if len(possible) > 1:
        options = " or ".join(f"--layout {name}" for name in LAYOUTS)
        raise HashbenchError(f"{where}: {shapes} can be read both ways: say {options}, or --layout BITS")
    return possible[0]


def _fitting(codes: Sequence[StoredArray], n_bits: int | None, layout: str | None) -> list[StoredCodes]:
    """The codes in each layout in which both sides have one code length, which is ``n_bits`` if it is known."""
    fitting = []
    for name in LAYOUTS:
        if layout in (None, name):
            sides = [stored.transposed(name == LAYOUTS[1]) for stored in codes]
            lengths = {n_bits if is_packed(stored, n_bits) else stored.shape[1] for stored in sides}
            length = lengths.pop() or 0
            if not lengths and length <= MAX_BITS and n_bits in (None, length):
                fitting.append(StoredCodes(sides, length, name == LAYOUTS[1]))
    return fitting


def _fitting_labels(labels: Sequence[StoredArray], sides: Sequence[StoredArray]) -> Iterator[tuple[StoredLabels, ...]]:
    """The labels in each layout in which a code has one, and both sides have the same form; without labels nothing."""
    choices = [_label_choices(stored, side) for stored, side in zip(labels, sides, strict=False)]
    return (pair for pair in product(*choices) if len({one.form for one in pair}) < 2)


def is_text(stored: StoredArray) -> bool:
    """True where the array holds texts."""
    return stored.dtype.kind in "US"


def _without_texts(stored: StoredArray, n_bits: int | None) -> StoredArray:
    """The array itself, or the packed codes of texts of hexadecimal digits."""
    if not is_text(stored) or stored.shape not in ((prod(stored.shape),), (prod(stored.shape), 1)):
        return stored
    packed, length = packed_bits(stored.where, stored.whole(), n_bits)
    return in_memory(stored.where, stored.name, packed, length)


def _check(stored: StoredArray, *, is_label: bool) -> None:
    kind = stored.dtype.kind
    if kind not in "buif" and not (is_label and is_text(stored)):
        raise not_numeric(stored.where, printable(str(stored.dtype)), "" if is_label else kind)
    possible = (1, 2) if is_label else (2,)
    if len(stored.shape) not in possible or prod(stored.shape) == 0:
        expected = "class ids [items] or multi-hot [items, labels]" if is_label else "items x bits, one or more of both"
        raise HashbenchError(f"{stored.where}: shape {stored.shape}: {expected} are expected")


def _label_choices(labels: StoredArray, codes: StoredArray) -> list[StoredLabels]:
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
    return choices
