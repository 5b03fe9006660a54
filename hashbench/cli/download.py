"""``hashbench download``: get data sets, verify them, convert them."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Data sets, as hashbench list datasets shows.")],
    from_dir: Annotated[
        Path | None,
        typer.Option(
            help="Take the files from this folder (unpacked, or the archive), and the images that lists name."
        ),
    ] = None,
    labels_only: Annotated[
        bool,
        typer.Option("--labels-only", help="Store the labels without the items: enough to split and to check a split."),
    ] = False,
) -> None:
    """Get data sets, verify every byte and convert them; what is there and whole is left alone."""
    from hashbench.datasets.card import load_card
    from hashbench.datasets.download import download
    from hashbench.datasets.store import labels_path_of

    for card in [load_card(name) for name in names]:  # a name that does not exist stops all before the first
        path = download(card.name, from_dir, labels_only=labels_only)
        where = f"in {path}" if path else "ships with an installed package, nothing to download"
        what = "the labels of " if path == labels_path_of(card) else ""
        typer.echo(f"{card.name}: {what}{card.n_items:,} items, {where}")
