"""``hashbench encode``: codes from a trained run."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[str, typer.Argument(help="A run's name, as train --json prints it, or its beginning.")],
    items: Annotated[
        Path | None,
        typer.Argument(help="A folder of images, or FILE.npy or FILE.h5 of items; default: the protocol's."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The .npz to write.")] = ...,  # type: ignore[assignment]
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
) -> None:
    """Write the codes of a run's queries and database, or of one's own items.

    Of one's own items the file holds `codes`, uint8 of 0 and 1, items x bits, and `names`. An .npy, or `items` in an
    .h5, holds them as the data set stores its own. Of a run of sparse codes it holds `activations` and `embeddings`, as
    hashbench index takes them; its queries go to a file beside the database's.
    """
    from hashbench.datasets import own_items
    from hashbench.datasets.card import load_card
    from hashbench.files import require_writable
    from hashbench.runs.data import open_data, own_rows
    from hashbench.runs.fit import load_hasher
    from hashbench.runs.options import Options
    from hashbench.runs.spec import of_row
    from hashbench.runs.store import Store

    require_writable(out.resolve().parent, instead="--out")
    store = Store.default()
    row = store.named(run)
    spec, hasher = of_row(row), load_hasher(row, store, device)
    written = [out]
    if items is None:
        written = hasher.export(open_data(spec, Options(device=device, progress=True)).search_items, out)
    else:
        own = own_items.read(items, tuple(load_card(spec.dataset).item_shape))
        hasher.export_items(own_rows(spec, own.items, device), own.names, out)
    for path in written:
        typer.echo(str(path))
