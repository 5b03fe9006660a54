"""What saved codes tell while they are counted, piece by piece."""

from collections.abc import Iterable, Iterator

from hashbench.codes import Codes
from hashbench.evaluation.diagnostics import CodeDiagnostics, Tally
from hashbench.histogram import Histogram
from hashbench.histogram.self_pairs import Ints, OwnPairs, SameItems
from hashbench.relevance.labels import LabelRelevance


class Inspection:
    """Reads diagnostics, own items of queries and items without a class off the pieces of a database.

    ``own`` [q] is the row of each query in the database (-1: none); with it ``left_out`` leaves these pairs out.
    """

    def __init__(self, query: Codes, own: Ints | None = None) -> None:
        self._tally, self._same = Tally(query.n_bits), SameItems(query)
        self._own = None if own is None else OwnPairs(query, own)
        self.without_class = (0, 0)  # queries and items

    def of(self, pieces: Iterable[tuple[Codes, LabelRelevance]]) -> Iterator[tuple[Codes, LabelRelevance]]:
        """The same pieces; each is read when it is taken."""
        for codes, relevance in pieces:
            self._tally.add(codes)
            self._same.add(codes, relevance)
            if self._own is not None:
                self._own.add(codes, relevance)
            queries, items = relevance.without_class()
            self.without_class = (queries, self.without_class[1] + items)
            yield codes, relevance

    @property
    def diagnostics(self) -> CodeDiagnostics:
        """The diagnostics of the database."""
        return self._tally.diagnostics()

    @property
    def is_same(self) -> bool:
        """Whether the database is the queries themselves, in their order."""
        return self._same.holds

    def left_out(self, counted: Histogram) -> Histogram:
        """The histogram of the pieces without the pairs of a query with itself."""
        return counted if self._own is None else self._own.left_out(counted)
