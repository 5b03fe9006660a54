"""The sum of what shards gave."""

from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from hashbench.evaluation.diagnostics import Tally
from hashbench.foundation.config import Strict
from hashbench.histogram import Histogram
from hashbench.shards._shard import Shard
from hashbench.shards._task import Counts, Seen

Count = Annotated[int, Field(ge=0)]


class Entry(Strict):
    """A shard that was counted: its name at that time, what it is (``Seen``), its items, and notes about them."""

    file: str
    sha256: list[str]
    keys: list[str]
    items: Annotated[int, Field(ge=1)]
    without_class: list[Count]  # queries and items
    notes: list[str]

    @property
    def identity(self) -> tuple[str, ...]:
        """As ``Seen.identity``."""
        return *self.sha256, *self.keys

    @staticmethod
    def of(shard: Shard, seen: Seen, counts: Counts) -> "Entry":
        """The entry of a shard that was counted just now."""
        return Entry(
            file=str(shard),
            sha256=list(seen.sha256),
            keys=list(seen.keys),
            items=seen.n_items,
            without_class=list(counts.without_class),
            notes=list(counts.notes),
        )


@dataclass(frozen=True)
class Total:
    """The histogram and the tally of all shards in ``entries``, against the queries with this digest.

    ``pending`` are the identities of the shards that an unfinished --append adds.
    """

    histogram: Histogram
    tally: Tally
    query_sha256: str
    entries: tuple[Entry, ...]
    pending: frozenset[tuple[str, ...]] = frozenset()

    @property
    def n_items(self) -> int:
        """The items of all shards."""
        return sum(entry.items for entry in self.entries)

    @property
    def without_class(self) -> tuple[int, int]:
        """The queries and the items that have no class, or no label."""
        return self.entries[0].without_class[0], sum(entry.without_class[1] for entry in self.entries)

    @property
    def identities(self) -> dict[tuple[str, ...], Entry]:
        """The entries by what the shards are."""
        return {entry.identity: entry for entry in self.entries}

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes about all shards, each once."""
        return tuple(dict.fromkeys(note for entry in self.entries for note in entry.notes))

    @staticmethod
    def of(entry: Entry, counts: Counts) -> "Total":
        """The total of one shard."""
        return Total(counts.histogram, counts.tally, counts.query_sha256, (entry,))

    def with_(self, entry: Entry, counts: Counts) -> "Total":
        """The total with one more shard."""
        self.tally.merge(counts.tally)
        return replace(self, histogram=self.histogram.joined(counts.histogram), entries=(*self.entries, entry))
