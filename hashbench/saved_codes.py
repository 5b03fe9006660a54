"""Codes and labels in one .npz file: what ``hashbench encode`` writes and ``hashbench eval`` reads.

``query_codes`` and ``database_codes`` hold items x bits: 0 and 1, or -1 and +1, of any numeric type; or uint8 as
``numpy.packbits(bits, axis=1)`` packs them, eight bits a byte, and then ``n_bits`` says how many there are.
``query_labels`` and ``database_labels`` hold class ids, [n] or [n, 1], or multi-hot rows of 0 and 1, [n, labels].
Other arrays in the file are not looked at.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench import affinity, codes
from hashbench.affinity import ClassAffinity, Labels, SharedLabelAffinity
from hashbench.codes import MAX_BITS, Codes
from hashbench.errors import HashbenchError
from hashbench.files import atomic

REQUIRED = ("query_codes", "database_codes", "query_labels", "database_labels")

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class SavedCodes:
    """The codes of queries and of a database, and the affinity between them."""

    query: Codes
    database: Codes
    affinity: ClassAffinity | SharedLabelAffinity


def save(path: Path, saved: SavedCodes) -> None:
    """Writes codes (uint8 of 0 and 1, items x bits) and labels to ``path``, whole or not at all."""
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(
            file,
            query_codes=saved.query.bits(),
            database_codes=saved.database.bits(),
            query_labels=saved.affinity.query_labels,
            database_labels=saved.affinity.database_labels,
        )


def load(path: Path) -> SavedCodes:
    """The codes and labels in the file at ``path``.

    Raises HashbenchError, naming the file, the array and what would be right, for anything else than this module
    describes. Nothing is unpickled.
    """
    try:
        return _interpret(_read(path))
    except HashbenchError as error:
        raise HashbenchError(f"{path}: {error}") from None


def _read(path: Path) -> dict[str, NDArray[Any]]:
    if not path.is_file():
        raise HashbenchError("no such file")
    try:
        # opened here, because np.load forgets to close what turns out to be no archive
        with path.open("rb") as file:
            return _arrays(np.load(file, allow_pickle=False))
    except HashbenchError:
        raise
    except Exception as error:  # a damaged file can raise nearly anything inside zipfile, zlib or NumPy
        raise HashbenchError(f"not a readable .npz file: {_first_line(error)}") from None


def _arrays(archive: Any) -> dict[str, NDArray[Any]]:
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise HashbenchError(f"one array, not an .npz file with {', '.join(REQUIRED)}")
    with archive:
        missing = [key for key in REQUIRED if key not in archive]
        if missing:
            found = ", ".join(archive.files) or "nothing"
            raise HashbenchError(f"{missing[0]} is missing: the file must hold {', '.join(REQUIRED)}; it holds {found}")
        return {key: _member(archive, key) for key in (*REQUIRED, "n_bits") if key in archive}


def _member(archive: Any, key: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = archive[key]
    except Exception as error:  # as above; also an array of Python objects, which only pickle could read
        raise HashbenchError(f"{key}: cannot be read: {_first_line(error)}") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "buif":
        raise HashbenchError(f"{key}: not numeric ({getattr(array, 'dtype', 'bytes')}): numbers are expected")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise HashbenchError(f"{key}: not finite (NaN or inf): finite numbers are expected")
    return array


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _interpret(arrays: Arrays) -> SavedCodes:
    n_bits = _n_bits(arrays["n_bits"]) if "n_bits" in arrays else None
    query, database = (_codes(key, arrays[key], n_bits) for key in ("query_codes", "database_codes"))
    if query.n_bits != database.n_bits:
        raise HashbenchError(
            f"query_codes has {query.n_bits} bits and database_codes {database.n_bits}: they must agree"
        )
    labels = [_labels(f"{side}_labels", arrays, len(of)) for side, of in (("query", query), ("database", database))]
    return SavedCodes(query, database, affinity.from_labels(*labels))


def _n_bits(value: NDArray[Any]) -> int:
    if value.size != 1 or value.dtype.kind not in "ui":
        raise HashbenchError(f"n_bits: {value.dtype} of shape {value.shape}: one integer is expected")
    n_bits = int(value.item())
    if not 1 <= n_bits <= MAX_BITS:
        raise HashbenchError(f"n_bits: {n_bits} bits; 1 to {MAX_BITS} are possible")
    return n_bits


def _codes(key: str, array: NDArray[Any], n_bits: int | None) -> Codes:
    if array.ndim != 2:
        raise HashbenchError(f"{key}: shape {array.shape} is not items x bits")
    rows, width = array.shape
    if rows == 0 or not 1 <= width <= MAX_BITS:
        raise HashbenchError(
            f"{key}: {rows} items of {width} bits; at least 1 item and 1 to {MAX_BITS} bits are expected"
        )
    if n_bits is None or (width == n_bits and array.max() <= 1):
        return codes.pack(_two_valued(key, array) > 0)
    if array.dtype != np.uint8 or width != -(-n_bits // 8):
        raise HashbenchError(
            f"{key}: {array.dtype} of width {width} does not hold n_bits = {n_bits}: "
            f"{n_bits} columns of 0 and 1, or uint8 of width {-(-n_bits // 8)} as numpy.packbits makes, would"
        )
    return codes.pack(_unpack(key, array, n_bits))


def _two_valued(key: str, array: NDArray[Any]) -> NDArray[Any]:
    ones = array == 1
    if (ones | (array == 0)).all() or (ones | (array == -1)).all():
        return array
    wrong = array[~(ones | (array == 0) | (array == -1))]
    found = f"{wrong[0]} is" if wrong.size else "-1, 0 and 1 are"
    raise HashbenchError(
        f"{key}: {found} in it; 0 and 1, or -1 and +1, are expected (and n_bits beside them when they are packed)"
    )


def _unpack(key: str, packed: NDArray[np.uint8], n_bits: int) -> NDArray[np.uint8]:
    bits = np.unpackbits(packed, axis=1)
    if bits[:, n_bits:].any():
        raise HashbenchError(
            f"{key}: bits beyond n_bits = {n_bits} are set: pack with numpy.packbits(bits, axis=1), highest bit first"
        )
    return bits[:, :n_bits]


def _labels(key: str, arrays: Arrays, n_items: int) -> Labels:
    array = arrays[key]
    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise HashbenchError(f"{key}: shape {array.shape} is neither class ids [n] nor multi-hot [n, labels]")
    if len(array) != n_items:
        codes_key = key.replace("labels", "codes")
        raise HashbenchError(f"{key}: {len(array)} rows, {codes_key} has {n_items}: one row a code is expected")
    other = arrays["database_labels" if key == "query_labels" else "query_labels"]
    if array.shape[1:] != other.shape[1:] and max(prod(array.shape[1:]), prod(other.shape[1:])) > 1:
        raise HashbenchError(
            f"{key}: shape {array.shape} beside {other.shape}: both must be class ids [n] or both multi-hot [n, labels]"
        )
    if array.ndim == 2 and array.shape[1] > 1:
        return _multi_hot(key, array)
    return _ids(key, array.reshape(n_items))


def _multi_hot(key: str, array: NDArray[Any]) -> Labels:
    if not ((array == 0) | (array == 1)).all():
        raise HashbenchError(f"{key}: multi-hot labels [n, labels] are 0 or 1; others are in it")
    return array.astype(np.uint8)


def _ids(key: str, array: NDArray[Any]) -> Labels:
    with np.errstate(invalid="ignore"):  # a float that no int64 holds turns into another number, and is seen below
        ids = array.astype(np.int64)
    if not (ids == array).all() or (array.dtype.kind == "u" and (ids < 0).any()):
        raise HashbenchError(f"{key}: class ids are whole numbers that fit 64 bits; others are in it")
    return ids
