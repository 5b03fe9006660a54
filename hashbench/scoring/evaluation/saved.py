"""Scores saved codes: what ``hashbench eval`` computes of the files that it is given."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.registry import canonical
from hashbench.scoring.codes import files
from hashbench.scoring.codes.files import Explicit, SavedCodes
from hashbench.scoring.evaluation.conventions import CONVENTIONS, Values
from hashbench.scoring.evaluation.evaluation import Evaluation
from hashbench.scoring.evaluation.scorer import DEFAULT, DEFAULT_WEIGHTED, Scorer
from hashbench.scoring.evaluation.scores import Empty
from hashbench.scoring.histogram.ties import Policy
from hashbench.scoring.metrics import Metrics
from hashbench.scoring.relevance.neighbours import default_metrics


@dataclass(frozen=True)
class Request:
    """A request to score saved codes: what is computed, and how their files are read."""

    metrics: Metrics  # none of them: those that are usual for codes, weighted codes or neighbours
    ties: Policy = "expected"
    empty: Empty = "skip"
    exclude_self: bool = False
    weights: str | None = None  # where they are: FILE or FILE:KEY
    neighbours: str | None = None  # the same
    k: int | None = None  # of the neighbours
    conventions: Sequence[str] = ()
    pair_precision: float | None = None
    explicit: Explicit = field(default_factory=Explicit)
    device: str = "auto"

    def __post_init__(self) -> None:
        for name in self.conventions:
            CONVENTIONS.get(name)  # an unknown one is refused before anything is counted
        if self.k is not None and self.neighbours is None:
            raise HashbenchError("--k needs --neighbours FILE:KEY, the nearest items of each query")


def are_scored_one_by_one(paths: Sequence[Path], request: Request) -> bool:
    """True where each of several paths holds all that is scored; else they hold parts of one set of codes."""
    needs_labels = request.neighbours is None
    return len(paths) > 1 and not request.explicit.places and all(files.is_whole(path, needs_labels) for path in paths)


def evaluate(paths: Sequence[Path], request: Request) -> Evaluation:
    """The evaluation of the codes in ``paths``, which are one set."""
    saved = _opened(paths, request)
    weights = None
    if request.weights is not None:
        weights = files.weights_at(request.weights, saved.query)
    scorer = Scorer.of_saved(
        saved,
        request.metrics or _usual_metrics(saved, is_weighted=weights is not None),
        ties=request.ties,
        empty=request.empty,
        exclude_self=request.exclude_self,
        weights=weights,
        device=request.device,
    )
    scores = scorer.scores()
    conventions = _values_of_conventions(request.conventions, saved, scorer.metrics)
    evaluation = Evaluation(
        ", ".join(map(str, paths)) or ", ".join(request.explicit.places[role] for role in files.CODE_ROLES),
        scores,
        scorer.evidence,
        saved.query,
        saved,
        scorer.own_rows,
        ids_in_database=saved.ids_in_database(),
        conventions=conventions,
        notes=saved.notes,
        pair_precision=request.pair_precision,
    )
    return replace(evaluation, hints=tuple(_hints(evaluation, request)))


def _opened(paths: Sequence[Path], request: Request) -> SavedCodes:
    if request.neighbours is not None:
        return files.load_with_neighbours(paths, request.neighbours, k=request.k, explicit=request.explicit)
    return files.load(paths, explicit=request.explicit)


def _usual_metrics(saved: SavedCodes, *, is_weighted: bool) -> Metrics:
    if saved.n_neighbours is not None:
        return Metrics.parse(default_metrics(saved.n_neighbours or 1))
    if is_weighted:
        return Metrics.parse(DEFAULT_WEIGHTED)
    return Metrics.parse(DEFAULT)


def _values_of_conventions(names: Sequence[str], items: SavedCodes, metrics: Metrics) -> dict[str, Values]:
    """The values of each convention at the ranks of the metrics, else of the whole ranking; it may refuse a cutoff."""
    ranks = [metric.rank for metric in metrics if metric.name.cutoff is None or metric.rank is not None]
    values_by_name: dict[str, Values] = {}
    for name in map(canonical, names):
        values: Values = {}
        for rank in dict.fromkeys(ranks) or [None]:
            values |= CONVENTIONS.get(name).evaluate(items.query, items.database, items.relevance, cutoff=rank)
        values_by_name[name] = values
    return values_by_name


def _hints(evaluation: Evaluation, request: Request) -> Iterator[str]:
    """A hint if ``exclude_self`` looks as if it were meant, or if it leaves nothing out."""
    evidence = evaluation.evidence
    n_queries = len(evaluation.query)
    if request.exclude_self:
        if not evidence.n_excluded:
            yield "--exclude-self: no query is in the database, by the ids"
    elif n_queries > 1 and (evidence.is_same or evaluation.ids_in_database == n_queries):
        yield "every query is an item of the database and its own neighbour: --exclude-self leaves it out"
