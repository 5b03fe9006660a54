"""Sign, RaBitQ, scalar quantisation, TurboQuant: codes by hand, estimates by their formulas, and what breaks them."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from support.fits import quantised, quantiser
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation.config import Setting
from hashbench.learning.contract import SavedHasher
from hashbench.learning.methods import METHODS
from hashbench.learning.methods.rabitq import nearest_numbers
from hashbench.learning.methods.turboquant import normal_levels
from hashbench.scoring.histogram import estimates
from hashbench.scoring.histogram.estimates import estimated, pack_numbers, unpack_tight
from hashbench.scoring.relevance.labels import from_labels

Metric = Literal["l2", "ip"]
RANDOM = np.random.default_rng(0)
ITEMS = RANDOM.standard_normal((300, 16)) * np.linspace(0.2, 3, 16) + 1
QUERIES = RANDOM.standard_normal((6, 16)) + 1
ESTIMATING = ["rabitq", "scalar", "turboquant"]


def estimates_of(hasher: Any, queries: np.ndarray, items: np.ndarray) -> np.ndarray:
    return quantised(hasher, queries, items).distances(slice(0, len(queries)))


def true(queries: np.ndarray, items: np.ndarray, metric: Metric) -> np.ndarray:
    if metric == "ip":
        return -queries @ items.T
    return np.square(queries[:, None] - items).sum(axis=2)


def without_constant(distances: np.ndarray) -> np.ndarray:
    """Distances less those to the first item: what a ranking is made of."""
    return distances - distances[:, :1]


@pytest.mark.parametrize("bits", range(1, 9))
def test_packed_numbers_give_the_exact_products_in_any_blocks(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = RANDOM.integers(0, 1 << bits, (23, 7)).astype(np.uint8)
    levels = RANDOM.integers(-1000, 1000, 1 << bits).astype(np.float64)
    vectors = RANDOM.standard_normal((9, 7))
    scale, added = RANDOM.standard_normal((2, 23)).astype(np.float32)
    packed = pack_numbers(numbers, bits)
    assert packed.shape == (23, -(-7 // (8 // bits)))
    whole = estimated(vectors, packed, levels, scale, added)(slice(0, 9))
    np.testing.assert_allclose(whole, vectors @ levels[numbers].T * scale + added, rtol=1e-9, atol=1e-7)
    monkeypatch.setattr(estimates, "PAIRS", 23 * 4)
    monkeypatch.setattr(estimates, "NUMBERS", 7 * 5)
    in_blocks = estimated(vectors, packed, levels, scale, added)
    for rows in (slice(0, 2), slice(2, 4), slice(4, 9), slice(1, 3)):
        np.testing.assert_array_equal(in_blocks(rows), whole[rows])
    alone = estimated(vectors[3:4], packed, levels, scale, added)  # by look-ups, where many queries are multiplied
    np.testing.assert_array_equal(alone(slice(0, 1)), whole[3:4])


@pytest.mark.parametrize(
    "centre, expected", [("none", [[1, 0], [1, 1]]), ("mean", [[0, 0], [0, 1]]), ("median", [[0, 0], [1, 1]])]
)
def test_signs_are_those_of_the_first_features(centre: str, expected: list[list[int]]) -> None:
    items = np.array([[1.0, -1, 7], [2, 3, 8], [1, 0, 1], [9, 0.1, 9]])  # mean 3.25, .525; median 1.5, .05
    hasher = quantiser("sign", items, 2, centre=centre)
    assert (hasher.encode(items[:2]) > 0).astype(int).tolist() == expected


def test_signs_of_turned_features_keep_angles() -> None:
    hasher = quantiser("sign", ITEMS, 16, rotation="random")
    turned = hasher.encode(ITEMS)
    np.testing.assert_allclose(turned @ turned.T, ITEMS @ ITEMS.T, rtol=1e-4, atol=1e-3)
    assert not np.allclose(np.abs(turned), np.abs(ITEMS), atol=0.1)


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("metric", ["l2", "ip"])
def test_estimates_of_rabitq_are_unbiased_over_rotations(metric: Metric, bits: int) -> None:
    # all of an item and of a query lies in few features: without a rotation the estimates are far off
    items = np.eye(16)[:5] * [[1], [2], [3], [4], [5]] + 0.1
    queries = np.eye(16)[3:5] * 2
    train = np.concatenate([items, -items])  # the mean is 0
    seeds = 300
    actual = np.array(
        [estimates_of(quantiser("rabitq", train, 16 * bits, s, metric), queries, items) for s in range(seeds)]
    )
    constant = np.square(queries).sum(axis=1)[:, None] if metric == "l2" else 0
    error = actual + constant - true(queries, items, metric)
    assert (np.abs(error.mean(axis=0)) < 5 * error.std(axis=0) / seeds**0.5 + 1e-5).all()
    assert error.std() < {1: 2.0, 2: 1.0, 4: 0.3}[bits] * (2 if metric == "l2" else 1)


def test_one_bit_of_rabitq_by_the_formula() -> None:
    hasher = quantiser("rabitq", ITEMS, 16)
    turned, queries = ((vectors - ITEMS.mean(axis=0)) @ hasher.function.rotation for vectors in (ITEMS, QUERIES))
    norms = np.linalg.norm(turned, axis=1)
    code = np.where(turned > 0, 1, -1) / 4  # o-bar of 16 dimensions
    cosine = np.abs(turned).sum(axis=1) / norms / 4  # <o-bar, o>
    expected = norms**2 - 2 * norms * (queries @ code.T) / cosine
    np.testing.assert_allclose(estimates_of(hasher, QUERIES, ITEMS), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("bits", [1, 2, 3, 5])
def test_codes_of_rabitq_have_nearly_the_least_angle_of_all(bits: int) -> None:
    turned = RANDOM.standard_normal((40, 3))
    one = 2.0 * np.arange(1 << bits) - ((1 << bits) - 1)
    every = np.stack(np.meshgrid(one, one, one), axis=-1).reshape(-1, 3)
    every /= np.linalg.norm(every, axis=1)[:, None]
    norms = np.linalg.norm(turned, axis=1)
    best = (turned @ every.T).max(axis=1) / norms
    code = one[nearest_numbers(turned, bits)]
    actual = (code * turned).sum(axis=1) / np.linalg.norm(code, axis=1) / norms
    assert (np.sign(code) == np.sign(turned)).all()
    np.testing.assert_allclose(actual, best, atol=1e-12 if bits == 1 else 2e-3)


@pytest.mark.parametrize("metric", ["l2", "ip"])
def test_what_breaks_rabitq(metric: Metric) -> None:
    train = np.concatenate([ITEMS, 2 - ITEMS])  # the mean is 1 in each feature
    hasher = quantiser("rabitq", train, 16, metric=metric)
    middle = np.ones((1, 16))
    items = np.concatenate([middle, ITEMS[:3], middle + 1e-160])
    queries = np.concatenate([middle, np.full((1, 16), 7.0), np.zeros((1, 16)), ITEMS[:1]])
    actual = estimates_of(hasher, queries, items)
    assert np.isfinite(actual).all()
    # an item at the mean is at its true distance, in l2 the squared norm of the query
    expected = without_constant(true(queries, items, metric))
    np.testing.assert_allclose(actual[0] - actual[0, 0], expected[0], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("bits", [4, 8])
def test_scalar_rebuilds_within_half_a_step_and_clips_what_is_outside(bits: int) -> None:
    function = quantiser("scalar", ITEMS, 16 * bits, clipped=2.0).function
    low, high = np.percentile(ITEMS, [1, 99], axis=0)
    numbers, _ = function.quantised(ITEMS)
    error = np.abs(function.low + function.step * numbers - np.clip(ITEMS, low, high))
    assert (error <= function.step / 2 * (1 + 1e-9)).all()
    far = np.stack([np.full(16, -1e6), np.full(16, 1e6)])
    assert function.quantised(far)[0].tolist() == [[0] * 16, [2**bits - 1] * 16]
    by_hand = quantiser("scalar", np.array([[0.0, 5], [15, 5]]), 8, clipped=0.0).function
    assert by_hand.quantised(np.array([[6.6, 5], [14.4, 9]]))[0].tolist() == [[7, 0], [14, 0]]


@pytest.mark.parametrize("metric", ["l2", "ip"])
@pytest.mark.parametrize("method, bits", [("scalar", 8), ("scalar", 4), ("turboquant", 3), ("turboquant", 8)])
def test_distances_are_those_to_rebuilt_items(method: str, bits: int, metric: Metric) -> None:
    hasher = quantiser(
        method, ITEMS, 16 * bits, metric=metric, **({"centre": "mean"} if method == "turboquant" else {})
    )
    function = hasher.function
    numbers, _ = function.quantised(ITEMS)
    if method == "scalar":
        rebuilt = function.low + function.step * numbers
    else:
        norms = np.linalg.norm(ITEMS - function.centre, axis=1)
        levels = np.array(normal_levels(bits))
        rebuilt = norms[:, None] / 4 * levels[numbers] @ function.rotation.T + function.centre
        nearest = np.abs((ITEMS - function.centre) @ function.rotation * 4 / norms[:, None] - levels[:, None, None])
        assert (nearest.argmin(axis=0) == numbers).mean() > 0.999
    actual = estimates_of(hasher, QUERIES, ITEMS)
    expected = true(QUERIES, rebuilt, metric)
    np.testing.assert_allclose(without_constant(actual), without_constant(expected), rtol=1e-4, atol=2e-3)


def test_levels_of_a_normal_value_are_those_of_max_1960() -> None:
    table = {1: [0.7980], 2: [0.4528, 1.510], 3: [0.2451, 0.7560, 1.344, 2.152]}
    for bits, expected in table.items():
        levels = np.array(normal_levels(bits))
        np.testing.assert_allclose(levels[len(levels) // 2 :], expected, atol=6e-4)
        np.testing.assert_array_equal(levels, -levels[::-1])
    many = np.array(normal_levels(8))  # each is the mean of a normal value between the bounds, by a fine sum
    values = np.linspace(0, 9, 2_000_001)
    cells = np.searchsorted((many[1:] + many[:-1]) / 2, values)
    means = np.bincount(cells, np.exp(-(values**2) / 2) * values) / np.maximum(
        np.bincount(cells, np.exp(-(values**2) / 2)), 1e-300
    )
    np.testing.assert_allclose(means[128:], many[128:], atol=2e-3)


@pytest.mark.parametrize("method", [*ESTIMATING, "pq", "opq"])
def test_equal_items_tie_and_a_saved_hasher_and_its_seed_give_the_same(method: str, tmp_path: Path) -> None:
    changes: dict[str, Setting] = {"normalise": "unit_norm"} | ({"iterations": 2} if method == "opq" else {})
    hasher, again = (quantiser(method, ITEMS, 32, metric="ip", **changes) for _ in range(2))
    hasher.save(tmp_path)
    settings = on_digits(method, {"bits": 32, **changes}).settings
    loaded = METHODS.get(method).load(settings, SavedHasher(tmp_path))
    repeated = np.repeat(ITEMS[:40], 3, axis=0)
    actual = estimates_of(hasher, QUERIES, repeated)
    for other in (again, loaded):
        np.testing.assert_array_equal(estimates_of(other, QUERIES, repeated), actual)
    by_item = actual.reshape(6, 40, 3)
    assert (by_item == by_item[:, :, :1]).all()
    counted = quantised(hasher, QUERIES, repeated).count(from_labels(np.zeros(6, np.int64), np.zeros(120, np.int64)))
    (ranked,) = counted.ranked["asymmetric"]
    assert (ranked.counts.sum(axis=(1, 2)) == 120).all() and (ranked.counts % 3 == 0).all()
    with one_line(r"items have 3 values each, the hasher takes 16"):
        estimates_of(hasher, np.zeros((1, 3)), np.zeros((1, 3)))


@pytest.mark.parametrize("method", ESTIMATING)
@pytest.mark.parametrize("bits", [16, 48, 80, 128])
@pytest.mark.parametrize("metric", ["l2", "ip"])
def test_as_many_bytes_are_written_as_are_counted(method: str, bits: int, metric: Metric) -> None:
    hasher = quantiser(method, ITEMS[:, :15], 15 * (bits // 16), metric=metric)
    stored = hasher.function.of_items(ITEMS[:7, :15])
    counted = on_digits(method, {"bits": 15 * (bits // 16)}).settings.bytes_per_item
    assert sum(array.nbytes for array in stored.values()) == 7 * counted
    numbers, _ = hasher.function.quantised(ITEMS[:7, :15])
    np.testing.assert_array_equal(unpack_tight(stored["codes"], bits // 16, 15), numbers)


@pytest.mark.parametrize("method", ESTIMATING)
@pytest.mark.parametrize("bits", [8, 24, 144])
def test_bits_are_whole_bits_of_a_feature(method: str, bits: int) -> None:
    with one_line(rf"^{bits} bits of 16 features: .*: 16, 32, \.\.\. or 128 bits$"):
        quantiser(method, ITEMS, bits)
