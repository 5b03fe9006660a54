"""``hashbench encode`` writes the codes of a trained run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option

from hashbench.cli._command import lines
from hashbench.cli._options import Device, program
from hashbench.cli.catalogue import complete
from hashbench.foundation.errors import retold
from hashbench.foundation.execution import Execution
from hashbench.foundation.files import require_apart, require_output
from hashbench.running.datasets.custom import inputs
from hashbench.running.runs.data import open_data, own_rows
from hashbench.running.runs.encode import PIECEWISE, encode_by_folder, encode_by_run
from hashbench.running.runs.guard import load_hasher
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.running.runs.trained import is_folder
from hashbench.showing.export.load import load
from hashbench.showing.sheet import Sheet


def command(
    context: Context,
    run: Annotated[
        str,
        Argument(
            help="A run, or the start of its name; or the folder of an export (numpy, onnx) or of a run.",
            autocompletion=complete("runs"),
        ),
    ],
    items: Annotated[
        Path | None,
        Argument(help="Your own items: an image, a folder of them, .npy, .npz or .h5. Default: those of the run."),
    ] = None,
    out: Annotated[
        Path, Option(metavar="FILE", help="FILE.npz; or FILE.npy or FILE.h5 for your own items, piece by piece.")
    ] = ...,  # type: ignore[assignment]
    device: Device = "auto",
) -> Sheet:
    """Write the codes of a run's queries and database, or of your own items.

    For your own items the file holds `codes` (uint8, 0 or 1, items x bits), `names`, and `labels` if the items have
    any: the names of the subfolders, or the array `labels` beside `items`. A run with sparse codes writes `activations`
    and `embeddings`, which hashbench index reads; its queries go to a second file next to --out.

    With --out FILE.npy or FILE.h5 a file of your own items may be larger than memory: it is read and encoded piece by
    piece, and the codes are packed bytes, as of numpy.packbits.
    """
    require_apart([] if items is None else [items], [out])
    require_output(out)
    in_pieces = "--out FILE.npy or FILE.h5 encodes a file of your own items piece by piece"
    with retold(lambda _: f"{items or run}: more than fits into memory: {in_pieces}", MemoryError):
        if is_folder(run):
            encode_by_folder(load(run, device=device), items, out)
            return _sheet([out])
        store = Store.default()
        row = store.named(run)
        spec = Run.from_row(row)
        hasher = load_hasher(row, store, device, program(context))
        written = [out]
        if out.suffix in PIECEWISE:
            encode_by_run(spec, hasher, items, out, device)
        elif items is None:
            written = hasher.export(open_data(spec, Execution(device=device, progress=True)).search_items, out)
        else:
            card = spec.card
            user_items = inputs.read(items, tuple(card.item_shape), card.class_names, card.value_max)
            hasher.export_items(own_rows(spec, user_items.items, device, user_items.labels), user_items.names, out)
        return _sheet(written)


def _sheet(written: Sequence[Path]) -> Sheet:
    files = [*map(str, written)]
    return lines(files, lambda: {"written": files})
