"""Asymmetric distances: activations of the queries against codes, exact, and what refuses to be one."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support import oracles
from support.one_line import one_line
from support.strategies import CodeSet, code_sets

from hashbench.scoring import metrics
from hashbench.scoring.codes import binarize, pack
from hashbench.scoring.histogram.sorted_searches import sorted_searches
from hashbench.scoring.metrics import Metrics
from hashbench.scoring.relevance.neighbours import NeighbourRelevance

NAMES = ["ap", "ap_worst", "ap_best", "ndcg", "precision@2"]


def inner_products(activations: np.ndarray, bits: np.ndarray) -> list[list[Fraction]]:
    """-<z, b> of each query and item with b in {-1, +1}, exactly."""
    signs = np.where(bits, 1, -1).tolist()
    return [[-sum(Fraction(float(v)) * s for v, s in zip(z, b, strict=True)) for b in signs] for z in activations]


def ranks(distances: list[Fraction]) -> np.ndarray:
    """The number of each distance among those of a query that differ, so that equal ones have one."""
    order = {value: n for n, value in enumerate(sorted(set(distances)))}
    return np.array([order[value] for value in distances])


@given(code_sets(max_items=25), st.sampled_from(["normal", "few", "wide"]), st.integers(0, 2**32 - 1))
def test_the_tie_groups_are_those_of_the_inner_products_in_fractions(drawn: CodeSet, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = drawn.query.shape
    activations = {
        "normal": rng.standard_normal(shape),
        "few": rng.integers(-2, 3, shape) / 4,  # so that distances tie, also of codes that differ
        "wide": rng.standard_normal(shape) * 2.0 ** rng.integers(-20, 3, shape),
    }[kind].astype(np.float32)
    query = binarize(activations)
    database = pack(drawn.database)
    relevance = drawn.relevance
    actual = sorted_searches(query, database, relevance, activations=activations)["asymmetric"]
    truth = np.array([ranks(row) for row in inner_products(activations, drawn.database)])
    distances = actual.distances(slice(0, len(query)))
    assert distances.dtype == np.int64
    assert all(np.array_equal(ranks(row), rank) for row, rank in zip(distances.tolist(), truth, strict=True))
    values = metrics.evaluate(actual, Metrics.parse(NAMES))
    level = relevance.block(slice(0, len(query)), slice(0, len(database)))
    for q, rank in enumerate(truth):
        one = oracles.histogram(rank.tolist(), relevance.levels[level[q]].tolist(), int(rank.max(initial=0)))
        for name, value in metrics.evaluate(one, Metrics.parse(NAMES)).items():
            np.testing.assert_allclose(values[name][q], value[0], atol=1e-14, err_msg=name)


@given(code_sets(max_items=25), st.sampled_from(["normal", "few"]), st.integers(0, 2**32 - 1))
def test_where_neighbours_are_relevant_the_same_items_tie(drawn: CodeSet, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = drawn.query.shape
    activations = {"normal": rng.standard_normal(shape), "few": rng.integers(-2, 3, shape) / 4}[kind].astype(np.float32)
    query = binarize(activations)
    database = pack(drawn.database)
    near = NeighbourRelevance(np.zeros((len(query), 1), np.int64), len(database))
    distances = sorted_searches(query, database, near, activations=activations)["asymmetric"].distances
    truth = np.array([ranks(row) for row in inner_products(activations, drawn.database)])
    for number, rank in enumerate(truth):
        np.testing.assert_array_equal(ranks(distances(slice(number, number + 1))[0].tolist()), rank)
    with one_line("signs of the activations"):
        sorted_searches(query, database, near, activations=np.where(activations > 0, -1, 1).astype(np.float32))
