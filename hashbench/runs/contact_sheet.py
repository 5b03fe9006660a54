"""The contact sheet of a run: images of queries, and beside each the images that the run finds nearest."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hashbench.codes.nearest import Neighbours, spread
from hashbench.contract import CODES, BinaryHasher
from hashbench.datasets.card import Card
from hashbench.datasets.own import inputs
from hashbench.datasets.readers import Items
from hashbench.evaluation.report import Tile, write_contact_sheet
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import require_output
from hashbench.relevance.labels import Labels, from_labels
from hashbench.runs.command import PROGRAM
from hashbench.runs.data import RunData, open_data, own_rows
from hashbench.runs.guard import load_hasher, not_here
from hashbench.runs.run import Options, Run
from hashbench.runs.store import Store


def draw(
    name: str,
    store: Store,
    own: Path | None,
    out: Path,
    *,
    top: int,
    n_queries: int,
    device: str = "auto",
    program: Sequence[str] = PROGRAM,
) -> None:
    """Writes the ``top`` nearest images of ``n_queries`` queries, spread evenly, ``own`` ones or the run's."""
    require_output(out)
    row = store.named(name)
    run, folder = Run.from_row(row), store.run_folder(row.run)
    hasher = load_hasher(row, store, device, program)
    if isinstance(hasher, BinaryHasher) and not (folder / CODES).exists():
        raise not_here(row, store, program)
    data = open_data(run, Options(device=device, progress=True))
    if data.dataset.items.ndim != 4:
        raise HashbenchError(f"{row.run}: {data.dataset.name} has features, and no images to show")
    images, labels, names = _queries(own, data, n_queries)
    found = hasher.nearest(own_rows(run, images, device).whole(), folder, top)
    tiles = (_tiles(each, data, None if labels is None else labels[q : q + 1]) for q, each in enumerate(found))
    rows = [[Tile(*query), *nearest] for *query, nearest in zip(images, names, tiles, strict=True)]
    title = f"{row.run}: queries, and the items nearest to each: rank, distance d, class"
    write_contact_sheet(out, title, rows, run.card.value_max or 255)


def _queries(own: Path | None, data: RunData, wanted: int) -> tuple[Items, Labels | None, list[str]]:
    """The query images, their labels if they are known, and a name for each."""
    dataset, ids = data.dataset, data.ids.query_ids
    read = None if own is None else inputs.read(own, dataset.items.shape[1:], value_max=data.run.card.value_max)
    n = len(ids if read is None else read.names)
    rows = spread(n, wanted)
    if read is not None:
        return read.items[rows], None, [read.names[row] for row in rows]
    labels = dataset.labels[ids[rows]]
    captions = [f"query {item}\n{of}" for item, of in zip(ids[rows], class_texts(labels, data.run.card), strict=True)]
    return dataset.items[ids[rows]], labels, captions


def _tiles(found: Neighbours, data: RunData, label: Labels | None) -> list[Tile]:
    """The items that were found, each with its rank and distance; red if ``label`` says that it is not relevant."""
    items = data.ids.database_ids[found.items]
    classes = class_texts(data.dataset.labels[items], data.run.card)
    wrong = [False] * len(items)
    if label is not None:
        relevance = from_labels(label, data.dataset.labels[items])
        wrong = (relevance.block(slice(0, 1), slice(0, len(items)))[0] == 0).tolist()
    places = zip(found.first.tolist(), found.last.tolist(), found.distances.tolist(), strict=True)
    ranks = [f"{first if first == last else f'{first}-{last}'}, d={d}" for first, last, d in places]
    captions = [f"{rank}\n{of}" for rank, of in zip(ranks, classes, strict=True)]
    return [Tile(*tile) for tile in zip(data.dataset.items[items], captions, wrong, strict=True)]


def class_texts(labels: Labels, card: Card) -> list[str]:
    """The names of the classes of each item, or such as "class 3" where the card has no names; empty without labels."""
    names = card.class_names or [f"class {n}" for n in range(card.n_classes)]
    of_each = [[label] if labels.ndim == 1 else np.flatnonzero(label) for label in labels]
    return [", ".join(names[n] for n in classes) for classes in of_each]
