"""The protocol of the user's data: how many queries and training items are drawn."""

from dataclasses import dataclass
from typing import Any

from hashbench.datasets.own.data import OwnLabels
from hashbench.foundation.errors import HashbenchError, printable

NAME = "own"  # of the protocol
MOST_PER_CLASS = 100
MOST_QUERIES = 1000


@dataclass(frozen=True)
class Rule:
    """The numbers of queries and training items: for each class (or label), or of all items; not both."""

    queries_per_class: int | None = None
    train_per_class: int | None = None
    queries: int | None = None
    train: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.counts_all and self.counts_each:
            raise HashbenchError("numbers a class (--queries-per-class, --train-per-class) or of all items: not both")

    @property
    def counts_all(self) -> bool:
        """Whether a number of all items is given."""
        return (self.queries, self.train) != (None, None)

    @property
    def counts_each(self) -> bool:
        """Whether a number for each class is given."""
        return (self.queries_per_class, self.train_per_class) != (None, None)

    def protocol(self, labels: OwnLabels) -> dict[str, Any]:
        """The table of the card that declares the protocol.

        By default a tenth of the smallest class are queries (at most 100 a class), or a tenth of all items (at most
        1,000) if items have several labels, and the whole database is trained on.
        """
        at_random = self.counts_all or (labels.is_multi and not self.counts_each)
        drawn = self._of_all(labels) if at_random else self._of_each(labels)
        return {**drawn, "seed": self.seed}

    def _of_all(self, labels: OwnLabels) -> dict[str, Any]:
        n = len(labels.labels)
        queries = min(MOST_QUERIES, max(1, n // 10)) if self.queries is None else self.queries
        title = f"{queries:,} queries; {_trained(self.train, '')}"
        return {"draw": "random", "title": title, "queries": queries, "train": self.train or 0}

    def _of_each(self, labels: OwnLabels) -> dict[str, Any]:
        each = "label" if labels.is_multi else "class"
        queries = self.queries_per_class
        if queries is None:
            smallest = min(labels.counts)
            if smallest < 2:
                name = printable(labels.name(labels.counts.index(smallest)))
                raise HashbenchError(
                    f"class {name} has 1 item, and a class needs a query and an item to find: leave the class out, or "
                    "draw N queries from all items with --queries N"
                )
            queries = min(MOST_PER_CLASS, max(1, smallest // 10))
        title = f"{queries:,} queries a {each}; {_trained(self.train_per_class, f' a {each}')}"
        numbers = {f"queries_per_{each}": queries, f"train_per_{each}": self.train_per_class or 0}
        return {"draw": f"per_{each}", "title": title, **numbers}


def _trained(train: int | None, a_class: str) -> str:
    return f"{train:,} training items{a_class} in the database" if train else "the whole database is trained on"
