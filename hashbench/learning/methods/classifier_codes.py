"""Codes of a classifier's output: the code of an item is that of its predicted class (Sablayrolles et al. 2017).

They outdo supervised hashing where the classes of queries are those of training; a longer code corrects nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.lazy import Lazy
from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._members import labelled_examples
from hashbench.learning.methods._shallow import HashFunction, ShallowSettings, shallow_method, standardisation
from hashbench.learning.steps import Step, add, codeword, project

linear_model = Lazy("sklearn.linear_model")


class Settings(ShallowSettings):
    """``penalty`` times ||W||^2 / 2 is added to the mean loss of the standardised features; see ``logistic``."""

    penalty: float = Field(gt=0)
    iterations: int = Field(ge=1)


@dataclass(frozen=True, eq=False)
class ClassCodes(HashFunction):
    """The code of the class with the largest logit; logits = features @ weight + bias."""

    weight: Floats  # [d, classes]
    bias: Floats  # [classes]
    codewords: Floats  # [classes, bits] of -1 and 1

    def steps(self) -> list[Step]:
        """The steps from features [n, d] to activations [n, bits]."""
        logits = [Step(project, {"weights": self.weight}), Step(add, {"by": self.bias})]
        return [*logits, Step(codeword, {"codewords": self.codewords})]


def _fit(settings: Settings, features: Floats, data: TrainingData) -> ClassCodes:
    labelled, members = labelled_examples("classifier_codes", features, data, several=False)
    codewords = hadamard_codes(members.shape[1], settings.bits)
    return ClassCodes(*logistic(labelled, members.argmax(axis=1), settings), codewords)


def hadamard_codes(classes: int, bits: int) -> Floats:
    """Codewords [classes, bits] of -1 and 1: parities of c AND column j; HashbenchError if two would be equal."""
    needed = (classes - 1).bit_length()
    if bits < needed:
        raise HashbenchError(f"{bits} bits for {classes} classes: at least {needed} bits")
    # c in binary, then all other columns up to N - 1, again and again: with all, two codewords differ in N / 2 bits
    powers = [1 << i for i in range(needed)]
    columns = np.array(powers + [j for j in range(1, 1 << needed) if j not in powers])
    shared = np.arange(classes)[:, None] & np.resize(columns, bits)
    return np.where(np.bitwise_count(shared) % 2 == 1, 1.0, -1.0)


def logistic(features: Floats, labels: NDArray[np.intp], settings: Settings) -> tuple[Floats, Floats]:
    """The weight [d, classes] and the bias [classes] of multinomial logistic regression on standardised features."""
    mean, scale = standardisation(features)
    c = 1 / (settings.penalty * len(features))
    model = linear_model.LogisticRegression(C=c, max_iter=settings.iterations).fit((features - mean) / scale, labels)
    # for two classes scikit-learn gives the logit of the second one alone
    coefficients = model.coef_.T
    intercept = model.intercept_
    if coefficients.shape[1] == 1:
        coefficients = np.hstack([-coefficients, coefficients])
        intercept = np.hstack([-intercept, intercept])
    weight = coefficients / scale[:, None]
    return weight, intercept - mean @ weight


METHOD = shallow_method(Settings, _fit, ClassCodes, supervision="labels")
