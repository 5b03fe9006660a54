"""The way from codes to scores: ``score``, ``ScoreAccumulator``, ``hashbench eval`` and ``compare`` all go it."""

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.arguments import checked_arguments
from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.codes.values import interpret
from hashbench.scoring.evaluation import arrays
from hashbench.scoring.evaluation.arrays import BitOrder
from hashbench.scoring.evaluation.diagnostics import Tally
from hashbench.scoring.evaluation.scores import Empty, Evidence, Scores
from hashbench.scoring.histogram import Histogram, ranking, self_pairs, ties
from hashbench.scoring.histogram.counting import AnyCodes, counter, on_cpu
from hashbench.scoring.histogram.counts import Counter, Ints
from hashbench.scoring.histogram.device import for_arrays, for_pairs
from hashbench.scoring.histogram.self_pairs import SelfPairs
from hashbench.scoring.histogram.ties import Policy
from hashbench.scoring.metrics import Metrics, evaluate_with_extremes
from hashbench.scoring.relevance import neighbours as neighbour_lists
from hashbench.scoring.relevance.neighbours import NeighbourRelevance, PairRelevance

if TYPE_CHECKING:
    from hashbench.scoring.codes.files import SavedCodes

DEFAULT = ("ap", "ndcg", "precision@r2")
DEFAULT_WEIGHTED = ("ap", "ndcg")
SAME_ARRAY = (
    "query_codes is database_codes: each item counts as its own nearest neighbour; exclude_self=True leaves it out, "
    "exclude_self=False keeps it without this warning"
)
NOT_SAME = (
    "exclude_self=True: query and database are not the same items in the same order: give the database row of each "
    "query, exclude_self=rows, -1 for a query that is no item"
)
LABELS_OR_NEIGHBOURS = (
    "neighbours and labels: give either query_labels and database_labels, or neighbours=ids, the rows of the nearest "
    "items of each query"
)
NO_OWN_ROWS = (
    "--exclude-self: nothing says which database item a query is: save query_ids and database_ids, or name them with "
    "--query-ids and --database-ids; without ids, queries and database must be the same items in the same order"
)


