"""``hashbench encode``: codes from a trained run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hashbench.datasets.own_items import OwnItems
    from hashbench.hasher import Hasher


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
    .h5, holds them as the data set stores its own.
    """
    from hashbench import experiment, measure
    from hashbench.datasets import own_items
    from hashbench.datasets.card import load_card
    from hashbench.encoded import encode_protocol
    from hashbench.files import require_writable
    from hashbench.results import Store

    require_writable(out.resolve().parent, instead="--out")
    store = Store.default()
    row = store.named(run)
    hasher = measure.load_hasher(row, store, device)
    if items is None:
        cell = experiment.of_row(row)
        dataset, ids = measure.open_protocol(cell)
        encoded = encode_protocol(hasher, dataset, ids, progress=True)
        encoded.save(out, dataset, ids, measure.protocol_of(cell))
    else:
        _encode_own(hasher, own_items.read(items, tuple(load_card(row.dataset).item_shape)), out)
    typer.echo(str(out))


def _encode_own(hasher: "Hasher", own: "OwnItems", out: Path) -> None:
    import numpy as np

    from hashbench import codes
    from hashbench.files import atomic

    packed = codes.binarize(hasher.encode(own.items, progress=True))
    with atomic(out) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, codes=packed.bits(), names=np.array(own.names))
