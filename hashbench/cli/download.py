"""``hashbench download`` downloads data sets, verifies them and converts them."""

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from hashbench.cli import _interrupts
from hashbench.cli._command import lines
from hashbench.cli._options import Datasets
from hashbench.running.datasets.download import download
from hashbench.running.datasets.store import labels_path_of
from hashbench.showing.sheet import Sheet


def command(
    cards: Datasets,
    from_dir: Annotated[
        Path | None, Option(help="Take the files, and the images of lists, from this folder (unpacked or as archives).")
    ] = None,
    labels_only: Annotated[bool, Option("--labels-only", help="Store only labels: enough to split.")] = False,
) -> Sheet:
    """Download data sets, verify every byte and convert them.

    A data set that is already complete is not touched.
    """
    _interrupts.say_that_it_continues()
    texts: list[str] = []
    values: list[dict[str, Any]] = []
    for card in cards:
        path = download(card, from_dir, labels_only=labels_only)
        where = "ships with an installed package, nothing to download"
        if path:
            where = f"in {path}"
        what = "the labels of " if path == labels_path_of(card) else ""
        texts.append(f"{card.name}: {what}{card.n_items:,} items, {where}")
        values.append({"name": card.name, "n_items": card.n_items, "path": None if path is None else str(path)})
    return lines(texts, lambda: {"datasets": values})
