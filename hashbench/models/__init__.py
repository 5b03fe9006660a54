"""Encoders: one file an architecture, exporting MODEL."""

from hashbench.models._model import Model
from hashbench.registry import Catalogue

MODELS = Catalogue("model", "hashbench.models", "MODEL", Model)
