"""The example of ties: AP in each order, their mean, and the tie-aware AP, which is the same."""

from itertools import permutations
from pathlib import Path
from statistics import fmean

import pytest
from support.declared_figures import axes_of, declare, filled, tiny
from support.one_line import one_line

from hashbench.showing import figures

EXAMPLE = "distances = [1, 1, 1, 2]\nrelevant = [true, false, true, true]\n"


def ap(order: tuple[bool, ...]) -> float:
    """By the definition: the mean of the precisions at the ranks of the relevant items."""
    return fmean(sum(order[:rank]) / rank for rank, relevant in enumerate(order, 1) if relevant)


def test_each_order_has_its_ap_from_the_best_to_the_worst(tmp_path: Path) -> None:
    *orders, mean, tied = filled(tiny(tmp_path, "tied_orders", EXAMPLE, "")).points
    assert [(point["order"], point["relevant"]) for point in orders] == [(1, "1101"), (2, "1011"), (3, "0111")]
    expected = [ap((True, True, False, True)), ap((True, False, True, True)), ap((False, True, True, True))]
    assert [point["ap"] for point in orders] == pytest.approx(expected)
    assert mean["relevant"] == "mean of the orders"
    assert tied["relevant"] == "tie-aware"
    assert mean["ap"] == pytest.approx(tied["ap"]) == pytest.approx(fmean(expected))


def test_the_tie_aware_value_is_the_mean_over_all_permutations_of_the_tied_items(tmp_path: Path) -> None:
    tied = filled(tiny(tmp_path, "tied_orders", EXAMPLE, "")).points[-1]
    every = [ap((*order, True)) for order in permutations((True, False, True))]
    assert len(every) == 6 and tied["ap"] == pytest.approx(fmean(every))


def test_the_picture_has_a_box_for_each_item_and_a_dot_for_each_order(tmp_path: Path) -> None:
    boxes, values = axes_of(filled(tiny(tmp_path, "tied_orders", EXAMPLE, ""))).axes
    filled_boxes = [box for box in boxes.patches if box.get_facecolor()[0] == 0]
    assert len(boxes.patches) == 12
    assert len(filled_boxes) == 9
    (dots,) = values.get_lines()
    assert list(dots.get_xdata()) == sorted(dots.get_xdata()) and len(dots.get_xdata()) == 3  # the best one on top


def test_a_large_tie_is_refused_before_its_orders_are_made(tmp_path: Path) -> None:
    half = ", ".join(["true, false"] * 10)
    path = declare(tmp_path, "tied_orders", f"distances = {[1] * 20}\nrelevant = [{half}]\n", "")
    with one_line() as error:
        figures.load("tiny")
    assert str(error.value) == f"{path}: distances: the ties have 184756 orders, and at most 40 are drawn"


@pytest.mark.parametrize(
    "keys, complaint",
    [
        (
            "distances = [1, 1]\nrelevant = [true]\n",
            "relevant: 2 values are expected, as distances has, one of them true",
        ),
        (
            "distances = [2, 1]\nrelevant = [true, true]\n",
            "distances: they are those of a ranking, so none is below 0 or below the one before it",
        ),
        (
            "distances = [1, 1]\nrelevant = [false, false]\n",
            "relevant: 2 values are expected, as distances has, one of them true",
        ),
    ],
)
def test_what_is_no_ranking_is_one_line(tmp_path: Path, keys: str, complaint: str) -> None:
    path = declare(tmp_path, "tied_orders", keys, "")
    with one_line() as error:
        figures.load("tiny")
    assert str(error.value) == f"{path}: {complaint}"


def test_it_has_no_cells_to_run(tmp_path: Path) -> None:
    tiny(tmp_path, "tied_orders", EXAMPLE, "")
    with one_line(r"^figure tiny: it has no cells to run$"):
        figures.cells_of("tiny")
