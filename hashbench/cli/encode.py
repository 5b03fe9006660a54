"""``hashbench encode``: codes from a trained run."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hashbench.datasets.own_items import OwnItems
    from hashbench.hasher import Hasher, SparseHasher
    from hashbench.runs.store import Row


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
    from hashbench.hasher import SparseHasher
    from hashbench.runs.encode import encode_protocol
    from hashbench.runs.run import load_hasher, open_protocol, protocol_of
    from hashbench.runs.spec import of_row
    from hashbench.runs.store import Store

    require_writable(out.resolve().parent, instead="--out")
    store = Store.default()
    row = store.named(run)
    hasher = load_hasher(row, store, device)
    own = None if items is None else own_items.read(items, tuple(load_card(row.dataset).item_shape))
    if isinstance(hasher, SparseHasher):
        for path in _encode_sparse(hasher, row, own, out):
            typer.echo(str(path))
        return
    if own is None:
        cell = of_row(row)
        dataset, ids = open_protocol(cell)
        encoded = encode_protocol(hasher, dataset, ids, progress=True)
        encoded.save(out, dataset, ids, protocol_of(cell))
    else:
        _encode_own(hasher, own, out)
    typer.echo(str(out))


def _encode_own(hasher: "Hasher", own: "OwnItems", out: Path) -> None:
    import numpy as np

    from hashbench import codes
    from hashbench.files import atomic

    packed = codes.binarize(hasher.encode(own.items, progress=True))
    with atomic(out) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, codes=packed.bits(), names=np.array(own.names))


def _encode_sparse(hasher: "SparseHasher", row: "Row", own: "OwnItems | None", out: Path) -> Iterator[Path]:
    import numpy as np

    from hashbench.runs.run import open_protocol
    from hashbench.runs.search import save_views
    from hashbench.runs.spec import of_row

    if own is not None:
        save_views(out, hasher, own.items, np.arange(len(own.items)), names=own.names)
        yield out
        return
    dataset, ids = open_protocol(of_row(row))
    beside = out.with_name(f"{out.stem}-queries{out.suffix}")
    for path, chosen in ((out, ids.database_ids), (beside, ids.query_ids)):
        save_views(path, hasher, dataset.items, chosen)
        yield path
