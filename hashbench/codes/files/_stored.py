"""An array in a file: its shape is known, its values are read piece by piece."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError

SLAB_BYTES = 4 << 20
BOMB_BYTES = 256 << 20
BOMB_RATIO = 250  # deflate shrinks at most 1032 to 1; codes of one bit a float64 shrink 64 to 1

T = TypeVar("T")
Reader = Callable[[int], Iterator[NDArray[Any]]]


@dataclass(frozen=True)
class Stored:
    """One array of a file, in its file's order until it is ``turned``.

    ``where`` is how errors name it, ``name`` its key (or its file's stem), ``file_shape`` the order in which it is
    stored, and ``read(n)`` gives it in pieces of n along the first axis of that; ``read_across(n)`` along the second,
    where a format can.
    """

    where: str
    name: str
    file_shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Reader
    is_turned: bool = False
    read_across: Reader | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, as the array is meant."""
        return self.file_shape[::-1] if self.is_turned else self.file_shape

    @property
    def by_rows(self) -> bool:
        """Whether ``slabs`` are whole rows of ``shape``; else they are whole columns."""
        return not self.is_turned or len(self.file_shape) < 2 or self.read_across is not None

    def turned(self, turn: bool = True) -> "Stored":
        """The transposed array, or, with ``turn`` false, the same."""
        return replace(self, is_turned=self.is_turned != turn)

    def slabs(self) -> Iterator[tuple[tuple[slice, ...], NDArray[Any]]]:
        """The array in pieces of about 4 MiB, each with the place that it takes: rows where that is possible."""
        if prod(self.shape) == 0:
            return
        across = self.read_across if self.is_turned and len(self.file_shape) == 2 else None
        n_lines, *line = self.shape if self.by_rows else self.file_shape
        n_read = max(1, SLAB_BYTES // (prod(line) * self.dtype.itemsize))
        start = 0
        for raw in _faults_named(self.where, (across or self.read)(n_read)):
            piece = self._checked(raw.T if self.is_turned else raw)
            at = slice(start, start + (raw.shape[1] if across else len(raw)))
            start = at.stop
            yield (at,) if self.by_rows else (slice(None), at), piece
        if start != n_lines:
            raise HashbenchError(f"{self.where}: cannot be read: {start} of {n_lines} rows are there")

    def _checked(self, slab: NDArray[Any]) -> NDArray[Any]:
        if slab.dtype.kind == "f" and not np.isfinite(slab).all():
            raise HashbenchError(f"{self.where}: not finite (NaN or inf): finite numbers are expected")
        return slab

    def small(self) -> NDArray[Any]:
        """The whole array, for the few that are small."""
        if prod(self.shape) * self.dtype.itemsize > SLAB_BYTES:
            raise HashbenchError(f"{self.where}: shape {self.shape}: one value is expected")
        whole = np.empty(self.shape, self.dtype)
        for rows in _faults_named(self.where, self.read(max(1, self.file_shape[0] if self.file_shape else 1))):
            whole[...] = rows.T.reshape(self.shape) if self.is_turned else rows.reshape(self.shape)
        return whole


def _faults_named(where: str, pieces: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    try:
        yield from pieces
    except HashbenchError:
        raise
    except Exception as error:  # a damaged file can raise nearly anything inside zipfile, zlib, HDF5 or SciPy
        raise HashbenchError(f"{where}: cannot be read: {first_line(error)}") from None


def first_line(error: Exception) -> str:
    """What an error of a library says, fit for one line."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    shown = "".join(sign if sign.isprintable() else " " for sign in text)
    return shown if len(shown) <= 200 else f"{shown[:200]}..."


def printable(name: str) -> str:
    """A key from a file, fit for one line."""
    shown = name if name.isprintable() else ascii(name)
    return shown if len(shown) <= 60 else f"{shown[:60]}..."


def refuse_bomb(where: str, n_bytes: int, stored_bytes: int) -> None:
    """Raises HashbenchError where few stored bytes would become so many that no codes are like that."""
    if n_bytes > BOMB_BYTES and n_bytes > BOMB_RATIO * stored_bytes:
        raise HashbenchError(
            f"{where}: {stored_bytes} bytes would become {n_bytes}: more than {BOMB_RATIO} to 1 is taken for a bomb; "
            "an array that is really like that can be saved uncompressed"
        )


def numeric(where: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """``dtype``, when it is one of numbers; raises HashbenchError else."""
    if dtype.kind not in "buif":
        raise HashbenchError(f"{where}: not numeric ({printable(str(dtype))}): numbers are expected")
    return dtype


Arrays = Mapping[str, Callable[[], Stored]]  # by key; a header is read when its array is asked for


@dataclass(frozen=True)
class Format:
    """One file format: how it begins, and the arrays in a file of it; ``suffixes`` where no beginning is known."""

    recognises: Callable[[bytes], bool]
    arrays: Callable[[Path], Arrays]
    suffixes: tuple[str, ...] = ()


def quietly(where: str, does: Callable[[], T], otherwise: str = "cannot be read") -> T:
    """``does()``, with whatever goes wrong said in one line about ``where``; a library's warnings stay inside."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return does()
    except HashbenchError:
        raise
    except Exception as error:  # as above
        raise HashbenchError(f"{where}: {otherwise}: {first_line(error)}") from None