class Scorer:
    """Scores ``query`` codes against a database that comes in pieces; the options are those of ``score``."""

    def __init__(
        self,
        query: AnyCodes,
        metrics: Metrics = Metrics(),  # noqa: B008  (immutable; without metrics it only counts)
        *,
        ties: Policy = "expected",
        empty: Empty = "skip",
        exclude_self: bool | Ints = False,  # True: the database is the queries in their order; or their rows, -1 none
        weights: NDArray[Any] | None = None,
        device: str = "cpu",  # or "cuda:N"
        n_items: int | None = None,  # for the choice of the kernel and the progress bar
        inspect: bool = False,  # also collect what ``Evidence`` tells about the codes themselves
        progress: bool = False,
    ) -> None:
        if weights is not None:
            metrics.refuse_radii("weighted distances do")
        self.query = query
        self.metrics = metrics
        self.ties = ties
        self.empty = empty
        self.weights = weights
        self.own_rows: Ints | None = None
        if exclude_self is True:
            self.own_rows = np.arange(len(query))
        elif exclude_self is not False:
            self.own_rows = exclude_self
        self._must_be_same = exclude_self is True
        self._n_expected = n_items
        self._progress = progress
        self._needs_whole = ties == "order" or weights is not None
        self._whole: tuple[AnyCodes, PairRelevance] | None = None
        self._counter: Counter | None = None
        if weights is None or inspect:
            self._counter = counter(query, device=device, n_items=n_items)
        self._tally: Tally | None = None
        if inspect:
            self._tally = Tally(query.shape[1])
        self._without_class = (0, 0)
        self._pairs: SelfPairs | None = None
        if inspect or self.own_rows is not None:
            self._pairs = SelfPairs(on_cpu(query), self.own_rows)
        self._evidence: Evidence | None = None

    @classmethod
    def of_saved(
        cls,
        saved: "SavedCodes",
        metrics: Metrics = Metrics(),  # noqa: B008
        *,
        ties: Policy = "expected",
        empty: Empty = "skip",
        exclude_self: bool = False,
        weights: NDArray[Any] | None = None,
        device: str = "auto",
        progress: bool = True,
    ) -> "Scorer":
        """The scorer of saved codes, counted and inspected; with ``exclude_self`` a query is found by its id or row."""
        rows = None
        if exclude_self:
            rows = saved.rows_in_database()
        n_queries = len(saved.query)
        by_row = exclude_self and rows is None
        if by_row and n_queries != saved.n_database:
            raise HashbenchError(NO_OWN_ROWS)
        scorer = cls(
            saved.query,
            metrics,
            ties=ties,
            empty=empty,
            exclude_self=by_row if rows is None else rows,
            weights=weights,
            device=for_pairs(device, n_queries * saved.n_database, saved.query.n_bits),
            n_items=saved.n_database,
            inspect=True,
            progress=progress,
        )
        scorer.add_pieces(saved.pieces())
        if by_row and not scorer.is_same:
            raise HashbenchError(NO_OWN_ROWS)
        return scorer

    def add(self, codes: AnyCodes, relevance: PairRelevance) -> None:
        """Counts a piece of the database: packed codes, and the relevance of all queries to them."""
        if self._counter is not None:
            self._counter.add(codes, relevance)
        self._inspected((codes, relevance))

    def add_pieces(self, pieces: Iterable[tuple[AnyCodes, PairRelevance]]) -> None:
        """Counts pieces of the database; a thread fetches and inspects the next one while one is counted."""
        assert self._counter is not None, "weighted scores need one piece"
        self._counter.add_all(map(self._inspected, pieces), self._n_expected, progress=self._progress)

    @property
    def is_same(self) -> bool:
        """True where the database is the queries themselves, in their order, as far as it was compared."""
        return self._pairs is not None and self._pairs.is_same

    def evidence(self) -> Evidence:
        """The evidence; raises HashbenchError if ``exclude_self`` is True and the database is not the queries."""
        self._require_same()
        if self._evidence is None:
            assert self._counter is not None, "weighted scores need no histogram"
            counted = self._counter.histogram()
            if self._pairs is not None:
                counted = self._pairs.left_out(counted)
            n_excluded = 0
            if self.own_rows is not None:
                n_excluded = int((self.own_rows >= 0).sum())
            self._evidence = Evidence(
                counted, self._counter.n_items, self._tally, self._without_class, self.is_same, n_excluded
            )
        return self._evidence

    def scores(self) -> Scores:
        """The scores of all pieces so far."""
        self._require_same()
        if not self._needs_whole:
            return self.evidence().scores(self.metrics, ties=self.ties, empty=self.empty)
        if self._whole is None:
            raise HashbenchError("nothing to score: no piece of a database")
        query = on_cpu(self.query)
        database = on_cpu(self._whole[0])
        relevance = self._whole[1]
        histogram = None
        if self.weights is None:
            distances = ranking.hamming(query, database)
            histogram = self.evidence().histogram
            ranked: Histogram | ranking.Rankings = histogram
        else:
            distances = ranking.weighted_hamming(query, database, self.weights)
            ranked = ranking.Rankings(distances, relevance, self._progress, self.own_rows)
        ordered = None
        if self.ties == "order":
            ordered = ties.in_order(distances, relevance, own_rows=self.own_rows)
        values = evaluate_with_extremes(ranked, self.metrics, self.ties, ordered)
        return Scores(len(query), len(database), query.n_bits, self.ties, self.empty, values, histogram)

    def _inspected(self, piece: tuple[AnyCodes, PairRelevance]) -> tuple[AnyCodes, PairRelevance]:
        """The piece, of which is kept what its codes and labels tell, and all of it where items are ranked."""
        self._evidence = None
        if self._needs_whole:
            if self._whole is not None:
                raise HashbenchError("ties='order' and weights need the whole database in one piece")
            self._whole = piece
        if self._pairs is not None:
            codes = on_cpu(piece[0])
            self._pairs.add(codes, piece[1])
            if self._tally is not None:
                self._tally.add(codes)
                queries, items = piece[1].without_class()
                self._without_class = (queries, self._without_class[1] + items)
        return piece

    def _require_same(self) -> None:
        if self._must_be_same and not self.is_same:
            raise HashbenchError(NOT_SAME)


