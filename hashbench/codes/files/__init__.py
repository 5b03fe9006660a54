"""Codes and labels from files: one's own, which ``save`` writes, and those of other code bases.

Our own file is an .npz. ``query_codes`` and ``database_codes`` hold items x bits: 0 and 1, or -1 and +1, of any
numeric type; or uint8 as ``numpy.packbits(bits, axis=1)`` packs them, eight bits a byte, and then ``n_bits`` says how
many there are. ``query_labels`` and ``database_labels`` hold class ids, [n] or [n, 1], or multi-hot rows, [n, labels].
``query_ids`` and ``database_ids`` may name the items, and ``layout`` says what the rows are. Other arrays are not
looked at.

A format is a file of this package (npz, npy, mat, h5, pt); the names of other code bases are data in ``_names``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import _codes, _ids, _labels, _stream
from hashbench.codes.files._find import NamedArray, array_at, find
from hashbench.codes.files._layout import LAYOUTS, Arranged, arrange
from hashbench.codes.files._names import ROLES
from hashbench.codes.files._stored import Stored
from hashbench.codes.files._stream import CodeStream
from hashbench.codes.packed import MAX_BITS, Codes
from hashbench.errors import HashbenchError
from hashbench.files import atomic
from hashbench.relevance.labels import ClassRelevance, Relevance, SharedLabelRelevance

__all__ = ["CodeStream", "Explicit", "SavedCodes", "load", "opened", "save", "stream"]

BIT_ORDERS = ("big", "little")
HELD_BYTES = 128 << 20  # a database that takes more is streamed, if nobody says otherwise


@dataclass(frozen=True)
class SavedCodes:
    """The codes of queries and of a database, the relevance between them, and what was noticed on the way.

    ``notes`` are warnings for a report, one line each: values that were 0, real values that were binarised, a layout
    that was turned, labels of -1. ``query_ids`` and ``database_ids`` name the items, where the file does.
    """

    query: Codes
    database: Codes
    relevance: ClassRelevance | SharedLabelRelevance
    notes: tuple[str, ...] = ()
    query_ids: NDArray[Any] | None = None
    database_ids: NDArray[Any] | None = None

    @property
    def n_database(self) -> int:
        """Number of items in the database."""
        return len(self.database)

    def pieces(self) -> Iterator[tuple[Codes, Relevance]]:
        """The database codes and the relevance of all queries to them: a ``CodeStream`` of one piece."""
        yield self.database, self.relevance

    def ids_in_database(self) -> int | None:
        """The number of queries whose id is that of a database item; None where the file does not name both."""
        if self.query_ids is None or self.database_ids is None:
            return None
        return _ids.count_in(self.query_ids, [self.database_ids])


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
        "query_labels": saved.relevance.query_labels,
        "database_labels": saved.relevance.database_labels,
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
    return _loaded(_arranged(sources, explicit), explicit.bit_order)


def stream(sources: Path | Sequence[Path] = (), *, explicit: Explicit = Explicit()) -> CodeStream:
    """Like ``load``, with the database left in its file, to be read piece by piece.

    Raises HashbenchError too where no piece of the file holds whole items: bits x items, in anything but HDF5.
    """
    return _streamed(_arranged(sources, explicit), explicit.bit_order)


def opened(
    sources: Path | Sequence[Path] = (),
    *,
    explicit: Explicit = Explicit(),
    streamed: bool | None = None,
    training: tuple[str, str] | None = None,
) -> SavedCodes | CodeStream:
    """Codes as ``stream`` gives them, or as ``load`` does, which ``streamed`` decides.

    When it is None, a database is streamed if it would take more than ``HELD_BYTES`` of memory; one that cannot be is
    loaded, with a note. ``training`` names the codes and the labels of training items, each ``FILE`` or ``FILE:KEY``,
    which then stand where the database would.
    """
    found = _arranged(sources, explicit, training)
    database = found.arranged.database
    n_bytes = _held_bytes(found.arranged)
    if streamed or (streamed is None and n_bytes > HELD_BYTES and database.by_rows):
        return _streamed(found, explicit.bit_order)
    if streamed is None and n_bytes > HELD_BYTES:
        note = f"{database.where}: cannot be read item by item, so the whole is in memory: {n_bytes >> 20} MiB"
        found.notes.append(note)
    return _loaded(found, explicit.bit_order)


@dataclass(frozen=True)
class _Sources:
    """The stored arrays, each with its part, before any of their values is read."""

    arranged: Arranged
    ids: Mapping[str, Stored]
    notes: list[str]


def _arranged(sources: Path | Sequence[Path], explicit: Explicit, training: tuple[str, str] | None = None) -> _Sources:
    paths = [sources] if isinstance(sources, Path) else list(sources)
    found = find(paths, {role: getattr(explicit, role) for role in ROLES})
    where = ", ".join(map(str, paths)) or found.roles["query_codes"].where
    n_bits, layout = explicit.bits or _n_bits(found), explicit.layout or _layout(found)
    roles, ids = dict(found.roles), found.ids
    if training is not None:
        for what, place in zip(("codes", "labels"), training, strict=True):
            roles[f"database_{what}"] = array_at(place, f"database_{what}", f"--train-{what}")
        ids = {}
    arranged = arrange(where, roles, n_bits, layout)
    return _Sources(arranged, ids, _turned(where, arranged))


def _loaded(found: _Sources, bit_order: str | None) -> SavedCodes:
    arranged = found.arranged
    query, database, notes = _codes.read(arranged, bit_order)
    relevance, label_notes = _labels.read(arranged.query_labels, arranged.database_labels)
    ids = [_ids.read(found.ids.get(f"{side}_ids"), len(of)) for side, of in (("query", query), ("database", database))]
    return SavedCodes(query, database, relevance, (*found.notes, *notes, *label_notes), *ids)


def _streamed(found: _Sources, bit_order: str | None) -> CodeStream:
    return _stream.opened(found.arranged, found.notes, bit_order, found.ids)


def _held_bytes(arranged: Arranged) -> int:
    """Of a loaded database: packed codes, and labels of eight bytes a class or one byte a label."""
    labels = arranged.database_labels
    return arranged.database.shape[0] * (8 * -(-arranged.n_bits // 64) + (8 if labels.is_ids else labels.width))


def _turned(where: str, arranged: Arranged) -> list[str]:
    notes = [f"{where}: codes are bits x items"] if arranged.turned else []
    return [*notes, f"{where}: labels are labels x items"] if arranged.query_labels.turned else notes


def _check_bits(name: str, n_bits: int) -> int:
    if not 1 <= n_bits <= MAX_BITS:
        raise HashbenchError(f"{name}: {n_bits} bits; 1 to {MAX_BITS} are possible")
    return n_bits


def _n_bits(found: NamedArray) -> int | None:
    stored = found.n_bits
    if stored is None:
        return None
    if stored.shape not in ((), (1,), (1, 1)) or stored.dtype.kind not in "ui":
        raise HashbenchError(f"{stored.where}: {stored.dtype} of shape {stored.shape}: one integer is expected")
    return _check_bits(stored.where, int(stored.small().item()))


def _layout(found: NamedArray) -> str | None:
    stored = found.layout
    if stored is None:
        return None
    text = str(stored.small().item()) if stored.shape == () and stored.dtype.kind in "US" else ""
    if text not in LAYOUTS:
        raise HashbenchError(f"{stored.where}: one of {', '.join(LAYOUTS)} is expected")
    return text
