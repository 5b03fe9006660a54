"""The splits on which the cells of a table are measured."""

from hashbench.datasets.card import load_card
from hashbench.datasets.protocol import split_seeds
from hashbench.tables.cell import Cell


def splits_of(cell: Cell, n: int) -> list[int | None]:
    """The seeds of the first ``n`` splits of the cell's protocol; None is the protocol's own.

    Raises HashbenchError if ``n`` is more than 1 and the protocol has one split.
    """
    title = f"{cell.dataset} {cell.protocol}"
    return [None] if n == 1 else split_seeds(load_card(cell.dataset).protocol(cell.protocol), n, title)
