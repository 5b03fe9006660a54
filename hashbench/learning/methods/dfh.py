"""DFH: pairwise likelihood, with codes near binary centres of their classes (Li, Pei, Zha, van Gemert 2019)."""

from functools import partial

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods import dpsh
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import DeepSettings


class Settings(DeepSettings):
    """Examples are compared within a batch, or ("memory") with the last outputs of all training examples."""

    margin: float = Field(ge=0)  # of half the inner product
    mu: float = Field(ge=0)  # how much of its centre is in the code of an example, besides its outputs
    vul: float = Field(ge=0)  # the weight of the distances between centres
    eta: float = Field(ge=0)  # the weight of the quantisation term, a mean over bits
    pairing: dpsh.Pairing = "memory"


def _objective(settings: Settings, supervision: Supervision) -> Objective:
    assert isinstance(supervision, losses.LabelSupervision)  # a distance has no classes
    if settings.pairing == "memory":
        pairs: Objective = losses.dfh.MemoryLikelihood(supervision, settings.bits, margin=settings.margin)
    else:
        pairs = partial(losses.dfh.loss, margin=settings.margin)
    likelihood = losses.as_row_objective(pairs, supervision)
    labels = supervision.labels
    return losses.dfh.Objective(likelihood, labels, settings.bits, mu=settings.mu, vul=settings.vul, eta=settings.eta)


METHOD = deep_method(__name__, Settings, _objective, needs="labels")
