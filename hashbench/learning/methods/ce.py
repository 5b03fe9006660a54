"""CE: cross-entropy of a linear classifier on the hash layer, a baseline without quantisation."""

from hashbench.learning import losses
from hashbench.learning.methods._method import ClassSupervision, RowObjective, class_method
from hashbench.learning.training.settings import DeepSettings


def _objective(settings: DeepSettings, classes: ClassSupervision) -> RowObjective:
    return losses.ce.Objective(classes, settings.bits)


METHOD = class_method(__name__, DeepSettings, _objective)
