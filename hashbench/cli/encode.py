"""``hashbench encode``: codes from a trained run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from numpy.typing import NDArray


def command(
    run: Annotated[str, typer.Argument(help="A run's name, as train --json prints it, or its beginning.")],
    items: Annotated[
        Path | None, typer.Argument(help="FILE.npy of items as the data set stores them; default: the protocol's.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The .npz to write.")] = ...,  # type: ignore[assignment]
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
) -> None:
    """Write the codes of a run's queries and database, or of one's own items.

    Of one's own items the file holds `codes`, uint8 of 0 and 1, items x bits.
    """
    from hashbench import experiment, measure, saved_codes
    from hashbench.files import require_writable
    from hashbench.results import Store

    require_writable(out.resolve().parent, instead="--out")
    store = Store.default()
    row = store.named(run)
    hasher = measure.load_hasher(row, store, device)
    if items is None:
        cell = experiment.of_row(row)
        saved_codes.save(out, measure.encode_protocol(hasher, *measure.open_protocol(cell), progress=True))
    else:
        _encode_own(hasher, _read_items(items), out)
    typer.echo(str(out))


def _encode_own(hasher: Any, items: "NDArray[Any]", out: Path) -> None:
    import numpy as np

    from hashbench import codes
    from hashbench.files import atomic

    packed = codes.binarize(hasher.encode(items, progress=True))
    with atomic(out) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, codes=packed.bits())


def _read_items(path: Path) -> "NDArray[Any]":
    from zipfile import BadZipFile

    import numpy as np

    from hashbench.errors import HashbenchError

    try:
        items = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise HashbenchError(f"{path}: not a readable .npy file: {error}") from None
    if not isinstance(items, np.ndarray) or items.ndim < 2 or len(items) == 0:
        raise HashbenchError(f"{path}: an array of items was expected, [n, height, width, channels] or [n, d]")
    if items.dtype.kind not in "uif" or not np.isfinite(items).all():
        raise HashbenchError(f"{path}: items must be finite numbers, these are {items.dtype}")
    return items
