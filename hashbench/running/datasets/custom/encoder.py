"""An encoder gives items their codes and finds the nearest of those that were encoded before."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.arguments import checked_arguments
from hashbench.foundation.array_like import as_array
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import note
from hashbench.running.datasets.custom.from_python import array_of
from hashbench.scoring.codes.packed import Codes, pack

if TYPE_CHECKING:
    from hashbench.scoring.codes.search import SearchResult


@dataclass(frozen=True)
class ItemForm:
    """An item as a hash function takes it: its shape, its largest value if that is stated, and names of classes."""

    shape: tuple[int, ...]
    value_max: int | None
    class_names: Sequence[str] = ()


class Encoder(ABC):
    """A hash function with the form of the items that it takes."""

    @property
    @abstractmethod
    def form(self) -> ItemForm:
        """The form of an item."""

    @property
    @abstractmethod
    def n_bits(self) -> int:
        """The number of bits of a code."""

    @abstractmethod
    def codes_of(self, items: NDArray[Any]) -> Codes:
        """The packed codes of one or more ``items`` [n, ...], which have the form."""

    def codes(self, items: Any) -> Codes:
        """The packed codes of ``items``, as ``encode`` takes them."""
        array = array_of(items, self.form.shape, self.form.value_max)
        if not len(array):
            return pack(np.zeros((0, self.n_bits), np.uint8))
        return self.codes_of(array)

    @abstractmethod
    def database(self) -> Codes:
        """The codes that are searched where none are given; HashbenchError if there are none."""

    def encode(self, items: Any) -> NDArray[np.uint8]:
        """The codes of ``items``, uint8 [n, bits] of 0 and 1, as ``hashbench encode`` writes them.

        ``items`` are an array, a tensor or a list [n, ...] as the data set of the run has them, images [n, height,
        width, channels] or features [n, d], with values from 0 to its largest one, if it states one; or paths: of an
        image, of a folder, of a file of arrays, or a list of images. HashbenchError for others.
        """
        return self.codes(items).bits()

    @checked_arguments
    def search(self, query: Any, k: int = 10, database: Any = None) -> "SearchResult":
        """The ``k`` items of the ``database`` that are nearest to each query by Hamming distance, all with the ties.

        ``query`` is what ``encode`` takes. ``database`` are codes that ``encode`` gave, [n, bits], or the path of a
        file of codes, as ``hashbench encode`` writes it; None: the run's own.
        The ``arrays`` of the result are ``ids`` and ``distances`` [q, k], and the ranks that each item may take,
        ``first`` to ``last``.
        """
        from hashbench.scoring.codes.search import search  # encoding needs none of it

        codes = self.codes(query)
        if database is None:
            return search(codes, self.database(), k)
        return search(codes, self._read(database), k)

    def _read(self, database: Any) -> Codes:
        """The codes in ``database``: bits [n, bits], or the path of a file of codes."""
        if isinstance(database, str | PathLike):
            from hashbench.scoring.codes.files import Explicit, load_database

            codes, notes = load_database(str(database), explicit=Explicit(bits=self.n_bits, layout="items-by-bits"))
            for line in notes:
                note(f"note: {line}")
            return codes
        bits = as_array("database", database)
        if bits.dtype.kind not in "bui" or bits.shape[1:] != (self.n_bits,) or not np.isin(bits, (0, 1)).all():
            expected = f"bits of 0 and 1 are expected, [n, {self.n_bits}], as encode gives them, or a file of codes"
            advice = f"numpy.unpackbits(database, axis=1, count={self.n_bits}) unpacks bytes"
            raise HashbenchError(f"database: {bits.dtype} of shape {bits.shape}: {expected}; {advice}")
        return pack(bits)
