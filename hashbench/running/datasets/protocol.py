"""Protocols: how a data set is split into queries, database and training items, and which items are relevant."""

from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from hashbench.foundation.config import Strict
from hashbench.foundation.errors import HashbenchError

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Percent = Annotated[float, Field(gt=0, le=100)]
Range = Annotated[list[Count], Field(min_length=2, max_length=2)]
Database = Literal["rest", "rest_without_train"]
Metric = Literal["cosine", "l2", "ip"]  # of vectors; ip: the inner product

SIZES = {"n_queries", "n_database", "n_train", "n_validation"}
DESCRIPTIVE = {"title", "citation", "note", "metrics", "random_ndcg", "shared_queries"} | SIZES
DRAWS = (
    *("per_class", "per_label", "random", "random_validation", "per_class_validation"),
    *("parts", "stratified", "parts_drawn"),
)
GIVEN = ("parts",)  # draws nothing: the ids are given, so there is one split
N_SPLITS = 5  # of a protocol: tables show the first ones, and a search chooses by queries of none of them
HELD_OUT = "_held_out"  # the end of the name of a protocol for choosing settings that is derived from another one
RANGES = ("query", "pool", "database", "train", "validation")  # fields that are ranges of ids in some protocols


class Percentiles(Strict):
    """Relevance by distance: an item within the ``percent[i]``-th percentile of the distances has level ``levels[i]``.

    They are of all pairs of training items, minus their mean and scaled to unit norm [He et al. 2018, section 5.3].
    """

    kind: Literal["percentiles", "released"]  # released: squared distances are compared, as in the authors' code
    features: str | None = None  # in place of the items, such as gist
    percent: list[Percent] = Field(min_length=1)
    levels: list[Positive] = Field(min_length=1)

    @model_validator(mode="after")
    def _nearer_is_higher(self) -> "Percentiles":
        falls = sorted(set(self.percent), reverse=True) == self.percent
        rises = sorted(set(self.levels)) == self.levels
        if len(self.percent) != len(self.levels) or not falls or not rises:
            raise ValueError("percent must descend, levels must ascend, and both need the same length")
        return self


class Nearest(Strict):
    """Relevance by rank: the ``percent`` of the database nearest to a query (Euclidean) [Lin et al. 2014]."""

    kind: Literal["nearest"]
    percent: Percent


class Neighbours(Strict):
    """Relevance by number: the ``k`` items of the database that are nearest to a query are relevant."""

    kind: Literal["neighbours"]
    k: Positive
    metric: Metric
    features: str | None = None  # those whose distances count, in place of the items


Rule = Percentiles | Nearest | Neighbours


class _Protocol(Strict):
    """The fields that all protocols have."""

    title: str
    citation: str = ""
    note: str = ""
    metrics: list[str] = []
    random_ndcg: Annotated[float, Field(gt=0, le=1)] | None = None  # printed by the paper of what may rank at random
    seed: Count = 0
    n_queries: Count | None = None  # a split is compared with the sizes and, for ``seed``, the checksum of the ids
    n_database: Count | None = None
    n_train: Count | None = None
    n_validation: Count | None = None
    ids_sha256: Sha256 | None = None
    relevance: Annotated[Rule, Field(discriminator="kind")] | None = None  # None: by labels

    def deciding(self) -> dict[str, Any]:
        """The fields that decide a result, so no title, notes or expected sizes; the name of a run depends on them."""
        return self.model_dump(exclude=DESCRIPTIVE, exclude_none=True)

    @property
    def compared_features(self) -> str | None:
        """The features whose distances define relevance; None where the items' own do, or labels."""
        if isinstance(self.relevance, Percentiles | Neighbours):
            return self.relevance.features
        return None

    def stands_for(self, name: str) -> str:
        """The protocol whose random order and settings this one, called ``name``, has: ``of``, or its own."""
        return getattr(self, "of", None) or name

    def misfit(self, base: "Protocol | None") -> str | None:  # noqa: ARG002  (others draw by themselves)
        """Why ``base`` cannot be the protocol ``of``; None if both can share a random order."""
        return None

    @property
    def ranges(self) -> dict[str, list[int]]:
        """The fixed range of ids of each role, [first, last + 1]."""
        fields = {role: getattr(self, role, None) for role in RANGES}
        return {role: within for role, within in fields.items() if isinstance(within, list)}

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        n_train = getattr(self, "train_per_class", 0) or getattr(self, "train", 0)
        if getattr(self, "database", None) == "rest_without_train" and not n_train:
            raise ValueError('database = "rest_without_train" needs training items to leave out')
        for held_out, role in product(("query", "validation"), RANGES[:-1]):
            held = self.ranges.get(held_out)
            within = self.ranges.get(role)
            if held and within and held_out != role and max(held[0], within[0]) < min(held[1], within[1]):
                raise ValueError(f"held out {held} and {role} {within} share ids")
        return self


