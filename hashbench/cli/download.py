"""``hashbench download`` downloads data sets, verifies them and converts them."""

from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.catalogue import complete


def command(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="Names of data sets; `hashbench list datasets` shows them.",
            autocompletion=complete("datasets"),
        ),
    ],
    from_dir: Annotated[
        Path | None,
        typer.Option(
            help="Take the files, and the images that lists name, from this folder (unpacked or as archives)."
        ),
    ] = None,
    labels_only: Annotated[
        bool,
        typer.Option("--labels-only", help="Store the labels without the items; that is enough for `hashbench split`."),
    ] = False,
) -> None:
    """Download data sets, verify every byte and convert them.

    A data set that is already complete is not touched.
    """
    from hashbench.datasets.card import load_card
    from hashbench.datasets.download import download
    from hashbench.datasets.store import labels_path_of

    for card in [load_card(name) for name in names]:  # an unknown name stops the command before the first download
        path = download(card, from_dir, labels_only=labels_only)
        where = f"in {path}" if path else "ships with an installed package, nothing to download"
        what = "the labels of " if path == labels_path_of(card) else ""
        typer.echo(f"{card.name}: {what}{card.n_items:,} items, {where}")
