"""Codes and labels from files: one's own, which ``save`` writes, and those of other code bases.

Our own file is an .npz. ``query_codes`` and ``database_codes`` hold items x bits: 0 and 1, or -1 and +1, of any
numeric type; or uint8 as ``numpy.packbits(bits, axis=1)`` packs them, eight bits a byte, and then ``n_bits`` says how
many there are. ``query_labels`` and ``database_labels`` hold class ids, [n] or [n, 1], or multi-hot rows, [n, labels].
``query_ids`` and ``database_ids`` may name the items, and ``layout`` says what the rows are. Other arrays are not
looked at.

A format is a file of this package (npz, npy, mat, h5, pt); the names of other code bases are data in ``_names``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hashbench.affinity import ClassAffinity, SharedLabelAffinity
from hashbench.codes import MAX_BITS, Codes
from hashbench.errors import HashbenchError
from hashbench.files import atomic
from hashbench.saved_codes import _codes, _labels
from hashbench.saved_codes._find import Found, find
from hashbench.saved_codes._layout import LAYOUTS, Arranged, arrange, is_packed
from hashbench.saved_codes._names import ROLES
from hashbench.saved_codes._stored import Stored
from hashbench.saved_codes._stream import CodeStream, finish, require_rows

BIT_ORDERS = ("big", "little")


@dataclass(frozen=True)
class SavedCodes:
    """The codes of queries and of a database, the affinity between them, and what was noticed on the way.

    ``notes`` are warnings for a report, one line each: values that were 0, real values that were binarised, a layout
    that was turned, labels of -1. ``query_ids`` and ``database_ids`` name the items, where the file does.
    """

    query: Codes
    database: Codes
    affinity: ClassAffinity | SharedLabelAffinity
    notes: tuple[str, ...] = ()
    query_ids: NDArray[Any] | None = None
    database_ids: NDArray[Any] | None = None


@dataclass(frozen=True)
class Explicit:
    """What is said rather than guessed: it always wins.

    The four arrays are each ``FILE`` or ``FILE:KEY``. ``bits`` is the code length of packed codes, ``bit_order``
    which bit of a byte comes first (``little`` in faiss, ``big`` in ``numpy.packbits``), ``layout`` what the rows of
    the codes are.
    """

    query_codes: str | None = None
    database_codes: str | None = None
    query_labels: str | None = None
    database_labels: str | None = None
    bits: int | None = None
    bit_order: Literal["big", "little"] | None = None
    layout: Literal["items-by-bits", "bits-by-items"] | None = None

    def __post_init__(self) -> None:
        if self.bits is not None:
            _check_bits("--bits", self.bits)
        if self.bit_order not in (None, *BIT_ORDERS):
            raise HashbenchError(f"--bit-order {self.bit_order}: one of {', '.join(BIT_ORDERS)}")
        if self.layout not in (None, *LAYOUTS):
            raise HashbenchError(f"--layout {self.layout}: one of {', '.join(LAYOUTS)}")


def save(path: Path, saved: SavedCodes) -> None:
    """Writes codes (uint8 of 0 and 1, items x bits), labels and ids to ``path``, whole or not at all."""
    arrays: dict[str, NDArray[Any] | None] = {
        "query_codes": saved.query.bits(),
        "database_codes": saved.database.bits(),
        "query_labels": saved.affinity.query_labels,
        "database_labels": saved.affinity.database_labels,
        "query_ids": saved.query_ids,
        "database_ids": saved.database_ids,
        "n_bits": np.array(saved.query.n_bits),
        "layout": np.array(LAYOUTS[0]),
    }
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(
            file, allow_pickle=False, **{name: array for name, array in arrays.items() if array is not None}
        )


def load(sources: Path | Sequence[Path] = (), *, explicit: Explicit = Explicit()) -> SavedCodes:
    """The codes and labels in ``sources``: one file, several, or a folder of files named as a code base names them.

    What ``explicit`` says wins over names, lengths and padding. A value > 0 sets its bit; what else had to be decided
    is in the ``notes`` of the result. Codes are packed piece by piece: the memory needed is that of the packed codes,
    of the labels and of a few MiB. Raises HashbenchError, in one line naming the file, the array and what would be
    right, for anything that is not codes and labels, and where the layout of codes can be read both ways. Nothing is
    ever unpickled.
    """
    where, found, arranged = _arranged(sources, explicit)
    query, database, notes = _codes.read(arranged, explicit.bit_order)
    affinity, label_notes = _labels.read(arranged.query_labels, arranged.database_labels)
    notes = [*_turned(where, arranged), *notes, *label_notes]
    ids = [_ids(found.ids.get(f"{side}_ids"), len(of)) for side, of in (("query", query), ("database", database))]
    return SavedCodes(query, database, affinity, tuple(notes), *ids)


def stream(sources: Path | Sequence[Path] = (), *, explicit: Explicit = Explicit()) -> CodeStream:
    """Like ``load``, with the database codes left in their file, to be read block by block.

    Raises HashbenchError too where the file has them bit by bit, and where packed bytes that do not fill their last
    byte come without a ``bit_order``: their padding would have to be read first.
    """
    where, _, arranged = _arranged(sources, explicit)
    require_rows(arranged.database)
    query = _codes.packed(arranged.query, arranged.n_bits)
    sides = [is_packed(stored, arranged.n_bits) for stored in (arranged.query, arranged.database)]
    undecided = arranged.n_bits > 1 and (arranged.n_bits % 8 or sides[0] != sides[1])
    if any(sides) and undecided and explicit.bit_order is None:
        raise HashbenchError(f"{where}: packed bytes: say --bit-order big or --bit-order little")
    order = explicit.bit_order or ("little" if arranged.n_bits == 1 else "big")
    finish(query, order)
    affinity, notes = _labels.read(arranged.query_labels, arranged.database_labels)
    census = None if query.is_packed else query.census
    notes = [*_turned(where, arranged), *notes]
    return CodeStream(query.codes(), affinity, arranged.database.shape[0], notes, arranged, census, order)


def _arranged(sources: Path | Sequence[Path], explicit: Explicit) -> tuple[str, Found, Arranged]:
    paths = [sources] if isinstance(sources, Path) else list(sources)
    found = find(paths, {role: getattr(explicit, role) for role in ROLES})
    where = ", ".join(map(str, paths)) or found.roles["query_codes"].where
    n_bits, layout = explicit.bits or _n_bits(found), explicit.layout or _layout(found)
    return where, found, arrange(where, found.roles, n_bits, layout)


def _turned(where: str, arranged: Arranged) -> list[str]:
    notes = [f"{where}: codes are bits x items"] if arranged.turned else []
    return [*notes, f"{where}: labels are labels x items"] if arranged.query_labels.turned else notes


def _check_bits(name: str, n_bits: int) -> int:
    if not 1 <= n_bits <= MAX_BITS:
        raise HashbenchError(f"{name}: {n_bits} bits; 1 to {MAX_BITS} are possible")
    return n_bits


def _n_bits(found: Found) -> int | None:
    stored = found.n_bits
    if stored is None:
        return None
    if stored.shape not in ((), (1,), (1, 1)) or stored.dtype.kind not in "ui":
        raise HashbenchError(f"{stored.where}: {stored.dtype} of shape {stored.shape}: one integer is expected")
    return _check_bits(stored.where, int(stored.small().item()))


def _layout(found: Found) -> str | None:
    stored = found.layout
    if stored is None:
        return None
    text = str(stored.small().item()) if stored.shape == () and stored.dtype.kind in "US" else ""
    if text not in LAYOUTS:
        raise HashbenchError(f"{stored.where}: one of {', '.join(LAYOUTS)} is expected")
    return text


def _ids(stored: Stored | None, n_items: int) -> NDArray[Any] | None:
    if stored is None:
        return None
    if stored.shape != (n_items,) or stored.dtype.kind not in "uiUS":
        raise HashbenchError(
            f"{stored.where}: {stored.dtype} of shape {stored.shape}: {n_items} integers or texts are expected"
        )
    ids = np.empty(n_items, stored.dtype)
    for at, slab in stored.slabs():
        ids[at] = slab
    return ids
