"""The way from codes to scores: ``score``, ``ScoreAccumulator``, ``hashbench eval`` and ``compare`` all go it."""

import warnings
from collections.abc import Sequence
from functools import cached_property
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
from hashbench.scoring.histogram import Histogram, count, ranking
from hashbench.scoring.histogram.counting import AnyCodes, on_cpu
from hashbench.scoring.histogram.counts import Ints, require_fit
from hashbench.scoring.histogram.device import for_arrays, for_pairs
from hashbench.scoring.histogram.self_pairs import checked_rows, is_same, left_out
from hashbench.scoring.histogram.ties import Policy, in_order
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
    "--array; without ids, queries and database must be the same items in the same order"
)


class Scorer:
    """Scores ``query`` codes against ``database`` codes; the options are those of ``score``."""

    def __init__(
        self,
        query: AnyCodes,
        database: AnyCodes,
        relevance: PairRelevance,
        metrics: Metrics = Metrics(),  # noqa: B008  (immutable; without metrics it only counts)
        *,
        ties: Policy = "expected",
        empty: Empty = "skip",
        own_rows: Ints | None = None,  # of the queries in the database, which are left out; -1: none
        weights: NDArray[Any] | None = None,
        device: str = "cpu",  # or "cuda:N"
        inspect: bool = False,  # also collect what ``Evidence`` tells about the codes themselves
        progress: bool = False,
    ) -> None:
        if weights is not None:
            metrics.refuse_radii("weighted distances do")
        self.query = query
        self.database = database
        self.relevance = relevance
        self.metrics = metrics
        self.ties = ties
        self.empty = empty
        self.own_rows = own_rows
        self.weights = weights
        self.device = device
        self.inspect = inspect
        self.progress = progress

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
        """The scorer of saved codes, which are inspected; with ``exclude_self`` a query is found by its id or row."""
        rows: Ints | None = None
        if exclude_self:
            rows = saved.rows_in_database()
            if rows is None:
                if not is_same(saved.query, saved.database, saved.relevance):
                    raise HashbenchError(NO_OWN_ROWS)
                rows = np.arange(len(saved.query))
        return cls(
            saved.query,
            saved.database,
            saved.relevance,
            metrics,
            ties=ties,
            empty=empty,
            own_rows=rows,
            weights=weights,
            device=for_pairs(device, len(saved.query) * saved.n_database, saved.query.n_bits),
            inspect=True,
            progress=progress,
        )

    @cached_property
    def evidence(self) -> Evidence:
        """The histogram, without the pairs of a query with itself, and what the codes tell."""
        counted = count(self.query, self.database, self.relevance, progress=self.progress, device=self.device)
        n_excluded = 0
        if self.own_rows is not None:
            counted = left_out(counted, on_cpu(self.query), on_cpu(self.database), self.relevance, self.own_rows)
            n_excluded = int((self.own_rows >= 0).sum())
        if not self.inspect:
            return Evidence(counted, len(self.database), n_excluded=n_excluded)
        database = on_cpu(self.database)
        tally = Tally(database.n_bits)
        tally.add(database)
        alike = is_same(on_cpu(self.query), database, self.relevance)
        return Evidence(counted, len(database), tally, self.relevance.without_class(), alike, n_excluded)

    def scores(self) -> Scores:
        """The scores of all queries."""
        if self.ties != "order" and self.weights is None:
            return self.evidence.scores(self.metrics, ties=self.ties, empty=self.empty)
        query = on_cpu(self.query)
        database = on_cpu(self.database)
        histogram = None
        if self.weights is None:
            distances = ranking.hamming(query, database)
            histogram = self.evidence.histogram
            ranked: Histogram | ranking.Rankings = histogram
        else:
            require_fit(query.shape, database.shape, self.relevance)
            distances = ranking.weighted_hamming(query, database, self.weights)
            ranked = ranking.Rankings(distances, self.relevance, self.progress, self.own_rows)
        ordered = None
        if self.ties == "order":
            ordered = in_order(distances, self.relevance, own_rows=self.own_rows)
        values = evaluate_with_extremes(ranked, self.metrics, self.ties, ordered)
        return Scores(len(query), len(database), query.n_bits, self.ties, self.empty, values, histogram)


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
    uint8 or int8[n, ceil(bits / 8)]; ``bit_order`` is ``big`` (numpy.packbits, the default) or ``little`` (faiss).
    Texts [n] are hexadecimal. Labels are class ids [n], negative for no class, names of
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
    Weights with a common unit (whole numbers, decimals, thirds) give exact ties; with others distances are told apart
    to 15 digits of the sum of the weights, up to 64 bits.
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
    query, query_values = arrays.read_codes("query_codes", query_codes, device, bits, bit_order)
    database, database_values = arrays.read_codes("database_codes", database_codes, device, bits, bit_order)
    interpret([query_values, database_values])
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
    own_rows: Ints | None = None
    if exclude_self is True:
        if not is_same(on_cpu(query), on_cpu(database), relevance):
            raise HashbenchError(NOT_SAME)
        own_rows = np.arange(len(query))
    elif not (exclude_self is None or exclude_self is False):
        rows = arrays.numbers("exclude_self", exclude_self)
        own_rows = checked_rows("exclude_self", rows, len(query), len(database))
    if metrics is None:
        metrics = default
    scores = Scorer(
        query,
        database,
        relevance,
        Metrics.parse(metrics) or Metrics.parse(default),
        ties=ties,
        empty=empty,
        own_rows=own_rows,
        weights=None if weights is None else arrays.numbers("weights", weights),
        device=device,
    ).scores()
    if exclude_self is None and query_codes is database_codes:
        warnings.warn(SAME_ARRAY, stacklevel=3)  # of the caller, past the check of the arguments
    return scores
