"""Some queries and the images that a run retrieves for them: a line for each query, false ones in red boxes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.contract import CODES
from hashbench.running.runs.data import split_of
from hashbench.running.runs.guard import not_here
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import files
from hashbench.scoring.codes.nearest import Neighbours, neighbours, spread
from hashbench.scoring.relevance.labels import from_labels
from hashbench.showing.figures._declared import CellsFile, FigureSpec, Kind
from hashbench.showing.figures._drawing import WIDTHS_IN, Drawing, Figure, explain, nothing
from hashbench.showing.figures._matplotlib import patches
from hashbench.showing.sheet import Value
from hashbench.showing.tables.cell_runs import cell_hash

FALSE = "#D62728"
BELOW_IN = 0.2  # for the explanation

Box = tuple[int, int, int, int]  # left, upper, width and height of an image, in pixels


class ExamplesFile(CellsFile):
    """The keys of such a figure: its one cell, the number of queries, and of images shown for each."""

    queries: int = Field(default=16, ge=1, le=100)
    top: int = Field(default=8, ge=1, le=50)


@dataclass(frozen=True, eq=False)
class _Example:
    """One line of the figure; images are [height, width, 1 or 3] of values 0 to 255, ids those of the data set."""

    id: int
    image: NDArray[Any]
    nearest: Neighbours
    ids: list[int]
    images: list[NDArray[Any]]
    wrong: list[bool]

    def lines(self, place: int) -> Iterator[dict[str, Value]]:
        """The lines of the CSV for this query; ``item`` and ``query_item`` are the ids of the data set."""
        for n, (item, wrong) in enumerate(zip(self.ids, self.wrong, strict=True)):
            ranks = {"first_rank": int(self.nearest.first[n]), "last_rank": int(self.nearest.last[n])}
            line = {"place": n + 1, "item": item, **ranks, "distance": int(self.nearest.distances[n])}
            yield {"query": place, "query_item": self.id, **line, "relevant": not wrong}


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure of the first seed whose working files are here; with none of them, nothing is drawn or removed."""
    file: ExamplesFile = figure.file
    (cell,) = figure.cells
    digest = cell_hash(cell)
    of_cell = sorted((row for row in rows if row.cell_hash == digest and row.status == "ok"), key=lambda row: row.seed)
    if not of_cell:
        return nothing("nothing is measured; nothing is drawn")
    row = next((row for row in of_cell if (store.run_folder(row.run) / CODES).is_file()), of_cell[0])
    try:
        examples = list(_examples(row, file, store))
    except HashbenchError as error:  # the rows are kept in the repository, the working files and the data are not
        return nothing(f"not drawn here: {error}", keeps_files=True)
    marks = "Left: query. Red boxes: of another class. Tied images are in the order of the database."
    sheet, boxes = _sheet(examples, file.panels_across, file.top)
    height, width, _ = sheet.shape
    width_in = WIDTHS_IN[file.width]
    points = [line for place, example in enumerate(examples, 1) for line in example.lines(place)]
    draw = partial(_draw, sheet, boxes, f"{cell.row}, {cell.column}, {cell.section}, seed {row.seed}. {marks}")
    size_in = width_in, width_in * height / width + BELOW_IN
    return Drawing(points, size_in, draw, len(points), has_photographs=True)


def _check(figure: FigureSpec) -> None:
    if (n := len(figure.cells)) != 1:
        raise figure.error(f"{n} cells; ranking_examples draws the images of one run, so one cell is expected")
    if (card := figure.cells[0].card).kind != "images":
        raise figure.error(f"{card.name} has features, and no images to show")


def _examples(row: Row, file: ExamplesFile, store: Store) -> Iterator[_Example]:
    """The lines of queries, spread evenly; HashbenchError where codes or data are not here, or not of the row."""
    path = store.run_folder(row.run) / CODES
    if not path.is_file():
        raise not_here(row, store)
    codes = files.load(path)
    dataset, ids = split_of(row)
    value_max = Run.from_row(row).card.value_max or 255
    for q in spread(len(ids.query_ids), file.queries):
        query = int(ids.query_ids[q])
        nearest = neighbours(codes.query[q : q + 1], codes.database, file.top)
        items = ids.database_ids[nearest.items]
        relevance = from_labels(dataset.labels[query : query + 1], dataset.labels[items])
        yield _Example(
            id=query,
            image=_in_bytes(dataset.items[query], value_max),
            nearest=nearest,
            ids=items.tolist(),
            images=[_in_bytes(dataset.items[int(item)], value_max) for item in items],
            wrong=(relevance.block(slice(0, 1), slice(0, len(items)))[0] == 0).tolist(),
        )


def _in_bytes(image: NDArray[Any], value_max: float) -> NDArray[np.uint8]:
    """The image with values 0 to 255, as uint8, where ``value_max`` becomes 255; values outside become 0 or 255."""
    if image.dtype == np.uint8 and value_max == 255:
        return image
    return np.clip(np.rint(image * (255 / value_max)), 0, 255).astype(np.uint8)


def _sheet(examples: list[_Example], across: int, top: int) -> tuple[NDArray[np.uint8], list[Box]]:
    """The lines in ``across`` blocks side by side, as one picture of the images' own pixels, and the false images."""
    longer = max(examples[0].image.shape[:2])  # all images of a data set have the same longer side
    gap = max(1, longer // 8)  # between two images; twice as wide beside a query, four times between blocks
    step = longer + gap
    down = -(-len(examples) // across)
    block_width = (1 + top) * step + 5 * gap
    # a grey image has its value in each colour
    sheet = np.full((down * step + gap, across * block_width - 4 * gap, 3), 255, np.uint8)
    boxes = []
    for n, example in enumerate(examples):
        block, line = divmod(n, down)
        left = block * block_width + gap
        upper = line * step + gap
        shown = zip([example.image, *example.images], [False, *example.wrong], strict=True)
        for place, (image, wrong) in enumerate(shown):
            x = left + place * step + gap * (place > 0)
            height, width = image.shape[:2]
            sheet[upper : upper + height, x : x + width] = image
            if wrong:
                boxes.append((x, upper, width, height))
    return sheet, boxes


def _draw(sheet: NDArray[np.uint8], boxes: list[Box], text: str, figure: Figure) -> None:
    ax = figure.add_subplot()
    height, width, _ = sheet.shape
    for left, upper, *size in boxes:
        ax.add_patch(patches.Rectangle((left, upper), *size, fill=False, edgecolor=FALSE, linewidth=1.4))
    # extent: a pixel is where its indices are, and not half a pixel beside
    ax.imshow(sheet, extent=(0, width, height, 0), interpolation="nearest")
    ax.axis("off")
    explain(figure, text)


KIND = Kind("queries with the images that a run retrieves, false ones in red boxes", ExamplesFile, _fill, _check)
