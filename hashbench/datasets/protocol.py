"""Protocols: how a data set becomes queries, a database and a training set, and what is relevant to what."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from hashbench.config import Strict

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Percent = Annotated[float, Field(gt=0, le=100)]
Range = Annotated[list[Count], Field(min_length=2, max_length=2)]
Database = Literal["rest", "rest_without_train"]

NO_TRAINING = 'database = "rest_without_train" needs training items to leave out'
DESCRIPTIVE = {"title", "citation", "note", "n_queries", "n_database", "n_train", "n_validation"}


class Percentiles(Strict):
    """Relevant is what is near: level ``levels[i]`` within the ``percent[i]``-th percentile of the distances.

    The percentiles are taken over all pairs of the training set, one threshold for all queries. Before that, the
    mean of the training features is taken off and each item is scaled to unit norm [He et al. 2018, section 5.3].
    """

    kind: Literal["percentiles"]
    percent: list[Percent] = Field(min_length=1)
    levels: list[Positive] = Field(min_length=1)

    @model_validator(mode="after")
    def _nearer_is_higher(self) -> "Percentiles":
        falls = all(a > b for a, b in zip(self.percent, self.percent[1:], strict=False))
        rises = all(a < b for a, b in zip(self.levels, self.levels[1:], strict=False))
        if len(self.percent) != len(self.levels) or not falls or not rises:
            raise ValueError("percent descends, levels ascend, and there are as many of each")
        return self


class Nearest(Strict):
    """Relevant to a query are the nearest ``percent`` of the database, by Euclidean distance [Lin et al. 2014]."""

    kind: Literal["nearest"]
    percent: Percent


Relevance = Annotated[Percentiles | Nearest, Field(discriminator="kind")]


class _Protocol(Strict):
    """What all protocols have.

    The expected sizes and the checksum of the ids (for ``seed``) are what ``hashbench split --check`` compares with.
    Without ``relevance`` items are relevant to each other by their labels: of one class, or sharing at least one
    label (the level is how many they share).
    """

    title: str
    citation: str
    note: str = ""
    seed: Count = 0
    n_queries: Count | None = None
    n_database: Count | None = None
    n_train: Count | None = None
    n_validation: Count | None = None
    ids_sha256: Sha256 | None = None
    relevance: Relevance | None = None

    def deciding(self) -> dict[str, Any]:
        """What of the protocol decides a result; its title, notes and expected sizes do not."""
        return self.model_dump(exclude=DESCRIPTIVE, exclude_none=True)


class PerClass(_Protocol):
    """So many queries and training items of each class, drawn at random.

    ``train_per_class`` 0 trains on the whole database. The database is all that is not a query ("rest"), or
    neither query nor training item ("rest_without_train").
    """

    # left out of a dump: the digest that names a run was made before there were other draws
    draw: Literal["per_class"] = Field("per_class", exclude=True)
    queries_per_class: Positive
    train_per_class: Count
    database: Database = "rest"

    @model_validator(mode="after")
    def _has_what_it_leaves_out(self) -> "PerClass":
        if self.database == "rest_without_train" and not self.train_per_class:
            raise ValueError(NO_TRAINING)
        return self


class PerLabel(_Protocol):
    """Multi-label: label by label, the most frequent first, so many queries and training items that carry it.

    An item is drawn once. ``train_per_label`` 0 trains on the whole database, which is all that is not a query.
    """

    draw: Literal["per_label"]
    queries_per_label: Positive
    train_per_label: Count


class Random(_Protocol):
    """``queries`` and ``train`` items drawn from all, labels not looked at; ``train`` 0 trains on the database."""

    draw: Literal["random"]
    queries: Positive
    train: Count
    database: Database = "rest"

    @model_validator(mode="after")
    def _has_what_it_leaves_out(self) -> "Random":
        if self.database == "rest_without_train" and not self.train:
            raise ValueError(NO_TRAINING)
        return self


class Parts(_Protocol):
    """Ranges of ids, [first, last + 1], that somebody published or the order of the files gives.

    Nothing is drawn, so that a seed changes nothing. ``train`` may lie inside the database or outside.
    """

    draw: Literal["parts"]
    query: Range
    database: Range
    train: Range
    validation: Range | None = None

    @model_validator(mode="after")
    def _queries_apart(self) -> "Parts":
        others = {"database": self.database, "train": self.train}
        _require_apart(self.query, others)
        if self.validation is not None:
            _require_apart(self.validation, {"query": self.query, **others})
        return self


class Stratified(_Protocol):
    """Queries are a range of ids; of another, ``pool``, each class gives its share of ``validation`` items.

    The rest of the pool is trained on and is the database. The draw is that of scikit-learn's
    ``train_test_split(range, test_size=validation, random_state=seed, stratify=labels)``.
    """

    draw: Literal["stratified"]
    query: Range
    pool: Range
    validation: Positive

    @model_validator(mode="after")
    def _queries_apart(self) -> "Stratified":
        _require_apart(self.query, {"pool": self.pool})
        return self


def _require_apart(held_out: list[int], others: dict[str, list[int]]) -> None:
    for role, (first, end) in others.items():
        if max(first, held_out[0]) < min(end, held_out[1]):
            raise ValueError(f"held out {held_out} and {role} {[first, end]} share ids")


Protocol = PerClass | PerLabel | Random | Parts | Stratified
