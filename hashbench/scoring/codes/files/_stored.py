"""An array in a file: its shape is known, its values are read in slabs of a few MiB."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.foundation.parallel import slices

SLAB_BYTES = 4 << 20
BOMB_BYTES = 256 << 20
BOMB_RATIO = 250  # deflate shrinks at most 1032 to 1; codes of one bit a float64 shrink 64 to 1

Read = Callable[[int], Iterator[NDArray[Any]]]


@dataclass(frozen=True)
class StoredArray:
    """One array of a file, called ``where`` in errors and ``name`` by its key, whose values are read on demand."""

    where: str
    name: str
    file_shape: tuple[int, ...]  # as the file stores it
    dtype: np.dtype[Any]
    read: Read  # so many rows at a time
    is_transposed: bool = False
    packed_bits: int | None = None  # of an item of packed codes, in a format that holds nothing else

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array, transposed where ``is_transposed`` says so."""
        if self.is_transposed:
            return self.file_shape[::-1]
        return self.file_shape

    @property
    def by_rows(self) -> bool:
        """True where ``slabs`` are whole rows of ``shape``; else they are whole columns."""
        return not self.is_transposed or len(self.file_shape) < 2

    def transposed(self, transpose: bool = True) -> "StoredArray":
        """The transposed array, or, with ``transpose`` false, the same."""
        return replace(self, is_transposed=self.is_transposed != transpose)

    def slabs(self) -> Iterator[tuple[tuple[slice, ...], NDArray[Any]]]:
        """(position, values) of slabs of about 4 MiB, rows if possible, else columns; HashbenchError where damaged."""
        if prod(self.shape) == 0:
            return
        n_lines, *line = self.file_shape or (1,)
        n_read = max(1, SLAB_BYTES // max(1, prod(line) * self.dtype.itemsize))
        start = 0
        with retold(lambda cause: f"{self.where}: cannot be read: {printable(cause, 200)}"):
            for slab in self.read(n_read):
                if slab.dtype.kind == "f" and not np.isfinite(slab).all():
                    raise HashbenchError(f"{self.where}: not finite (NaN or inf): finite numbers are expected")
                if self.is_transposed:
                    slab = slab.T  # noqa: PLW2901  (a view of the same values)
                if self.by_rows:
                    lines = slice(start, start + len(slab))
                    yield (lines,), slab
                else:
                    lines = slice(start, start + slab.shape[-1])
                    yield (*[slice(None)] * (slab.ndim - 1), lines), slab
                start = lines.stop
        if start != n_lines:
            raise HashbenchError(f"{self.where}: cannot be read: {start} of {n_lines} rows are there")

    def row_slabs(self) -> Iterator[NDArray[Any]]:
        """Slabs of whole rows; the whole array at once where the file does not store it row by row."""
        if self.by_rows:
            yield from (slab for _, slab in self.slabs())
        else:
            yield self.whole()

    def whole(self, dtype: DTypeLike | None = None, order: Literal["C", "F"] = "C") -> NDArray[Any]:
        """The array in memory, of its own type in native byte order or of ``dtype``; F is faster for columns."""
        array = np.empty(self.shape or (1,), dtype or self.dtype.newbyteorder("="), order)
        for at, slab in self.slabs():
            array[at] = slab
        return array.reshape(self.shape)

    def small(self) -> NDArray[Any]:
        """The array in memory; raises HashbenchError where it takes more than 4 MiB."""
        if prod(self.shape) * self.dtype.itemsize > SLAB_BYTES:
            raise HashbenchError(f"{self.where}: shape {self.shape}: one value is expected")
        return self.whole()

    def integer(self) -> int:
        """The one integer in the array; raises HashbenchError where it is anything else."""
        if self.shape not in ((), (1,), (1, 1)) or self.dtype.kind not in "ui":
            raise HashbenchError(f"{self.where}: {self.dtype} of shape {self.shape}: one integer is expected")
        return int(self.small().item())


def in_memory(where: str, name: str, array: NDArray[Any], packed_bits: int | None = None) -> StoredArray:
    """An array whose values are in memory already."""
    rows = array.reshape(array.shape or (1,))

    def parts(n: int) -> Iterator[NDArray[Any]]:
        return (rows[part] for part in slices(len(rows), n))

    return StoredArray(where, name, array.shape, array.dtype, parts, packed_bits=packed_bits)


Arrays = Mapping[str, Callable[[], StoredArray]]  # by key; calling one reads the array's header


def refuse_bomb(where: str, n_bytes: int, stored_bytes: int) -> None:
    """Raises HashbenchError where few stored bytes would become so many that no codes are like that."""
    if n_bytes > BOMB_BYTES and n_bytes > BOMB_RATIO * stored_bytes:
        advice = "an array that is really like that can be saved uncompressed"
        bomb = f"more than {BOMB_RATIO} to 1 is taken for a bomb; {advice}"
        raise HashbenchError(f"{where}: {stored_bytes} bytes would become {n_bytes}: {bomb}")
