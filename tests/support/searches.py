"""Searches that nobody made, for tests of what is made of searches; and a root whose experiments a test may change."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.toy_root import toy_root

from hashbench.foundation.config import Setting, parse
from hashbench.running.runs.space import points
from hashbench.running.tuning.search import DEFAULTS, Question, Search, Trial

SPACES: dict[str, Any] = {
    "itq": {"iterations": {"low": 5, "high": 500, "log": True}},
    "lsh": {"centre": {"choices": [False, True, "range"]}},
}
Scores = Mapping[str, Sequence[Sequence[float | None]]]  # of each method: the trials, each with an AP a study


def changed_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with the repository's cards, methods and recipes, whose files can be changed."""
    return toy_root(tmp_path, monkeypatch, "methods", "recipes")


def question(methods: Sequence[str] = ("itq", "lsh"), datasets: Sequence[str] = ("digits",), **more: Any) -> Question:
    """What a search on the digits would ask."""
    values = {"protocol": "s1", "left_out": {name: ["s1"] for name in datasets}, "settings": {"bits": 16}}
    return parse(Question, {**values, "spaces": {name: SPACES[name] for name in methods}, **more}, "test")


def trial(method: str, number: int, ap: float | None, study: int = 0, **more: Any) -> Trial:
    """One line of a search."""
    asks = question()
    of_space = points(asks.spaces[method], number, method)
    searched: dict[str, Setting] = of_space[-1] if number != DEFAULTS else asks.defaults(method)
    ended = {"reason": "it diverged"} if ap is None else {"ap": ap}
    names = {"method": method, "trial": number, "dataset": "digits", "study": study, "run": f"{method}-{number}"}
    return Trial.model_validate({**names, "searched": searched, **ended, **more})


def search_of(scores: Scores, name: str = "small", datasets: Sequence[str] = ("digits",), **more: Any) -> Search:
    """A search on each data set with the same ``scores``; None is a trial that failed."""
    trials = [
        trial(method, number, ap, study, dataset=dataset)
        for method, of_trials in scores.items()
        for number, of_studies in enumerate(of_trials, 1)
        for study, ap in enumerate(of_studies)
        for dataset in datasets
    ]
    return Search(name, question(list(scores), datasets, **more)).with_trials(trials)
