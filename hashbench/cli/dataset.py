"""``hashbench dataset add``: data of your own as a custom data set."""

import re
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from hashbench.cli._command import Commands
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.progress import note
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.custom import add as custom
from hashbench.running.datasets.custom.data import CustomData, FileOptions, Rule
from hashbench.running.datasets.store import path_of
from hashbench.showing.sheet import Code, Sheet, Text, facts

app = Commands()
NUMBER = re.compile("(?P<n>[1-9][0-9]{0,9})(?P<of_class>/class)?")
MOST_CLASSES = 10  # that are shown


@app.command("add", short_help="Add a folder of images or a file as a data set.")
def add(
    name: Annotated[str, Argument(help="The name that the data set gets.")],
    path: Annotated[
        Path,
        Argument(metavar="FOLDER|FILE", help="A folder of images by class; or .npz .npy .h5 .parquet .fvecs ..."),
    ],
    query_path: Annotated[
        Path | None, Argument(metavar="[FOLDER|FILE]", help="The queries, if they are separate: a second one.")
    ] = None,
    items: Annotated[str | None, Option(metavar="KEY", help="The array of the items in the file.")] = None,
    labels: Annotated[
        str | None, Option(metavar="KEY|FILE[:KEY]", help="The labels: an array of the file, or another file.")
    ] = None,
    size: Annotated[int | None, Option(min=1, max=4096, metavar="N", help="Resize images to N x N pixels.")] = None,
    queries: Annotated[
        str | None,
        Option(
            metavar="N|N/class|FILE",
            help="Queries drawn from all items, or from each class; or a file of them. Default: a tenth, <= 100/class.",
        ),
    ] = None,
    train: Annotated[
        str | None, Option(metavar="N|N/class", help="Training items, drawn so. Default: the whole database.")
    ] = None,
    seed: Annotated[int, Option(min=0, max=2**32 - 1, help="Seed of the draw.")] = 0,
    metric: Annotated[
        Literal["cosine", "l2", "ip"] | None,
        Option(help="Of vectors without labels: the nearest are relevant. Default: cosine where all norms are 1."),
    ] = None,
    neighbours: Annotated[
        str | None, Option(metavar="FILE[:KEY]", help="The rows of the nearest vectors of each query, if known.")
    ] = None,
    replace: Annotated[bool, Option("--replace", help="Replace a data set of yours that has this name.")] = False,
) -> Sheet:
    """Add data of your own as a data set: train, features, search, split, tables then work as for any other.

    Vectors without labels are taken too: the nearest of a query, by cosine, Euclidean distance or inner product, are
    relevant to it. Files of ann-benchmarks (train, test, neighbors), .parquet, .fvecs and .fbin are read as they are.

    The items are copied into the data folder, and a card is written there. Queries and training items are drawn once,
    unless the queries are given: by a second folder or file, or by arrays train, train_labels, test and test_labels in
    one file. The protocol is called own; own_held_out has other queries, for choosing settings.

    A folder has a subfolder of images for each class, of one size or with --size. In a file, arrays called items
    (images, data, features, x) and labels (label, targets, classes, y) are found; name others with --items and
    --labels. Labels are numbers, strings, or columns of 0 and 1.
    """
    if queries is not None and not re.fullmatch("-?[0-9]+(/class)?", queries):
        if query_path is not None:
            raise HashbenchError(f"--queries {queries}: the queries are in {query_path} already")
        query_path = Path(queries)
        queries = None
    n_queries, queries_per_class = _number("--queries", queries)
    n_train, train_per_class = _number("--train", train)
    rule = Rule(queries_per_class, train_per_class, n_queries, n_train, seed)
    custom.require_name(name, replace=replace)  # before the data are read
    options = FileOptions(items, _whole_path(labels), size, metric, _whole_path(neighbours))
    data = custom.open_data([file for file in (path, query_path) if file is not None], options)
    card = custom.add(name, data, rule, options, replace=replace)
    warnings = []
    if card.labels == "none":
        warnings = custom.warnings_of(card)
    for line in [*data.notes, *warnings]:
        note(f"note: {line}")
    return Sheet(grids=[facts(dict(_facts(card, data)))])


def _number(option: str, text: str | None) -> tuple[int | None, int | None]:
    """The number of items of all, and of each class, that an option says; one of them is None."""
    if text is None:
        return None, None
    if not (number := NUMBER.fullmatch(text)):
        raise HashbenchError(f"{option} {printable(text)}: a number from 1 is expected, such as 100 or 10/class")
    n = int(number["n"])
    return (None, n) if number["of_class"] else (n, None)


def _whole_path(place: str | None) -> str | None:
    """FILE or FILE:KEY with the whole path, because the card keeps it for any current folder; all else as it is."""
    if place is None:
        return None
    if Path(place).is_file():
        return str(Path(place).resolve())
    file, _, key = place.rpartition(":")
    if file and Path(file).is_file():
        return f"{Path(file).resolve()}:{key}"
    return place


def _facts(card: Card, data: CustomData) -> Iterator[tuple[str, Text]]:
    ((protocol, rule),) = card.protocols.items()
    kind = "images" if data.is_images else "features"
    yield card.name, f"{card.n_items:,} {kind} of {' x '.join(map(str, card.item_shape))}"
    if data.n_ignored:
        yield "ignored", f"{data.n_ignored:,} files that are no images"
    counts = data.labels.counts
    shown = [f"{printable(data.labels.name(label), 30)} ({counts[label]:,})" for label in range(len(counts))]
    if len(shown) > MOST_CLASSES:
        shown = [*shown[:MOST_CLASSES], "..."]
    if data.metric is None:
        yield "labels" if data.labels.is_multi else "classes", f"{card.n_classes:,}: {', '.join(shown)}"
    sizes = f"{rule.n_queries:,} queries, {rule.n_database:,} in the database, {rule.n_train:,} to train"
    yield "protocol", f"{protocol}: {rule.title}: {sizes}"
    yield "data", (Code(str(path_of(card))),)
    yield "card", (Code(f"{paths.custom_cards() / card.name}.toml"),)
    next_command = f"hashbench bench {card.name}"
    if card.labels != "none":
        bits = min(32, prod(card.item_shape))
        next_command = f"hashbench train itq {card.name} --protocol {protocol} --bits {bits}"
    yield "next", (Code(next_command),)
