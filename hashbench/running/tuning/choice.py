"""What a search found: the best trial of each method, and the best AP after k trials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.config import Setting
from hashbench.running.runs.space import EXPLORED, End, at_edge
from hashbench.running.tuning.search import DEFAULTS, METRIC, Search, Trial, first_scores, title_of

Floats = NDArray[np.float64]
FINALISTS = 5  # trials of a method of which every repeat is run
MOST_FAILED = 0.2  # of the trials of a method; its space is a wrong one if more of them fail


@dataclass(frozen=True)
class Choice:
    """The trial of a method with the highest score: the median over its studies, and the mean of this over data sets.

    It is one of the trials with the most studies: a trial that was run once may have been lucky. Of trials that are
    equal it is the first one.
    """

    method: str
    trial: int
    searched: dict[str, Setting]
    score: float  # AP, or another metric of the search
    lowest: float  # of the trial in any study, as `highest`, means over the data sets
    highest: float
    n_trials: int  # beside that of our defaults
    n_failed: int  # of these, whose first study failed on a data set; the best five are of the others
    edges: dict[str, End]  # settings whose chosen value is at an end of their range that could be wider
    search_again: list[str]  # why the space should be changed and searched again; empty where the choice can stand
    failure: str | None = None  # the first reason, if no trial has a score: nothing is chosen then
    metric: str = METRIC

    def said(self, search: str) -> str:
        """What a recipe says of it."""
        return f"tune/{search}.jsonl: trial {self.number}, held-out {title_of(self.metric)} {self.score:.3f}"

    @property
    def number(self) -> str:
        """Its number, and of how many trials: 7 of 24, or 0 (our defaults) of 24."""
        addition = " (our defaults)" if self.trial == DEFAULTS else ""
        return f"{self.trial}{addition} of {self.n_trials}"


def choices(search: Search) -> list[Choice]:
    """The choice of each method that has trials, the best first."""
    chosen = [_choice(search, method) for method in search.question.spaces if search.of_method(method)]
    return sorted(chosen, key=lambda choice: -choice.score)


@dataclass(frozen=True)
class OnDataset:
    """What a method has on one data set: with the trial that is best there, and with those chosen on other data."""

    dataset: str
    best: float
    of_all: float  # with the trial chosen on all data sets
    of_others: float  # with the one chosen on the others, on which this data set had no influence


def on_each_dataset(search: Search, method: str) -> list[OnDataset]:
    """How well one choice serves each data set of the ``search``; empty if there is one data set only."""
    datasets = search.question.datasets
    if len(datasets) < 2:
        return []
    scores: dict[int, dict[str, float]] = {}
    for number, studies in in_common_studies(search.of_method(method)).items():
        medians = {dataset: median(aps) for dataset, aps in _by_dataset(studies).items()}
        scores[number] = {dataset: medians.get(dataset, 0.0) for dataset in datasets}

    def chosen_on(names: Sequence[str]) -> int:
        return max(scores, key=lambda number: (mean(scores[number][name] for name in names), -number))

    of_all = _choice(search, method).trial
    rows = []
    for dataset in datasets:
        others = [name for name in datasets if name != dataset]
        numbers = chosen_on([dataset]), of_all, chosen_on(others)
        rows.append(OnDataset(dataset, *(scores[number][dataset] for number in numbers)))
    return rows


def _choice(search: Search, method: str) -> Choice:
    trials = search.of_method(method)
    most = max(map(len, trials.values()))
    scores = {number: score_of(studies) for number, studies in trials.items() if len(studies) == most}
    best = max(scores, key=lambda number: (scores[number], -number))
    by_study = [mean(values) for values in zip(*_by_dataset(trials[best]).values(), strict=False)]
    searched = trials[best][0].searched
    space = search.question.spaces[method]
    reasons = [trial.reason for studies in trials.values() for trial in studies if trial.reason is not None]
    failure = None
    if reasons and not scores[best]:
        failure = reasons[0]
    of_space = _of_space(trials)
    n_failed = sum(any(trial.study == 0 and trial.reason for trial in studies) for studies in of_space.values())
    edges: dict[str, End] = {}
    if failure is None and best != DEFAULTS:
        edges = at_edge(space, searched)
    search_again = [f"{key} = {searched[key]} is at the {end} end of {space[key]}" for key, end in edges.items()]
    if n_failed > MOST_FAILED * len(of_space):
        search_again.insert(0, f"{n_failed} of {len(of_space)} trials failed")
    return Choice(
        method=method,
        trial=best,
        searched=searched,
        score=scores[best],
        lowest=min(by_study),
        highest=max(by_study),
        n_trials=len(of_space),
        n_failed=n_failed,
        edges=edges,
        search_again=search_again,
        failure=failure,
        metric=search.question.metric,
    )


def _of_space(trials: Mapping[int, list[Trial]]) -> dict[int, list[Trial]]:
    """The ``trials`` by number without our defaults, which are no point of the space."""
    return {number: studies for number, studies in trials.items() if number != DEFAULTS}


def finalists(trials: Mapping[int, Sequence[Trial]]) -> list[int]:
    """The numbers of the ``FINALISTS`` of ``trials``, by number, with the highest score in their first study."""
    scores = first_scores(trials)
    return sorted(scores, key=lambda number: (-scores[number], number))[:FINALISTS]


def in_common_studies(trials: Mapping[int, Sequence[Trial]]) -> dict[int, list[Trial]]:
    """The ``trials`` by number with those studies only that each of them has, so that all are scored alike.

    The best five alone have the later studies, and a trial's AP in one study varies more than its median over three.
    """
    studies_of_trials = [{trial.study for trial in studies} for studies in trials.values()]
    common = set.intersection(*studies_of_trials) if trials else set()
    return {
        number: [trial for trial in studies if trial.study in common] or list(studies)
        for number, studies in trials.items()
    }


def scores_alike(search: Search, method: str) -> list[float]:
    """The score of each trial of a method, in order, over the studies that all of them have, without our defaults.

    Trials that lie around the best so far are left out: a mean over orders supposes that no trial knows of another one.
    """
    alike = in_common_studies(_of_space(search.of_method(method)))
    return [
        score_of(studies) for number, studies in alike.items() if number <= EXPLORED or not search.question.is_two_stage
    ]


def score_of(studies: Sequence[Trial]) -> float:
    """The score of one trial: the median over its studies, 0 where one failed, and the mean of this over data sets."""
    return mean(median(values) for values in _by_dataset(studies).values())


def _by_dataset(studies: Sequence[Trial]) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = {}
    for trial in studies:
        scores.setdefault(trial.dataset, []).append(trial.score or 0.0)
    return scores


def best_after(scores: Sequence[float]) -> tuple[Floats, Floats]:
    """Mean and standard deviation [n] of the best of the first k = 1 .. n of the ``scores`` [n], over all their orders.

    The i-th smallest is the best of k of n with the probability C(i - 1, k - 1) / C(n, k): the expected validation
    performance of Dodge et al. 2019 [dodge2019show], drawn without replacement.
    """
    n = len(scores)
    ordered = np.sort(np.asarray(scores, np.float64))
    means = np.empty(n)
    deviations = np.empty(n)
    weights = np.full(n, 1 / n)  # k = 1
    for k in range(1, n + 1):
        means[k - 1] = weights @ ordered
        deviations[k - 1] = np.sqrt(max(0.0, weights @ np.square(ordered) - means[k - 1] ** 2))
        if k < n:  # C(i-1, k) / C(n, k+1) = C(i-1, k-1) / C(n, k) * (i - k) / k * (k + 1) / (n - k)
            weights = weights * np.maximum(0, np.arange(1, n + 1) - k) / k * (k + 1) / (n - k)
    return means, deviations
