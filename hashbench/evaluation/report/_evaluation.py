"""All that is found out about saved codes before any of it is written down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hashbench.codes import Codes
from hashbench.evaluation.conventions import CONVENTIONS, ConventionValue
from hashbench.evaluation.diagnostics import CodeDiagnostics, QueryDiagnostics
from hashbench.evaluation.scoring import Scores
from hashbench.metrics import parse
from hashbench.registry import canonical
from hashbench.relevance.labels import Relevance


@dataclass(frozen=True)
class Leak:
    """Traces of queries in places where they should not be. None: there was nothing to compare.

    Equal ids are the same item. Equal codes prove nothing: short codes and well-trained ones are equal for items that
    are not.
    """

    ids_in_database: int | None  # queries whose id is that of a database item
    twins_in_database: int  # queries whose code and a label are those of a database item
    twins_in_training: int | None = None  # the same of training items


@dataclass(frozen=True)
class ConventionScores:
    """What the code of another project would print, by the names that it gives its figures."""

    convention: str
    summary: str
    source: str
    figures: Mapping[str, ConventionValue]


@dataclass(frozen=True)
class Evaluation:
    """Scores of saved codes, and what there is to know about the codes themselves."""

    source: str
    scores: Scores
    queries: QueryDiagnostics
    query_codes: CodeDiagnostics
    database_codes: CodeDiagnostics
    leak: Leak
    conventions: tuple[ConventionScores, ...] = ()
    notes: tuple[str, ...] = ()


def convention_scores(
    name: str, query: Codes, database: Codes, relevance: Relevance, cutoffs: Sequence[int | None]
) -> ConventionScores:
    """What convention ``name`` prints at each cutoff (None: the whole ranking); raises HashbenchError as it does."""
    convention = CONVENTIONS.get(name)
    figures: dict[str, ConventionValue] = {}
    for cutoff in cutoffs:
        figures |= convention.evaluate(query, database, relevance, cutoff=cutoff)
    return ConventionScores(canonical(name), convention.summary, convention.source, figures)


def cutoffs(names: Sequence[str]) -> list[int | None]:
    """The ranks at which the metrics stop, each once; None for the whole ranking.

    >>> cutoffs(["ap@1000", "ndcg@1000", "precision@r2"]), cutoffs(["precision@r2"])
    ([1000], [None])
    """
    at = [parse(name).cutoff for name in names]
    ranks = dict.fromkeys(each.value if each else None for each in at if each is None or each.kind == "rank")
    return list(ranks) or [None]
