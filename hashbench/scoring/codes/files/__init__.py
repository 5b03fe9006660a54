"""Reads codes and labels from the files of ``save`` and of other code: a module a format, see docs/evaluation.md."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.scoring.codes.files import _codes
from hashbench.scoring.codes.files._find import (
    FORMATS,
    IDS,
    LAYOUT,
    N_BITS,
    NAMINGS,
    ROLES,
    SUFFIXES,
    array_at,
    arrays_in,
    attributes_of,
    files_of,
    find,
    parted,
)
from hashbench.scoring.codes.files._labels import Ids
from hashbench.scoring.codes.files._labels import checked_ids as checked_item_ids
from hashbench.scoring.codes.files._labels import rows_of as rows_of_ids
from hashbench.scoring.codes.files._layout import CODE_ROLES, LABEL_ROLES, LAYOUTS, arrange, is_text
from hashbench.scoring.codes.files._saved import SavedCodes, UnreadCodes, regrouped
from hashbench.scoring.codes.files._stored import Arrays, StoredArray
from hashbench.scoring.codes.packed import MAX_BITS, Codes, magnitudes
from hashbench.scoring.relevance.neighbours import NeighbourRelevance, checked_ids

__all__ = [
    "BIT_WEIGHTS",
    "CODE_ROLES",
    "FORMATS",
    "IDS",
    "LABEL_ROLES",
    "NAMINGS",
    "QUERY_ACTIVATIONS",
    "SUFFIXES",
    "Arrays",
    "Explicit",
    "Ids",
    "SavedCodes",
    "StoredArray",
    "array_at",
    "arrays_in",
    "attributes_of",
    "file_meant",
    "files_of",
    "ids_in",
    "is_whole",
    "load",
    "load_codes",
    "load_database",
    "load_ids",
    "load_with_neighbours",
    "names_in",
    "parted",
    "regrouped",
    "rows_of_ids",
    "save",
    "shape_of",
    "weights_at",
]

BIT_WEIGHTS = "bit_weights"  # the array of learned weights, float64[bits], in a file of codes
QUERY_ACTIVATIONS = "query_activations"  # and that of the activations of the queries, float32[q, bits]
K = 10  # of the neighbours in a file count, where nothing else is said

Sources = Path | Sequence[Path]


@dataclass(frozen=True)
class Explicit:
    """The user's description of the files, used in place of what names, lengths and padding suggest."""

    places: Mapping[str, str] = field(default_factory=dict)  # of arrays by role: FILE or FILE:KEY
    bits: int | None = None  # of packed codes
    bit_order: Literal["big", "little"] | None = None  # the bit of a byte that comes first: little in faiss
    layout: Literal["items-by-bits", "bits-by-items"] | None = None

    def __post_init__(self) -> None:
        if self.bits is not None:
            _check_bits("--layout", self.bits)


def is_whole(source: Path, with_labels: bool = True) -> bool:
    """True where ``source`` alone, a file or a folder, holds codes and labels of queries and database."""
    roles = ROLES if with_labels else CODE_ROLES
    try:
        find([source], {}, roles)
    except HashbenchError:
        return False
    return True


def save(path: Path, saved: SavedCodes) -> None:
    """Writes codes (uint8 of 0 and 1, items x bits), labels and ids to the .npz ``path``, whole or not at all."""
    arrays = {
        "query_codes": saved.query.bits(),
        "database_codes": saved.database.bits(),
        "query_labels": saved.labels[0],
        "database_labels": saved.labels[1],
        "query_ids": saved.query_ids,
        "database_ids": saved.database_ids,
        "n_bits": saved.query.n_bits,
        "layout": LAYOUTS[0],
        **saved.beside,
    }
    write_arrays(path, {name: array for name, array in arrays.items() if array is not None})


def load(sources: Sources = (), *, explicit: Explicit = Explicit(), with_ids: bool = True) -> SavedCodes:
    """The codes and labels in ``sources``: one file, several, or a folder of files named as a code base names them.

    A value > 0 sets its bit; other decisions are in the ``notes`` of the result. The memory needed is for the packed
    codes, the labels and a few MiB. Raises HashbenchError for anything that is not codes and labels, and where codes
    may be items x bits or bits x items. Nothing is ever unpickled.
    """
    return _open(sources, explicit, with_ids=with_ids).load()


