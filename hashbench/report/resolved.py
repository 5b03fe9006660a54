"""The runs that the cells of all tables need, each resolved once: tables share cells, and cells share runs."""

from dataclasses import dataclass, field

from hashbench.config import canonical_json
from hashbench.runs.spec import RunSpec, resolve
from hashbench.tables.cell import Cell


def run_key(cell: Cell) -> str:
    """What two cells share if they need the same runs."""
    return canonical_json([cell.dataset, cell.protocol, cell.method, cell.settings, cell.budget])


@dataclass
class ResolvedRuns:
    """The specifications of the runs of cells, kept; ``hash_of`` is what :func:`hashbench.tables.collect` asks for."""

    found: dict[tuple[str, int | None], RunSpec] = field(default_factory=dict)

    def of(self, cell: Cell, split_seed: int | None = None) -> RunSpec:
        """The run with seed 0 that the cell needs; raises HashbenchError where a name or setting does not exist."""
        key = run_key(cell), split_seed
        if key not in self.found:
            names = cell.dataset, cell.protocol, cell.method
            self.found[key] = resolve(*names, cell.settings, budget=cell.budget, split_seed=split_seed)
        return self.found[key]

    def hash_of(self, cell: Cell, split_seed: int | None = None) -> str:
        """The digest in the rows that fill the cell."""
        return self.of(cell, split_seed).cell_hash
