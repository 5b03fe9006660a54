"""Data of the user: ``hashbench dataset add`` reads a folder of images or a file and stores it as a data set."""

from hashbench.datasets.own.add import add, open_data, remove, require_name
from hashbench.datasets.own.data import Options, OwnData, Rule

__all__ = ["Options", "OwnData", "Rule", "add", "open_data", "remove", "require_name"]