def load_codes(sources: Sources = (), *, explicit: Explicit = Explicit()) -> tuple[Codes, Codes, list[str]]:
    """The query codes and the database codes, read as ``load`` reads them but without labels or ids, and notes."""
    stored = _open(sources, explicit, with_labels=False)
    (query, database), notes = stored.read_codes()
    return query, database, stored.notes + notes


def load_database(place: str, *, explicit: Explicit = Explicit()) -> tuple[Codes, list[str]]:
    """The codes of the database at ``place``, FILE or FILE:KEY, and notes; real values are refused, as no codes.

    Without KEY they are those that ``load_codes`` finds, else the only array of the file, or the only one that is named
    as the codes of a database are.
    """
    path, key = parted(place)
    if key is None and is_whole(path, with_labels=False):  # the queries show which axis counts the bits
        _refuse_vectors(find([path], {}, CODE_ROLES)["database_codes"])
        _, database, notes = load_codes(path, explicit=explicit)
        return database, notes
    beside = {name: array() for name, array in arrays_in(path).items() if name in (N_BITS, LAYOUT)}
    stored = array_at(place, "database_codes", "it as ")
    _refuse_vectors(stored)
    n_bits = _n_bits(beside.get(N_BITS), explicit)
    layout = explicit.layout or _layout(beside.get(LAYOUT))
    codes = arrange(stored.where, dict.fromkeys(CODE_ROLES, stored), n_bits, layout)
    (database,), notes = _codes.read(codes.sides[1:], codes.n_bits, explicit.bit_order)
    return database, notes


def _refuse_vectors(stored: StoredArray) -> None:
    """Raises HashbenchError for floats other than 0, 1 and -1: nothing says that their signs are meant."""
    if stored.dtype.kind != "f":
        return
    for _, slab in stored.slabs():
        others = slab[(slab != 0) & (np.abs(slab) != 1)]
        if others.size:
            advice = "hashbench encode RUN FILE makes codes of vectors; the codes of activations are activations > 0"
            raise HashbenchError(f"{stored.where}: {others[0]:g} is in it, and is no bit: {advice}")


def ids_in(path: Path, n_items: int) -> Ids | None:
    """The ids of the ``n_items`` items of the database that the file at ``path`` has; None if it has none."""
    arrays = arrays_in(path)
    if IDS[1] not in arrays:
        return None
    return checked_item_ids(arrays[IDS[1]](), n_items)


def names_in(path: Path, n_items: int) -> NDArray[np.str_] | None:
    """The ``names`` of the ``n_items`` items in the file at ``path``, as ``hashbench encode`` writes them; or None."""
    arrays = arrays_in(path)
    if "names" not in arrays:
        return None
    stored = arrays["names"]()
    if stored.shape != (n_items,) or stored.dtype.kind != "U":
        return None
    return stored.whole()


def file_meant(source: str) -> Path | None:
    """The file that ``source``, a FILE or the name of a run, means; None for a run, whose name ends in no suffix."""
    path = Path(source)
    if path.is_file() or os.sep in source or path.suffix in SUFFIXES:
        return path
    return None


def load_with_neighbours(
    sources: Sources, place: str, *, k: int | None = None, explicit: Explicit = Explicit()
) -> SavedCodes:
    """The codes and ids, without labels: relevant to a query are the first ``k`` items that ``place`` lists.

    ``place`` is FILE or FILE:KEY; it has a row of the database for each query and
    neighbour, the nearest first, -1 for none. ``k`` None is 10, or all where there are fewer.
    """
    saved = _open(sources, explicit, with_labels=False)
    stored = array_at(place, "neighbours", "--neighbours ")
    (query, database), notes = saved.read_codes()
    listed = checked_ids(stored.where, stored.whole(), len(query), len(database))
    if k is not None and k > listed.shape[1]:
        raise HashbenchError(f"--k {k}: {stored.where} has {listed.shape[1]} neighbours of each query")
    ids = listed[:, : k or K]
    about = f"{stored.where}: relevant are the first {ids.shape[1]} of {listed.shape[1]} neighbours of each query"
    relevance = NeighbourRelevance(ids, len(database))
    return SavedCodes(query, database, relevance, (*saved.notes, *notes, about), *saved.whole_ids())


