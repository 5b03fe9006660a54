"""Conventions: the metric values that other evaluation code computes for the same codes; one file for each code base.

They differ from the exact metrics, and from each other, in the divisor of AP@k, in the order of tied items, in the
treatment of queries without relevant items, and by defects of that code. Each file says which of these it reproduces.
Use them to check published values; use the metrics to compare methods.
"""

from hashbench.evaluation.conventions._convention import Convention, ConventionValue
from hashbench.foundation.registry import Catalogue

__all__ = ["CONVENTIONS", "Convention", "ConventionValue"]

CONVENTIONS = Catalogue(
    "convention", "hashbench.evaluation.conventions", "CONVENTION", Convention, group="hashbench.conventions"
)
