"""Product quantisation (Jégou, Douze, Schmid 2011): k-means in each of bits / 8 sub-spaces, runs of the features."""

from hashbench.contract import Floats
from hashbench.methods._quantiser import Quantiser, QuantiserSettings, codebooks, quantising_method


def _fit(settings: QuantiserSettings, features: Floats, seed: int) -> Quantiser:
    return Quantiser(codebooks(features, settings.bits // 8, settings.kmeans_iterations, seed)[0])


METHOD = quantising_method(QuantiserSettings, _fit)
