"""The lines of a column that are significantly below its best line, by the paired t-test over splits."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.scoring.evaluation.paired import LEVEL, Paired, compare_paired, holm

Position = tuple[str, str]  # row label, column label
Scores = Mapping[str, NDArray[np.float32]]  # the AP of each query [q] of a split, by the checksum of the split's ids


@dataclass(frozen=True)
class AgainstBest:
    """The lines of a column that have the same splits, each against the one with the highest mean over these."""

    n_splits: int
    p: Mapping[Position, float]  # of each line, by Holm's correction for the others; 1 for the best
    below: Mapping[Position, Paired]  # by how much the best is above each other line

    @property
    def best(self) -> set[Position]:
        """The line with the highest mean, and all that are not significantly below it."""
        return {position for position, p in self.p.items() if p >= LEVEL}


def against_best(scores_by_line: Mapping[Position, Scores]) -> AgainstBest | None:
    """The test of the lines that have the same splits; None where there are no two lines with the same two splits.

    Of several sets of splits, that of most lines is taken; of those, the largest. A line with more splits is compared
    on these.
    """
    n_lines_by_splits = Counter(frozenset(scores) for scores in scores_by_line.values() if len(scores) > 1)
    if not n_lines_by_splits:
        return None
    shared = max(n_lines_by_splits, key=lambda splits: (n_lines_by_splits[splits], len(splits)))
    lines = {
        position: {split: scores[split] for split in sorted(shared)}
        for position, scores in scores_by_line.items()
        if shared <= scores.keys()
    }
    if len(lines) < 2:
        return None
    means = {position: np.mean([np.nanmean(of_split) for of_split in lines[position].values()]) for position in lines}
    best = max(lines, key=lambda position: means[position])
    below = {position: compare_scores(lines[best], lines[position]) for position in lines if position != best}
    corrected = holm([paired.p for paired in below.values()])
    return AgainstBest(len(shared), {best: 1.0, **dict(zip(below, corrected, strict=True))}, below)


def compare_scores(a: Scores, b: Scores) -> Paired:
    """The difference of two lines on the splits that both have, one or more."""
    splits = sorted(a.keys() & b.keys())
    return compare_paired([a[split] for split in splits], [b[split] for split in splits])


def claim(a: str, b: str, paired: Paired, p: float) -> str:
    """The sentence that may be said of two lines; ``p`` is corrected for all comparisons of the question."""
    difference = f"{a} is {paired.difference:.4f} above {b}"
    interval = f"interval {paired.low:.4f} to {paired.high:.4f}"
    if paired.difference < 0:
        difference = f"{b} is {-paired.difference:.4f} above {a}"
        interval = f"interval {-paired.high:.4f} to {-paired.low:.4f}"
    if paired.is_of_one_split:
        return f"On this split {difference} ({interval}): nothing can be claimed of other splits."
    p_text = "p < 0.0001"
    if p >= 0.0001:
        p_text = f"p = {p:.4f}"
    over = f"{interval}, {p_text}, {paired.n_splits} splits, {paired.n_queries:,} queries"
    if p < LEVEL:
        return f"{difference} ({over})."
    return f"{a} and {b} are not significantly different: {difference} ({over})."
