"""The type ``Evaluation``: all that a report about saved codes contains."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from hashbench.scoring.codes import Codes
from hashbench.scoring.codes.files import SavedCodes
from hashbench.scoring.evaluation import diagnostics
from hashbench.scoring.evaluation.conventions import Values
from hashbench.scoring.evaluation.diagnostics import CodeDiagnostics, QueryDiagnostics
from hashbench.scoring.evaluation.scores import Evidence, Scores
from hashbench.scoring.histogram.counts import Ints
from hashbench.scoring.histogram.curves import Curve, pair_curve, radius_of


@dataclass(frozen=True)
class Evaluation:
    """Scores of the saved codes ``source``, with the evidence about them and the ``query`` codes."""

    source: str
    scores: Scores
    evidence: Evidence
    query: Codes
    items: SavedCodes | None = None  # all codes and their relevance, where they are in memory
    own_rows: Ints | None = None  # the item that is left out of the ranking of each query, int64[q]; -1: none
    ids_in_database: int | None = None  # queries whose id is that of a database item; None: there are no ids
    conventions: Mapping[str, Values] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # about the files
    hints: tuple[str, ...] = ()  # about what was asked for
    pair_precision: float | None = None  # that is wished of pairs within a radius; None: pairs are not reported

    @property
    def n_neighbours(self) -> int | None:
        """The number of neighbours that are relevant to a query; None where labels are the relevance."""
        if self.items is None:
            return None
        return self.items.n_neighbours

    @cached_property
    def pairs(self) -> Curve | None:
        """The curve of pairs within each radius; None if no precision of pairs is wished."""
        if self.pair_precision is None:
            return None
        return pair_curve(self.evidence.histogram)

    @property
    def pair_radius(self) -> int | None:
        """The largest radius whose pairs have the precision that is wished; None where there is none."""
        if self.pairs is None or self.pair_precision is None:
            return None
        return radius_of(self.pair_precision, self.pairs)

    @cached_property
    def queries(self) -> QueryDiagnostics:
        """What the histogram tells of the queries."""
        return diagnostics.diagnose_queries(self.evidence.histogram)

    @cached_property
    def query_codes(self) -> CodeDiagnostics:
        """The diagnostics of the codes of the queries."""
        return diagnostics.diagnose(self.query)

    @cached_property
    def database_codes(self) -> CodeDiagnostics:
        """The diagnostics of the codes of the database."""
        assert self.evidence.tally is not None, "a report needs inspected codes"
        return self.evidence.tally.diagnostics()
