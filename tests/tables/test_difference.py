"""What is below the best of a column: of lines with the same splits, by the paired t-test and Holm."""

import numpy as np
import pytest

from hashbench.scoring.evaluation.paired import compare_paired, holm
from hashbench.showing.tables.difference import Position, Scores, against_best, claim, compare_scores


def scores(mean: float, splits: str = "vwxyz", seed: int = 0) -> Scores:
    """The AP of 300 queries on each split; a query is as hard for every line."""
    hard = {split: np.random.default_rng(ord(split)).normal(0, 0.2, 300) for split in splits}
    own = np.random.default_rng(seed)
    return {split: (mean + hard[split] + own.normal(0, 0.05, 300)).astype(np.float32) for split in splits}


def column(**lines: Scores) -> dict[Position, Scores]:
    return {(row, "32 bits"): of_line for row, of_line in lines.items()}


def rows(positions: set[Position]) -> set[str]:
    return {row for row, _ in positions}


def test_bold_are_the_best_and_all_that_are_not_significantly_below_it() -> None:
    lines = column(first=scores(0.7), near=scores(0.699, seed=1), below=scores(0.66, seed=2), last=scores(0.5, seed=3))
    test = against_best(lines)
    assert test is not None and test.n_splits == 5
    assert rows(test.best) == {"first", "near"}
    alone = [
        compare_paired([*lines["first", "32 bits"].values()], [*lines[row, "32 bits"].values()]).p
        for row in ("near", "below", "last")
    ]
    assert [test.p[row, "32 bits"] for row in ("near", "below", "last")] == holm(alone)


def test_only_lines_with_the_same_splits_are_compared() -> None:
    """The set of splits that most lines have is taken, and a line with more splits is compared on these."""
    lines = column(
        old=scores(0.9, "v"),
        one=scores(0.6, "vw"),
        two=scores(0.7, "vw", 1),
        more=scores(0.7, "vwxyz", 2),
        other=scores(0.8, "xyz", 3),
        nothing={},
    )
    test = against_best(lines)
    assert test is not None and test.n_splits == 2 and rows(set(test.p)) == {"one", "two", "more"}


@pytest.mark.parametrize(
    "lines",
    [
        column(a=scores(0.5, "v"), b=scores(0.9, "v")),  # of one split
        column(a=scores(0.5, "vw"), b=scores(0.9, "xy")),
        column(a=scores(0.5), b={}),
        column(a={}, b={}),
    ],
)
def test_without_two_lines_on_the_same_splits_there_is_no_test(lines: dict[Position, Scores]) -> None:
    assert against_best(lines) is None


def test_a_claim_names_the_better_one_first_and_a_single_split_allows_none() -> None:
    low = scores(0.60)
    high = scores(0.65, seed=1)
    found = compare_scores(low, high)
    above = f"B is {-found.difference:.4f} above A (interval {-found.high:.4f} to {-found.low:.4f}"
    over = "p < 0.0001, 5 splits, 1,500 queries"
    assert claim("A", "B", found, found.p) == f"{above}, {over})."
    assert claim("A", "B", found, 0.05).startswith(f"A and B are not significantly different: {above}, p = 0.0500,")
    of_one = compare_scores(low, {"v": high["v"]})
    assert claim("A", "B", of_one, 0.001).startswith("On this split B is ")
    assert claim("A", "B", of_one, 0.001).endswith(": nothing can be claimed of other splits.")
