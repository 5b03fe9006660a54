"""Validation queries beside test queries: how many of those that chose settings a split of a table tests."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from hashbench.foundation.config import canonical_json
from hashbench.foundation.errors import CheckFailed
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.protocol import N_SPLITS, HeldOut
from hashbench.running.datasets.split import Ids, queries_of_splits, split
from hashbench.running.tuning.search import Search, names
from hashbench.scoring.relevance.labels import Labels


@dataclass(frozen=True)
class Lists:
    """The lists of queries by which ``searches`` chose settings, one a study."""

    searches: list[str]
    rules: list[HeldOut]
    queries: list[Ids]


@dataclass(frozen=True)
class Validation:
    """Such lists beside the queries of the first ``n_splits`` splits of a protocol."""

    searches: list[str]
    is_old: bool  # they leave out the queries of one split only
    n_lists: int
    n_queries: int  # of a list
    n_splits: int
    n_tested: int  # the most queries of a list that are queries of these splits


def validation_lists(card: Card, labels: Labels) -> list[Lists]:
    """The lists of all searches on the data set whose files are here; those of several searches once."""
    lists: dict[str, Lists] = {}
    for search in map(Search.named, names()):
        question = search.question
        if card.name not in question.left_out or not search.trials:
            continue
        left_out = question.left_out[card.name]
        studies = sorted({trial.study for trial in search.trials.values()})
        rules = [card.held_out(question.protocol, left_out, study, question.splits) for study in studies]
        key = canonical_json([rule.deciding() for rule in rules])
        if key not in lists:
            queries = [split(labels, rule, card.name, rule.of).query_ids for rule in rules]
            lists[key] = Lists([], rules, queries)
        lists[key].searches.append(search.name)
    return list(lists.values())


def beside_tests(lists: Lists, card: Card, labels: Labels, protocol: str) -> Validation:
    """The ``lists`` beside the test queries of the ``protocol``; CheckFailed where they must share none and do."""
    rule = lists.rules[0]
    tests = queries_of_splits(labels, card.protocol(protocol), card.name, protocol, rule.splits or N_SPLITS)
    n_tested = max(int(np.isin(queries, np.concatenate(tests)).sum()) for queries in lists.queries)
    if n_tested and rule.splits is not None and protocol in rule.rules:
        fault = f"{n_tested} test queries are validation queries of {', '.join(lists.searches)}"
        raise CheckFailed(f"{card.name} {protocol}: {fault}: search again")
    return Validation(
        searches=lists.searches,
        is_old=rule.splits is None,
        n_lists=len(lists.rules),
        n_queries=len(lists.queries[0]),
        n_splits=len(tests),
        n_tested=n_tested,
    )


def shared_queries(card: Card, labels: Labels, queries: Ids, protocols: Iterable[str]) -> dict[str, list[int]]:
    """How many of the ``queries`` each of the first splits of the ``protocols`` tests, by the name of the protocol."""
    counts = {}
    for name in protocols:
        tested = queries_of_splits(labels, card.protocol(name), card.name, name, N_SPLITS)
        counts[name] = [int(np.isin(queries, of_split).sum()) for of_split in tested]
    return counts


def require_stated(card: Card, labels: Labels, queries: Ids, stated: Mapping[str, list[int]]) -> None:
    """Raises CheckFailed if other numbers of the ``queries`` are tested than the card says in ``shared_queries``."""
    counts = shared_queries(card, labels, queries, stated)
    if counts != stated:
        raise CheckFailed(f"{card.name}: {counts} of the queries are test queries; the card states {stated}")
