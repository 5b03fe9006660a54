"""The type ``Evaluation``: all that a report about saved codes contains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hashbench.codes import Codes
from hashbench.evaluation import diagnostics
from hashbench.evaluation.conventions import CONVENTIONS, Values
from hashbench.evaluation.diagnostics import CodeDiagnostics, QueryDiagnostics
from hashbench.evaluation.scores import Evidence, Scores
from hashbench.foundation.registry import canonical
from hashbench.histogram.curves import Curve, pair_curve, radius_of
from hashbench.metrics import Metrics
from hashbench.relevance.labels import Relevance


@dataclass(frozen=True)
class Evaluation:
    """Scores of the saved codes ``source``, with the evidence about them and the ``query`` codes."""

    source: str
    scores: Scores
    evidence: Evidence
    query: Codes
    ids_in_database: int | None = None  # queries whose id is that of a database item; None: there are no ids
    n_neighbours: int | None = None  # of a query, which are relevant; None: labels are the relevance
    twins_in_training: int | None = None  # queries with the code and a label of a training item; None: there are none
    conventions: Mapping[str, Values] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    pair_precision: float | None = None  # that is wished of pairs within a radius; None: pairs are not reported

    @cached_property
    def pairs(self) -> Curve | None:
        return None if self.pair_precision is None else pair_curve(self.evidence.histogram)

    @property
    def pair_radius(self) -> int | None:
        """The largest radius whose pairs have the precision that is wished; None where there is none."""
        return None if self.pairs is None or self.pair_precision is None else radius_of(self.pair_precision, self.pairs)

    @cached_property
    def queries(self) -> QueryDiagnostics:
        return diagnostics.diagnose_queries(self.evidence.histogram)

    @cached_property
    def query_codes(self) -> CodeDiagnostics:
        return diagnostics.diagnose(self.query)

    @cached_property
    def database_codes(self) -> CodeDiagnostics:
        assert self.evidence.tally is not None, "a report needs inspected codes"
        return self.evidence.tally.diagnostics()


def convention_scores(
    names: Sequence[str], query: Codes, database: Codes, relevance: Relevance, metrics: Metrics
) -> dict[str, Values]:
    """The values of each convention at the ranks of the metrics, else of the whole ranking; it may refuse a cutoff."""
    ranked = metrics.where(lambda metric: metric.name.cutoff is None or metric.rank is not None)
    found: dict[str, Values] = {canonical(name): {} for name in names}
    for name, figures in found.items():
        for cutoff in dict.fromkeys(metric.rank for metric in ranked) or [None]:
            figures.update(CONVENTIONS.get(name).evaluate(query, database, relevance, cutoff=cutoff))
    return found
