"""The stored values themselves as one row an item, in the order height, width, channel; not scaled."""

from hashbench.features._extractor import Extractor, FeatureModule


def _build(item_shape: tuple[int, ...], value_max: float | None) -> FeatureModule:  # noqa: ARG001  (the signature of all extractors)
    import math

    from hashbench.features._pixels import Pixels

    return FeatureModule(Pixels(), math.prod(item_shape), {"scale": 1})


EXTRACTOR = Extractor("the stored values, one row an item", _build, batch=1000)
