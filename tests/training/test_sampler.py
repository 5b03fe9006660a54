"""Batches: a pass over the examples, several, or examples of so many classes in rounds."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line
from support.small_training import ROUNDS, settings

from hashbench.learning.training.sampler import ClassRounds, epoch_batches, sampler


@st.composite
def drawn(draw: st.DrawFn) -> tuple[np.ndarray, int, int, int, list[torch.Tensor]]:
    """Labels, classes in a batch, rounds, steps, and the batches of an epoch of them."""
    rounds = draw(st.integers(2, 4))
    sizes = draw(st.lists(st.integers(rounds, 9), min_size=2, max_size=8))
    ids = draw(st.lists(st.integers(0, 99), min_size=len(sizes), max_size=len(sizes), unique=True))
    none = [-1] * draw(st.integers(0, 3))
    labels = np.array(draw(st.permutations([*np.repeat(ids, sizes), *none])))
    classes = draw(st.integers(2, len(sizes)))
    steps = draw(st.integers(1, 6))
    seed = draw(st.integers(0, 5))
    epoch = draw(st.integers(0, 5))
    batches = ClassRounds.of(torch.from_numpy(labels), classes, classes * rounds, steps, seed).epoch(epoch)
    return labels, classes, rounds, steps, batches


@given(drawn())
def test_every_batch_is_rounds_of_the_same_classes_and_of_different_examples(case: tuple) -> None:
    labels, classes, rounds, steps, batches = case
    assert len(batches) == steps
    for batch in batches:
        assert len(set(batch.tolist())) == len(batch) == rounds * classes
        in_rounds = labels[batch.numpy()].reshape(rounds, classes)
        assert (in_rounds == in_rounds[0]).all()
        assert len(set(in_rounds[0])) == classes
        assert (in_rounds >= 0).all()


LABELS = torch.arange(40) % 4


def batches(seed: int, epoch: int, steps: int = 5, labels: torch.Tensor = LABELS) -> list[list[int]]:
    return [batch.tolist() for batch in ClassRounds.of(labels, 3, 9, steps, seed).epoch(epoch)]


def test_they_depend_on_labels_seed_and_epoch_alone() -> None:
    torch.manual_seed(1)
    first = batches(1, 0)
    torch.manual_seed(2)
    assert batches(1, 0) == first
    assert len({str(drawn_batches) for drawn_batches in (first, batches(2, 0), batches(1, 1))}) == 3
    assert len({str(batch) for batch in first}) == 5
    # what a class is called changes nothing
    assert batches(1, 0, labels=LABELS * 7 + 1) == first


def test_all_classes_in_all_orders_and_all_examples_are_equally_likely() -> None:
    labels = torch.tensor([0, 1, 2, 0, 1, 2, 2])
    n = 60_000
    actual = torch.stack(ClassRounds.of(labels, 2, 4, n, seed=3).epoch(0))
    orders = Counter(tuple(row) for row in labels[actual[:, :2]].tolist())
    assert sorted(orders) == sorted(itertools.permutations(range(3), 2))
    assert np.abs(np.array(list(orders.values())) / n - 1 / 6).max() < 4 * (1 / 6 * 5 / 6 / n) ** 0.5
    # of class 2 in the first group: an ordered pair out of 2, 5, 6
    pairs = Counter(tuple(row) for row in actual[:, [0, 2]].tolist() if labels[row[0]] == 2)
    assert sorted(pairs) == sorted(itertools.permutations((2, 5, 6), 2))
    of_two = sum(pairs.values())
    assert np.abs(np.array(list(pairs.values())) / of_two - 1 / 6).max() < 4 * (5 / 36 / of_two) ** 0.5


@given(st.integers(2, 60), st.integers(2, 20), st.integers(1, 25))
def test_steps_are_as_many_passes_as_needed(n: int, batch_size: int, steps: int) -> None:
    actual = epoch_batches(n, batch_size, seed=7, epoch=3, steps=steps)
    once = epoch_batches(n, batch_size, seed=7, epoch=3)
    assert len(actual) == steps
    assert all(2 <= len(batch) <= batch_size for batch in actual)
    assert all(torch.equal(a, b) for a, b in zip(actual, once, strict=False))
    a_pass = len(once)
    for start in range(0, steps - a_pass + 1, a_pass):
        used = torch.cat(actual[start : start + a_pass]).tolist()
        assert len(used) == len(set(used)) == n - (n % batch_size == 1)
    if steps >= 2 * a_pass and n > 6:
        assert not torch.equal(torch.cat(actual[:a_pass]), torch.cat(actual[a_pass : 2 * a_pass]))


@pytest.mark.parametrize(
    "labels, complaint",
    [
        (
            [0, 0, 0, 1, 1, 1, 2, 2, 2],
            "classes_per_batch = 4: training examples are of 3 classes, 3 or more of each: 4 classes or more",
        ),
        (
            [5] * 3 + [6] * 2 + [7] * 3 + [8] * 3,
            "of 4 classes, 2 or more of each: .* 3 examples or more of each are needed",
        ),
        ([0, -1] * 20, "are of 1 classes, 20 or more"),
        (np.eye(4, dtype=np.int64)[np.arange(40) % 4], "are of several labels"),
    ],
)
def test_classes_that_do_not_fill_a_batch_are_one_line(labels: list[int], complaint: str) -> None:
    with one_line(complaint):
        sampler(settings(**ROUNDS), torch.tensor(np.array(labels)), 0)


def test_the_settings_say_which_batches_are_drawn() -> None:
    labels = torch.arange(50) % 5
    assert [len(batch) for batch in sampler(settings(batch_size=20), labels, 0)(0)] == [20, 20, 10]
    assert [len(batch) for batch in sampler(settings(batch_size=20, steps_per_epoch=5), labels, 0)(0)] == [
        *(20, 20, 10),
        *(20, 20),
    ]
    assert [len(batch) for batch in sampler(settings(**ROUNDS), labels, 0)(0)] == [12] * 6
