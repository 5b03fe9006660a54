"""A figure that is drawn from the working files of runs: one cell for each row, and the files of its runs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from hashbench.figures._drawing import Drawing
from hashbench.figures._kind import FigureSpec
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.store import Row, Store
from hashbench.tables.cell import Cell
from hashbench.tables.collect import cell_hash

T = TypeVar("T")


def check(figure: FigureSpec) -> None:
    """Raises HashbenchError unless each row has one cell, all in one section and on one database."""
    cells = cells_of(figure)
    labels = [cell.row for cell in cells]
    if again := next((label for label in labels if labels.count(label) > 1), None):
        raise figure.error(f"row {again!r} has several cells; a figure of curves draws one run of each row")
    if len({(cell.section, cell.dataset, cell.protocol) for cell in cells}) > 1:
        raise figure.error("several sections or data sets; a figure of curves shows one")


def cells_of(figure: FigureSpec) -> Sequence[Cell]:
    """The cells that are drawn, one for each row."""
    assert figure.cells is not None
    return figure.cells.cells


def found(
    figure: FigureSpec, rows: Sequence[Row], store: Store, read: Callable[[Row], T | None]
) -> Iterator[tuple[str, list[T]]]:
    """What ``read`` finds of the runs of each measured cell, by the label of its row; None of a run without files.

    Raises HashbenchError where a cell is measured and ``read`` finds nothing of any of its runs.
    """
    from hashbench.runs.fit import not_here

    for cell in cells_of(figure):
        digest = cell_hash(cell)
        measured = [row for row in rows if row.cell_hash == digest and row.status == "ok"]
        values = [value for row in measured if (value := read(row)) is not None]
        if measured and not values:
            raise not_here(min(measured, key=lambda row: row.seed), store)
        if values:
            yield cell.row, values


def nothing(missing: str, *, keeps_files: bool = False) -> Drawing:
    """A drawing of which nothing is drawn; ``missing`` says why."""
    return Drawing([], (0, 0), lambda _: None, 0, missing, keeps_files=keeps_files)


def how_many(counts: Iterable[int]) -> str:
    """The runs behind each curve: "3 runs", or "1 to 3 runs"."""
    counts = set(counts)
    least, most = min(counts), max(counts)
    runs = "run" if most == 1 else "runs"
    return f"{most} {runs}" if least == most else f"{least} to {most} {runs}"


def measured_line(n: int, figure: FigureSpec) -> str | None:
    """The line that says of how many methods something is drawn; None where that is all."""
    n_cells = len(cells_of(figure))
    return None if n == n_cells else f"{n} of {n_cells} methods are measured"


def unless_not_here(draw: Callable[[], Drawing | None]) -> Drawing:
    """What ``draw`` returns; where it finds nothing measured, or the files are not here, a drawing of nothing."""
    try:
        drawing = draw()
    except HashbenchError as error:  # the rows are kept in the repository, the working files are not
        return nothing(f"not drawn here: {error}", keeps_files=True)
    return drawing or nothing("nothing is measured; nothing is drawn")