def load_ids(sources: Sources = (), *, explicit: Explicit = Explicit()) -> tuple[Ids | None, Ids | None]:
    """The ids of the queries and of the database, of codes that need no labels; None for a side without."""
    return _open(sources, explicit, with_labels=False).whole_ids()


def weights_at(place: str, query: Codes) -> NDArray[Any]:
    """The weights of the bits, [n_bits], at ``place``: FILE or FILE:KEY.

    Activations [q, n_bits], of which ``query`` are the signs, give weights [q, n_bits]: their absolute values.
    """
    n_bits = query.n_bits
    stored = array_at(place, BIT_WEIGHTS, "--weights ")
    if stored.shape == (len(query), n_bits) and len(query) > 1 and stored.dtype.kind == "f":
        with retold(lambda fault: f"{stored.where}: {fault}", HashbenchError):
            return magnitudes(stored.whole(), query)
    if stored.shape not in ((n_bits,), (1, n_bits), (n_bits, 1)) or stored.dtype.kind not in "uif":
        raise HashbenchError(f"{stored.where}: {stored.dtype} of shape {stored.shape}: {n_bits} weights are expected")
    weights = stored.small().ravel()  # of their own type, which says how many of their digits are meant
    if (weights < 0).any() or not (weights > 0).any():
        raise HashbenchError(f"{stored.where}: weights must be finite, 0 or more, and not all 0")
    return weights


def shape_of(sources: Sources, *, explicit: Explicit) -> tuple[int, int]:
    """(items, bits) of the database that ``load`` would read; no values are read."""
    codes = _open(sources, explicit).codes
    return codes.sides[1].shape[0], codes.n_bits


def _open(
    sources: Sources,
    explicit: Explicit,
    *,
    with_ids: bool = True,
    with_labels: bool = True,
) -> UnreadCodes:
    paths = [sources] if isinstance(sources, Path) else list(sources)
    needed = ROLES if with_labels else CODE_ROLES
    arrays = find(paths, explicit.places, needed)
    where = ", ".join(map(str, paths)) or arrays["query_codes"].where
    ids = [arrays.get(name) for name in IDS]
    if explicit.places.keys() & set(IDS) and None in ids:
        only = IDS[ids[0] is None]
        raise HashbenchError(f"{where}: query_ids and database_ids go together: only {only} is there")
    roles = {role: arrays[role] for role in needed}
    n_bits = _n_bits(arrays.get(N_BITS), explicit)
    codes = arrange(where, roles, n_bits, explicit.layout or _layout(arrays.get(LAYOUT)))
    notes = []
    if codes.transposed:
        notes.append(f"{where}: codes are bits x items")
    if any(labels.transposed for labels in codes.labels):
        notes.append(f"{where}: labels are labels x items")
    if not with_ids:
        ids = [None, None]
    return UnreadCodes(codes, ids, notes, explicit.bit_order)


def _n_bits(beside: StoredArray | None, explicit: Explicit) -> int | None:
    """The code length that the user or the array ``beside`` the codes says; else None."""
    if explicit.bits is None and beside is not None:
        return _check_bits(beside.where, beside.integer())
    return explicit.bits


def _check_bits(name: str, n_bits: int) -> int:
    if not 1 <= n_bits <= MAX_BITS:
        raise HashbenchError(f"{name}: {n_bits} bits; 1 to {MAX_BITS} are possible")
    return n_bits


def _layout(stored: StoredArray | None) -> str | None:
    if stored is None:
        return None
    is_a_text = stored.shape == () and is_text(stored)
    if not is_a_text or (layout := str(stored.small().item())) not in LAYOUTS:
        raise HashbenchError(f"{stored.where}: one of {', '.join(LAYOUTS)} is expected")
    return layout
