"""Product quantisation (Jégou, Douze, Schmid 2011): k-means in each of bits / 8 sub-spaces, runs of the features."""

from hashbench.learning.contract import Floats
from hashbench.learning.methods._products import ProductSettings, codebooks, product_method


def _fit(settings: ProductSettings, features: Floats, seed: int) -> tuple[Floats, None]:
    centroids, _ = codebooks(features, settings.bits // 8, settings.kmeans_iterations, seed)
    return centroids, None


METHOD = product_method(ProductSettings, _fit)