class PerClass(_Protocol):
    """Queries and training items (0: the database) of each class, at random."""

    # not in a dump: the digests in the names of runs are older than the other draws
    draw: Literal["per_class"] = Field("per_class", exclude=True)
    queries_per_class: Positive
    train_per_class: Count
    database: Database = "rest"  # all items but the queries, or but queries and training items


class PerLabel(_Protocol):
    """For each label, the most frequent first, queries and training items (0: the database) that carry it."""

    draw: Literal["per_label"]
    queries_per_label: Positive
    train_per_label: Count


class Random(_Protocol):
    """``queries`` and ``train`` items drawn from all without regard to labels."""

    draw: Literal["random"]
    of: str | None = None  # the protocol that draws the same items with another relevance
    among: Range | None = None  # ids, [first, last + 1]; items of others are in no list
    queries: Positive
    train: Count  # 0: the whole database
    database: Database = "rest"

    def misfit(self, base: "Protocol | None") -> str | None:  # noqa: D102
        fields = ("queries", "train", "database", "seed", "among")
        if (
            isinstance(base, Random)
            and base.of is None
            and all(getattr(base, field) == getattr(self, field) for field in fields)
        ):
            return None
        return "is not drawn at random with the same sizes and seed"


class _Validation(_Protocol):
    """Queries to choose settings by, which are none of the own split of ``of``, though some of its other splits.

    New searches choose by :class:`HeldOut`. Rows of these protocols stay, and say how many queries others test.
    """

    # of each protocol that tables show: how many of the queries each of its first splits tests
    shared_queries: dict[str, list[Count]] = {}

    @property
    def shared_in_words(self) -> str:
        """The ``shared_queries``, such as "s1 0, 14, 18; s2 174, 165, 180"."""
        return "; ".join(f"{name} {', '.join(map(str, counts))}" for name, counts in self.shared_queries.items())


class RandomValidation(_Validation):
    """``queries`` items held out of the database of the protocol ``of``, to choose settings without its queries."""

    draw: Literal["random_validation"]
    of: str
    left_out: Positive  # the queries of ``of``: in no list here
    train: Positive  # the training items of ``of``: trained on here too
    queries: Positive  # the next in its random order; the database is the rest of its database

    def misfit(self, base: "Protocol | None") -> str | None:  # noqa: D102
        if (
            isinstance(base, Random)
            and (base.queries, base.train) == (self.left_out, self.train)
            and (base.database, base.among) == ("rest", None)
            and (base.seed, base.relevance) == (self.seed, self.relevance)
        ):
            return None
        sizes = f"{self.left_out} queries, {self.train} training items"
        return f"is not drawn at random with {sizes} in the database, and the same seed and relevance"


