"""``hashbench dataset`` adds data of your own as a data set, or removes them."""

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hashbench.datasets.card import Card
    from hashbench.datasets.own import OwnData

app = typer.Typer(rich_markup_mode=None)
MOST_CLASSES = 10  # that are shown


@app.command("add", short_help="Add a folder of images or a file as a data set.")
def add(
    name: Annotated[str, typer.Argument(help="The name that the data set gets.")],
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER|FILE",
            help="A folder with a subfolder of images for each class; or .npz .npy .h5 .mat .csv.",
        ),
    ],
    items: Annotated[str | None, typer.Option(metavar="KEY", help="The array of the items in the file.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="KEY|FILE[:KEY]|COLUMN", help="The array of the labels; or another file; or the column of a .csv."
        ),
    ] = None,
    size: Annotated[
        int | None, typer.Option(min=1, max=4096, metavar="N", help="Resize the images of a folder to N x N pixels.")
    ] = None,
    queries_per_class: Annotated[
        int | None, typer.Option(min=1, help="Queries of each class. Default: a tenth of the smallest, at most 100.")
    ] = None,
    train_per_class: Annotated[
        int | None, typer.Option(min=1, help="Training items of each class. Default: the whole database.")
    ] = None,
    queries: Annotated[
        int | None, typer.Option(min=1, help="Queries drawn from all items, whatever their classes.")
    ] = None,
    train: Annotated[int | None, typer.Option(min=1, help="Training items drawn from all items.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the draw.")] = 0,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="The first row of a .csv has names. Default: found out.")
    ] = None,
    value_max: Annotated[
        int, typer.Option(min=1, max=255, help="The value of white in images of a file of arrays.")
    ] = 255,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a data set of yours that has this name.")] = False,
) -> None:
    """Add data of your own as a data set: train, features, search, split, tables then work as for any other.

    The items are copied into the data folder, and a card is written there. The queries and training items are drawn
    once; the protocol is called own. Images of a folder are kept as they are if all have one size; otherwise give
    --size. In a file, arrays called items (images, data, features, x) and labels (label, targets, classes, y) are
    found; name others with --items and --labels. Labels are numbers, strings, or columns of 0 and 1.
    """
    from hashbench.datasets import own
    from hashbench.foundation.progress import note

    rule = own.Rule(queries_per_class, train_per_class, queries, train, seed)
    own.require_name(name, replace=replace)  # before the data are read
    options = own.Options(items, None if labels is None else _absolute(labels), size, header, value_max)
    data = own.open_data(path, options)
    card = own.add(name, data, rule, options, replace=replace)
    typer.echo(_text(card, data))
    if data.is_images and path.is_file() and (largest := next(data.blocks()).max()) <= value_max // 4:
        note(
            f"note: the first images have values up to {largest}, and {value_max} is white: if {largest} is, give "
            f"--value-max {largest} --replace"
        )


def _absolute(labels: str) -> str:
    """FILE or FILE:KEY with the whole path, because the card keeps it for any current folder; a KEY as it is."""
    file, colon, key = (labels, "", "") if Path(labels).is_file() else labels.rpartition(":")
    return f"{Path(file).resolve()}{colon}{key}" if file and Path(file).is_file() else labels


def _text(card: "Card", data: "OwnData") -> str:
    from hashbench.datasets.store import path_of
    from hashbench.foundation import paths

    (protocol,) = card.protocols
    rule = card.protocols[protocol]
    sizes = f"{rule.n_queries:,} queries, {rule.n_database:,} in the database, {rule.n_train:,} to train"
    what = "images" if data.is_images else "features"
    lines = [
        f"{card.name:9} {card.n_items:,} {what} of {' x '.join(map(str, card.item_shape))}",
        f"{'labels' if data.labels.is_multi else 'classes':9} {card.n_classes:,}: {_counts(data)}",
        f"{'protocol':9} {protocol}: {rule.title}: {sizes}",
        f"{'data':9} {path_of(card)}",
        f"{'card':9} {paths.own_cards() / card.name}.toml",
        f"{'next':9} hashbench train itq {card.name} --protocol {protocol} --bits {min(32, prod(card.item_shape))}",
    ]
    if data.n_ignored:
        lines.insert(1, f"{'ignored':9} {data.n_ignored:,} files that are no images")
    return "\n".join(lines)


def _counts(data: "OwnData") -> str:
    from hashbench.foundation.errors import printable

    counts = data.labels.counts
    shown = [f"{printable(data.labels.name(label), 30)} ({counts[label]:,})" for label in range(len(counts))]
    return ", ".join(shown[:MOST_CLASSES]) + (", ..." if len(shown) > MOST_CLASSES else "")


@app.command("remove", short_help="Remove a data set that was added.")
def remove(name: Annotated[str, typer.Argument(help="Name of a data set that `hashbench dataset add` made.")]) -> None:
    """Remove a data set that was added, with its features and splits. The rows of its runs remain."""
    from hashbench.datasets import own

    for path in own.remove(name):
        typer.echo(f"removed {path}")
