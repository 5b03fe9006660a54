"""The stored values themselves as one row an item, in the order height, width, channel; not scaled."""

from math import prod

from hashbench.running.features._catalogue import Extractor, FeatureModule


def _build(item_shape: tuple[int, ...], _value_max: float | None) -> FeatureModule:
    from torch import Tensor, nn

    class Pixels(nn.Flatten):
        """float32 [n, values of an item] of items [n, ...]."""

        def forward(self, items: Tensor) -> Tensor:
            return super().forward(items).float()

    return FeatureModule(Pixels(), prod(item_shape), {"scale": 1})


EXTRACTOR = Extractor("the stored values, one row an item", _build, batch=1000)
