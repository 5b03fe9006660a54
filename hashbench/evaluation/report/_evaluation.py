"""The type ``Evaluation``: everything that a report about saved codes contains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hashbench.codes import Codes
from hashbench.evaluation.conventions import CONVENTIONS, ConventionValue
from hashbench.evaluation.diagnostics import CodeDiagnostics, QueryDiagnostics, diagnose, diagnose_queries
from hashbench.evaluation.evidence import Evidence
from hashbench.evaluation.scores import Scores
from hashbench.foundation.registry import canonical
from hashbench.metrics import NamedMetric
from hashbench.relevance.labels import Relevance


@dataclass(frozen=True)
class Leak:
    """The number of queries that may be in the database or in the training set; None if there was nothing to compare.

    Equal ids mean the same item. Equal codes are no proof: short codes and well-trained codes are often equal for
    different items.
    """

    ids_in_database: int | None  # queries whose id is that of a database item
    twins_in_database: int  # queries with the code and a label of a database item
    twins_in_training: int | None = None  # queries with the code and a label of a training item


@dataclass(frozen=True)
class ConventionScores:
    """The values of one convention, by the names that the other code gives them."""

    convention: str
    summary: str
    source: str
    figures: Mapping[str, ConventionValue]


@dataclass(frozen=True)
class Evaluation:
    """Scores of saved codes, diagnostics of queries and codes, possible leaks, and the values of conventions."""

    source: str
    scores: Scores
    queries: QueryDiagnostics
    query_codes: CodeDiagnostics
    database_codes: CodeDiagnostics
    leak: Leak
    conventions: tuple[ConventionScores, ...] = ()
    notes: tuple[str, ...] = ()
    without_class: tuple[int, int] = (0, 0)  # queries and database items
    n_excluded: int = 0  # queries that are left out of their own ranking


def evaluation(
    source: str,
    scores: Scores,
    evidence: Evidence,
    query: Codes,
    *,
    ids_in_database: int | None = None,
    conventions: tuple[ConventionScores, ...] = (),
    notes: tuple[str, ...] = (),
) -> Evaluation:
    """The report about the codes of ``evidence``, which holds the diagnostics of the database."""
    assert evidence.tally is not None, "a report needs inspected codes"
    met = diagnose_queries(evidence.histogram)
    return Evaluation(
        source,
        scores,
        met,
        diagnose(query),
        evidence.tally.diagnostics(),
        Leak(ids_in_database, met.twins),
        conventions,
        notes,
        evidence.without_class,
        evidence.n_excluded,
    )


def convention_scores(
    name: str, query: Codes, database: Codes, relevance: Relevance, cutoffs: Sequence[int | None]
) -> ConventionScores:
    """The values of convention ``name`` at each cutoff (None: the whole ranking).

    Raises HashbenchError for an unknown convention, and for a cutoff that the convention refuses.
    """
    convention = CONVENTIONS.get(name)
    figures: dict[str, ConventionValue] = {}
    for cutoff in cutoffs:
        figures |= convention.evaluate(query, database, relevance, cutoff=cutoff)
    return ConventionScores(canonical(name), convention.summary, convention.source, figures)


def cutoffs(names: Sequence[str]) -> list[int | None]:
    """The cutoff ranks of the metrics ``names``, each once; None for the whole ranking.

    >>> cutoffs(["ap@1000", "ndcg@1000", "precision@r2"]), cutoffs(["precision@r2"])
    ([1000], [None])
    """
    at = [NamedMetric.parse(name).name.cutoff for name in names]
    ranks = dict.fromkeys(each.value if each else None for each in at if each is None or each.kind == "rank")
    return list(ranks) or [None]
