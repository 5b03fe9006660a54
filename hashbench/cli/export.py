"""``hashbench export`` writes the hash function of a run for programs without hashbench."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Context, Option, echo

from hashbench.cli._options import AsJson, RunName, program


def command(
    context: Context,
    run: RunName,
    to: Annotated[
        Literal["numpy", "onnx", "torch"],
        Option(help="numpy: arrays and a script; onnx: a model (the extra onnx); torch: a program of torch.export."),
    ],
    out: Annotated[Path | None, Option(metavar="FOLDER", help="A new folder. Default: RUN-FORM, here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the hash function of a run as files that need no hashbench.

    The folder has the function itself, hashbench.json, which says what it takes and gives, a README.md, and encode.py,
    which encodes a file of items. Linear, kernel and tree methods and small encoders have the form numpy; all methods
    of binary codes have the others. hashbench.load(FOLDER) encodes in Python.
    """
    from hashbench.export.write import export
    from hashbench.runs.guard import load_hasher
    from hashbench.runs.store import Store

    store = Store.default()
    row = store.named(run)
    hasher = load_hasher(row, store, "cpu", program(context))
    folder = out or Path(f"{row.run}-{to}")
    description = export(row, hasher, to, folder)
    echo(description.model_dump_json() if as_json else str(folder))