class PerClassValidation(_Validation):
    """Queries held out of each class, as by :class:`RandomValidation`; ``train_per_class`` 0: all are trained on."""

    draw: Literal["per_class_validation"]
    of: str
    left_out_per_class: Positive
    train_per_class: Count
    queries_per_class: Positive

    def misfit(self, base: "Protocol | None") -> str | None:  # noqa: D102
        if (
            isinstance(base, PerClass)
            and (base.queries_per_class, base.train_per_class) == (self.left_out_per_class, self.train_per_class)
            and (base.database, base.seed, base.relevance) == ("rest", self.seed, self.relevance)
        ):
            return None
        sizes = f"{self.left_out_per_class} queries and {self.train_per_class} training items of each class"
        return f"is not drawn by class with {sizes}, in the database, and the same seed and relevance"


TO_CHOOSE = (RandomValidation, PerClassValidation)  # protocols of a card whose queries choose settings


class HeldOut(_Protocol):
    """At most ``queries`` items held out of the database of the protocol ``of``, on which a search chooses settings.

    They are a fifth of the database or fewer, and no training items unless all of it is trained on. ``rules`` has the
    protocols in ``left_out``, and ``of``, by name. No card has such a protocol: ``hashbench tune`` makes it, and so
    does the name ``of`` with ``HELD_OUT`` at its end.

    With ``splits`` the seed n is the n-th repeat of a search: the database and the training items are those of the n-th
    split of ``of``, and the queries are queries of none of the first ``splits`` splits of any of the ``rules``. Without
    it, as searches of before December 2026 have it, the lists are of the own split of ``of`` for every seed, and no
    query of the own split of a protocol in ``left_out`` is in any of them.
    """

    title: str = ""
    draw: Literal["held_out"] = "held_out"
    of: str
    left_out: list[str]
    queries: Positive = 1000
    splits: Positive | None = None
    rules: dict[str, "Protocol"] = Field(exclude=True)


class Parts(_Protocol):
    """Fixed ranges of ids, [first, last + 1]; ``train`` may be inside the database or outside."""

    draw: Literal["parts"]
    of: str | None = None  # the protocol that has the same items with another relevance
    query: Range
    database: Range
    train: Range
    validation: Range | None = None


class Stratified(_Protocol):
    """``validation`` items of ``pool`` by class, drawn by scikit-learn; the rest of it is training set and database."""

    draw: Literal["stratified"]
    query: Range
    pool: Range
    validation: Positive


class PartsDrawn(_Protocol):
    """``queries`` random items of the range ``query``, whose others validate, and training items of each class.

    These are in the range ``database``; all ranges are [first, last + 1].
    """

    draw: Literal["parts_drawn"]
    query: Range
    database: Range
    queries: Positive
    train_per_class: Positive


OfCard = PerClass | PerLabel | Random | RandomValidation | PerClassValidation | Parts | Stratified | PartsDrawn
AnyProtocol = Annotated[OfCard, Field(discriminator="draw")]
Protocol = OfCard | HeldOut


def with_seed(protocol: Protocol, seed: int, title: str) -> Protocol:
    """The protocol with another seed and no checksum of its ids; raises HashbenchError if its ids are given."""
    if seed == protocol.seed:
        return protocol
    if protocol.draw in GIVEN:
        raise HashbenchError(f"split {seed}: nothing is drawn in {title}, its ids are given: it has one split")
    return protocol.model_copy(update={"seed": seed, "ids_sha256": None})


def nth_seed(protocol: Protocol, n: int) -> int:
    """The seed of the ``n``-th split, counted from 0; a protocol whose ids are given has its own split only."""
    if protocol.draw in GIVEN:
        return protocol.seed
    return protocol.seed + n


def first_splits(n: int) -> str:
    """The first ``n`` splits in words."""
    if n == 1:
        return "the own split"
    return f"the first {n} splits"


def shown_seeds(protocol: Protocol, n: int) -> list[int]:
    """The seeds of the first ``n`` splits; a protocol whose ids are given has its own split only."""
    return list(dict.fromkeys(nth_seed(protocol, place) for place in range(n)))
