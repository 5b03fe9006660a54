"""The classes of training examples for shallow methods that learn from labels: a 0/1 matrix."""

import numpy as np

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.contract import Floats, TrainingData, TrainingFailed


def labelled_examples(method: str, features: Floats, data: TrainingData, *, several: bool) -> tuple[Floats, Floats]:
    """The ``features`` [m, d] of the examples that have a class, and Y [m, classes]: 1 for each class of an example.

    Classes without an example are left out; the others stand in ascending order. Raises HashbenchError where an
    example has several labels and ``several`` is not set; TrainingFailed for fewer than two classes.
    """
    labels = data.labels
    if labels.ndim == 1:
        members = labels[:, None] == np.unique(labels[labels >= 0])  # a negative number is no class
    else:
        members = labels[:, (labels > 0).any(axis=0)] > 0
    has_class = members.any(axis=1)
    if not several and (members.sum(axis=1) > 1).any():
        raise HashbenchError(f"{method} needs one class for each training example; these have several labels")
    n_classes = members.shape[1]
    if n_classes < 2:
        raise TrainingFailed(f"{method} needs training examples of two classes or more; there are {n_classes}")
    return features[has_class], members[has_class].astype(np.float64)
