"""``hashbench search`` draws the images that a run retrieves for some queries."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli import _complete
from hashbench.cli._options import Device
from hashbench.cli._program import program

if TYPE_CHECKING:
    from hashbench.codes.nearest import Neighbours
    from hashbench.datasets.readers import Items
    from hashbench.datasets.split import Split
    from hashbench.datasets.store import Dataset
    from hashbench.evaluation.report import Tile
    from hashbench.relevance.labels import Labels


def command(
    context: typer.Context,
    run: Annotated[
        str,
        typer.Argument(
            help="Name of a run, as train prints it, or the start of the name.", autocompletion=_complete.runs
        ),
    ],
    items: Annotated[
        Path | None,
        typer.Argument(
            help="Your own queries: a folder of images, FILE.npy or FILE.h5. Default: some of the run's queries."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The .png file to write.")] = ...,  # type: ignore[assignment]
    top: Annotated[int, typer.Option(min=1, max=50, help="Number of images to show for each query.")] = 10,
    queries: Annotated[int, typer.Option(min=1, max=100, help="Number of queries, spread evenly over all.")] = 8,
    device: Device = "auto",
) -> None:
    """Draw the images of a run's database that are nearest to some queries.

    The first column shows the queries. Below each image are its rank and its Hamming distance d; tied images share
    their ranks, for example 2-5. Irrelevant images are marked red; for your own queries, whose labels are unknown,
    none is.
    """
    from hashbench.datasets.card import load_card
    from hashbench.errors import HashbenchError
    from hashbench.evaluation.report import write_contact_sheet
    from hashbench.files import require_output
    from hashbench.hasher import CODES, BinaryHasher
    from hashbench.runs.data import open_data, own_rows
    from hashbench.runs.fit import load_hasher, not_here
    from hashbench.runs.options import Options
    from hashbench.runs.spec import of_row
    from hashbench.runs.store import Store

    require_output(out)
    store = Store.default()
    row = store.named(run)
    spec, hasher = of_row(row), load_hasher(row, store, device, program(context))
    if isinstance(hasher, BinaryHasher) and not (store.run_folder(row.run) / CODES).exists():
        raise not_here(row, store, program(context))
    data = open_data(spec, Options(device=device, progress=True))
    if data.dataset.items.ndim != 4:
        raise HashbenchError(f"{row.run}: {data.dataset.name} has features, and no images to show")
    chosen, labels, names = _chosen(items, data.dataset, data.ids, queries)
    found = hasher.nearest(own_rows(spec, chosen, device).whole(), store.run_folder(row.run), top)
    value_max = load_card(spec.dataset).value_max or 255
    write_contact_sheet(out, _rows(found, chosen, labels, names, data.dataset, data.ids), value_max)
    typer.echo(str(out))


def _chosen(path: Path | None, data: "Dataset", ids: "Split", queries: int) -> "tuple[Items, Labels | None, list[str]]":
    """The query images, their labels if they are known, and a name for each."""
    from hashbench.datasets import own_items
    from hashbench.datasets.card import load_card

    if path is not None:
        own = own_items.read(path, data.items.shape[1:], value_max=load_card(data.name).value_max)
        rows = _evenly(len(own.names), queries)
        return own.items[rows], None, [own.names[row] for row in rows]
    chosen = ids.query_ids[_evenly(len(ids.query_ids), queries)]
    return data.items[chosen], data.labels[chosen], [f"query {item}" for item in chosen]


def _evenly(n: int, wanted: int) -> list[int]:
    """``wanted`` of the rows 0 .. n - 1, evenly spaced; all of them if there are fewer."""
    return list(range(n)) if n <= wanted else [n * place // wanted for place in range(wanted)]


def _rows(
    nearest: "list[Neighbours]",
    images: "Items",
    labels: "Labels | None",
    names: list[str],
    data: "Dataset",
    ids: "Split",
) -> "list[list[Tile]]":
    from hashbench.evaluation.report import Tile
    from hashbench.relevance.labels import from_labels

    rows = []
    for q, (name, found) in enumerate(zip(names, nearest, strict=True)):
        items = ids.database_ids[found.items]
        wrong = [False] * len(items)
        if labels is not None:
            relevance = from_labels(labels[q : q + 1], data.labels[items])
            wrong = (relevance.block(slice(0, 1), slice(0, len(items)))[0] == 0).tolist()
        places = zip(found.first.tolist(), found.last.tolist(), found.distances.tolist(), strict=True)
        captions = [f"{first if first == last else f'{first}-{last}'}, d={d}" for first, last, d in places]
        tiles = zip(data.items[items], captions, wrong, strict=True)
        rows.append([Tile(images[q], name), *(Tile(*tile) for tile in tiles)])
    return rows
