"""One cell of a table: its position, what must be run to fill it, and the published value."""

from typing import Literal

from hashbench.foundation.config import Setting, Strict, canonical_json

Evaluation = Literal["database", "weighted", "test"]
PrintedAs = Literal["fraction", "percent", "number"]


class Cell(Strict):
    """One cell, with every key given; ``row`` and ``column`` are the labels that say where it stands.

    ``published`` is the paper's value as a fraction, never a percent; None where the paper prints none.
    """

    section: str
    row: str
    column: str
    dataset: str
    protocol: str
    method: str
    settings: dict[str, Setting]
    metric: str
    # what the queries search: the database, also by weighted distances, or (sparse codes only) each other
    evaluation: Evaluation
    budget: str
    tolerance: float | None  # how far the measured mean may be from the published value
    published: float | None
    tie_aware: bool | None  # whether the published value takes ties into account
    citation: str  # key of the paper that printed the value
    printed_as: PrintedAs

    @property
    def run_key(self) -> str:
        """What two cells share if they need the same runs: they differ in their metric or their place only."""
        return canonical_json([self.dataset, self.protocol, self.method, self.settings, self.budget])