@checked_arguments
def score(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any = None,
    database_labels: Any = None,
    metrics: str | Sequence[str] | None = None,
    ties: Policy = "expected",
    device: str = "auto",
    weights: Any = None,
    *,
    bits: int | None = None,
    bit_order: BitOrder | None = None,
    empty: Empty = "skip",
    exclude_self: Any = None,
    neighbours: Any = None,
) -> Scores:
    """The scores of query codes against database codes, with relevance from labels or neighbours, exact under ties.

    Codes are NumPy arrays or torch tensors, [n, bits]: 0 and 1, -1 and +1, bool, or real activations on both sides of
    0; a value > 0 is bit 1. Probabilities and other whole numbers are refused. With ``bits`` they may also be packed,
    uint8 or int8[n, ceil(bits / 8)]; ``bit_order`` is ``big`` (numpy.packbits) or ``little`` (faiss), where the padding
    does not show it. Texts [n] are hexadecimal. Labels are class ids [n], negative for no class, names of
    classes [n], or multi-hot [n, labels] of 0 and 1. Levels of relevance, whole numbers from 0, are ``query_labels``
    [queries, classes] beside class ids of the database, or [queries, items] with ``database_labels`` None. In place of
    labels ``neighbours`` [queries, k] are the rows of the relevant items in the database, the k nearest by floats, with
    -1 at the end where there are fewer; ``recall@m`` is then the recall@k after the first m items by codes are rescored
    by the floats. Metrics are named as on the command line: ``"ap,ndcg@100"``; None is AP, NDCG and, without
    ``weights``, precision at radius 2, or of neighbours the recall at k, 2k, 4k and 10k. ``ties`` is the order of items
    at equal distance: ``expected`` is the mean over all orders, ``best`` and ``worst`` put the relevant items of a tie
    first or last, ``order`` is the order of the database. Queries without a relevant item are left out of the means, or
    score 0 with ``empty="zero"``.
    ``exclude_self`` leaves each query out of its own ranking: True where query and database are the same items, or the
    row of each query in the database [queries], -1 for none. None leaves nothing out, and warns if the same array is
    given for both; False is silent.

    ``device`` is where the pairs are counted; the scores are the same on every device. ``auto`` counts torch tensors
    that are on a GPU on that GPU, and everything else on the CPU. ``weights`` [bits], or [queries,
    bits] for weights of each query, all 0 or more, rank the database by the weighted Hamming distance, on the CPU as
    ``ties="order"``; metrics at Hamming radii are then not defined.
    Weights with a common unit (whole numbers, decimals, thirds) give exact ties, however far apart they are; with
    others distances are told apart to 15 digits of the sum of the weights, up to 64 bits.
    Every error is a HashbenchError of one line.

    >>> from hashbench import score
    >>> scores = score([[1, 0]], [[1, 1], [0, 0]], [7], [7, 3], metrics="ap")
    >>> scores["ap"], scores.interval("ap")
    (0.75, (0.5, 1.0))
    >>> scores
    Scores(1 queries, 2 items, 2 bits, ties='expected')
    metric    mean     std  [worst, best]
    ap      0.7500  0.0000  [0.5000, 1.0000]
    """
    if (query_labels is None) == (neighbours is None) or not (neighbours is None or database_labels is None):
        raise HashbenchError(LABELS_OR_NEIGHBOURS)
    device = for_arrays(device, query_codes, database_codes)
    unread = {"query_codes": query_codes, "database_codes": database_codes}
    read = [arrays.read_codes(name, codes, device, bits) for name, codes in unread.items()]
    interpret([values for _, values in read])
    query, database = arrays.unpacked([codes for codes, _ in read], bits, bit_order)
    relevance: PairRelevance
    default: tuple[str, ...] = DEFAULT
    if weights is not None:
        default = DEFAULT_WEIGHTED
    if neighbours is None:
        labels = arrays.read_labels("query_labels", query_labels, of_pairs=database_labels is None)
        others = None
        if database_labels is not None:
            others = arrays.read_labels("database_labels", database_labels)
        relevance = arrays.relevance(labels, others)
    else:
        rows = arrays.numbers("neighbours", neighbours)
        relevance = NeighbourRelevance(
            neighbour_lists.checked_ids("neighbours", rows, len(query), len(database)), len(database)
        )
        default = neighbour_lists.default_metrics(relevance.ids.shape[1])
    left_out: bool | Ints = exclude_self is True
    if not (exclude_self is None or isinstance(exclude_self, bool)):
        rows = arrays.numbers("exclude_self", exclude_self)
        left_out = self_pairs.checked("exclude_self", rows, len(query), len(database))
    if metrics is None:
        metrics = default
    scorer = Scorer(
        query,
        Metrics.parse(metrics) or Metrics.parse(default),
        ties=ties,
        empty=empty,
        exclude_self=left_out,
        weights=None if weights is None else arrays.numbers("weights", weights),
        device=device,
        n_items=len(database),
    )
    scorer.add(database, relevance)
    scores = scorer.scores()
    if exclude_self is None and query_codes is database_codes:
        warnings.warn(SAME_ARRAY, stacklevel=3)  # of the caller, past the check of the arguments
    return scores
