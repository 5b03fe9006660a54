"""A database read piece by piece, for one that does not fit into memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from hashbench.affinity import ClassAffinity, SharedLabelAffinity
from hashbench.codes import Codes
from hashbench.errors import HashbenchError
from hashbench.saved_codes._codes import Census, Packed, interpret, order_of
from hashbench.saved_codes._layout import Arranged
from hashbench.saved_codes._stored import Stored


@dataclass
class CodeStream:
    """Query codes, all labels, and database codes that are read whenever ``blocks`` is gone through.

    ``notes`` are complete after the last block.
    """

    query: Codes
    affinity: ClassAffinity | SharedLabelAffinity
    n_database: int
    notes: list[str]
    _arranged: Arranged = field(repr=False)
    _query_census: Census | None = field(repr=False)
    _bit_order: str = field(repr=False)

    def blocks(self) -> Iterator[tuple[slice, Codes]]:
        """The database codes, some thousands at a time, each with the rows they are.

        Raises HashbenchError like ``load``; what is wrong with the values as a whole is known after the last block,
        so a number must not be given out before this ends.
        """
        stored, n_bits = self._arranged.database, self._arranged.n_bits
        census = Census(stored.where)
        for (rows, *_), slab in stored.slabs():
            packed = Packed.empty(stored, n_bits, len(slab))
            packed.census = census
            packed.add((slice(None),), slab)
            finish(packed, self._bit_order)
            yield rows, packed.codes()
        counted = [one for one in (self._query_census, census) if one is not None and one.n_values]
        self.notes += [note for note in interpret(counted) if note not in self.notes]


def finish(packed: Packed, bit_order: str) -> None:
    """Puts packed bytes into our order of bits; raises HashbenchError where their padding contradicts it."""
    if packed.is_packed:
        order_of(packed.census.where, packed.n_bits, packed.last_byte(), bit_order)
        if bit_order == "big":
            packed.reverse()


def require_rows(stored: Stored) -> None:
    """Raises HashbenchError where items do not lie one after another in the file."""
    if stored.is_turned:
        raise HashbenchError(
            f"{stored.where}: bits x items in the file cannot be read item by item: save items x bits, or read it whole"
        )
