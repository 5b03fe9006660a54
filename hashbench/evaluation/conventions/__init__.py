"""Conventions: what the code of another project would print for the same codes; one file a code base.

Their figures differ from the exact ones, and from each other, in what AP@k is divided by, in the order of tied items,
in what becomes of queries without relevant items, and in defects of their own. Each file says which of these it
reproduces. They exist to check published figures; for a comparison of methods use the metrics.
"""

from hashbench.evaluation.conventions._convention import Convention, ConventionValue
from hashbench.registry import Catalogue

__all__ = ["CONVENTIONS", "Convention", "ConventionValue"]

CONVENTIONS = Catalogue(
    "convention", "hashbench.evaluation.conventions", "CONVENTION", Convention, group="hashbench.conventions"
)
