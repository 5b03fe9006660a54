"""Methods: one file a published method, exporting METHOD; hyper-parameters in ``experiments/methods/``."""

from hashbench.methods._method import Method
from hashbench.registry import Catalogue

METHODS = Catalogue("method", "hashbench.methods", "METHOD", Method)
