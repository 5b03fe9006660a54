"""Encoders: one file an architecture, exporting MODEL; and the classifiers of torchvision by their own names."""

from hashbench.errors import unknown
from hashbench.models._model import Model
from hashbench.registry import Catalogue, canonical

TORCHVISION = "torchvision:"


class Models(Catalogue[Model]):
    """The files of this folder; and, where torchvision is installed, its classifiers.

    These are called ``torchvision:resnet18``, or just ``resnet18`` where no file has that name. They are not among
    ``names``: listing them imports torchvision, which takes seconds.
    """

    def __contains__(self, name: str) -> bool:
        return super().__contains__(name) or self._of_torchvision(name) is not None

    def get(self, name: str) -> Model:
        """The model called ``name``; raises HashbenchError with the nearest names."""
        if super().__contains__(name):
            return super().get(name)
        from hashbench.models import _torchvision

        found = self._of_torchvision(name)
        if found is None:
            raise unknown(self.kind, name, self.names + _torchvision.names())
        return _torchvision.model(found)

    def _of_torchvision(self, name: str) -> str | None:
        from hashbench.models import _torchvision

        stem = canonical(name).removeprefix(TORCHVISION)
        return stem if stem in _torchvision.names() else None


MODELS = Models("model", "hashbench.models", "MODEL", Model)
