"""Codes of training examples that are solved for, and a regression of anchor responses to them: SDH and its kin."""

from collections.abc import Callable
from typing import Any

import numpy as np
from pydantic import Field

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._members import labelled_examples
from hashbench.learning.methods._method import Method
from hashbench.learning.methods._shallow import KernelLinear, ShallowSettings, inputs_of, ridge_solution, shallow_method

# settings, members Y [n, classes], pulls nu X P [n, bits], codes [n, bits] of -1 and +1 -> the next codes
Step = Callable[[Any, Floats, Floats, Floats], Floats]


class RegressionSettings(ShallowSettings):
    """X are the RBF responses to ``n_anchors`` random examples; P = (X^T X + ``ridge`` I)^-1 X^T B for codes B."""

    n_anchors: int = Field(ge=1)
    sigma: float = Field(ge=0)  # exp(-||x - a||^2 / (2 sigma^2)); 0: sigma^2 is the mean squared distance
    offset: bool  # whether a column of ones is one of X, so that a bit has an offset
    ridge: float = Field(ge=0)


class AlternatingSettings(RegressionSettings):
    """B, W and P are solved for in turn, ``iterations`` times, or until P changes by ``tolerance`` times its norm."""

    iterations: int = Field(ge=1)
    tolerance: float = Field(ge=0)
    label_ridge: float = Field(gt=0)  # lambda
    pull: float = Field(ge=0)  # nu


def regressed_method(
    module: str,
    settings: type[RegressionSettings],
    learn: Callable[[Any, Floats, Floats, np.random.Generator], Floats],
    *,
    several: bool,
) -> Method:
    """The method ``module`` (a ``__name__``) whose P [m, bits] is ``learn(settings, X, Y, random)``.

    X are the responses [n, m] and Y the classes [n, classes], as 0 and 1. ``several``: whether an example may have
    several labels.
    """
    name = module.rpartition(".")[2]

    def fit(chosen: RegressionSettings, features: Floats, data: TrainingData) -> KernelLinear:
        labelled, members = labelled_examples(name, features, data, several=several)
        random = np.random.default_rng(data.seed)
        inputs, function = inputs_of("kernel", labelled, chosen.n_anchors, random, chosen.sigma**2)
        if chosen.offset:
            inputs = np.column_stack([inputs, np.ones(len(inputs))])
        projection = learn(chosen, inputs, members, random)
        bias = projection[-1] if chosen.offset else None
        linear = function(np.zeros(chosen.n_anchors), projection[: chosen.n_anchors], bias)
        assert isinstance(linear, KernelLinear)
        return linear

    return shallow_method(settings, fit, KernelLinear, supervision="labels")


def alternated(
    step: Step, settings: AlternatingSettings, inputs: Floats, members: Floats, random: np.random.Generator
) -> Floats:
    """P [m, bits] after ``step`` and the regression in turn, from random codes on."""
    solve = ridge_solution(inputs, settings.ridge)
    codes = random.choice([-1.0, 1.0], (len(inputs), settings.bits))
    projection = solve(codes)
    for _ in range(settings.iterations):
        codes = step(settings, members, settings.pull * (inputs @ projection), codes)
        before = projection
        projection = solve(codes)
        if np.linalg.norm(projection - before) <= settings.tolerance * np.linalg.norm(before):
            break
    return projection
