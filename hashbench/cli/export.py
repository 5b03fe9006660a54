"""``hashbench export`` writes the hash function of a run, or codes, for programs without hashbench."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option

from hashbench.cli._command import lines
from hashbench.cli._options import program
from hashbench.cli._scoring import CodesLayout, explicit_of
from hashbench.cli.catalogue import complete
from hashbench.foundation.errors import HashbenchError
from hashbench.running.runs.guard import load_hasher
from hashbench.running.runs.store import Store
from hashbench.scoring.codes.files import Explicit, parted
from hashbench.showing.export.codes import export_codes
from hashbench.showing.export.description import FILE, form_called, read
from hashbench.showing.export.write import export
from hashbench.showing.sheet import Sheet


def command(
    context: Context,
    source: Annotated[
        str,
        Argument(
            metavar="RUN|FILE",
            help="A run; with --codes also codes, FILE or FILE:KEY.",
            autocompletion=complete("runs"),
        ),
    ],
    to: Annotated[
        str,
        Option(
            metavar="FORM",
            help="numpy: arrays and a script; onnx: a model (the extra onnx); torch: a program of torch.export. With "
            "--codes: faiss, pgvector, sqlite-vec, milvus, usearch, sentence-transformers, numpy.",
        ),
    ],
    out: Annotated[Path | None, Option(metavar="FOLDER", help="A new folder. Default: RUN-FORM, here.")] = None,
    codes: Annotated[bool, Option("--codes", help="Write the codes of the database, not the hash function.")] = False,
    layout: CodesLayout = None,
) -> Sheet:
    """Write the hash function of a run, or its codes, as files that need no hashbench.

    Of a hash function the folder has the function itself, hashbench.json, which says what it takes and gives, a
    README.md, and encode.py, which encodes a file of items. Linear, kernel and tree methods and small encoders have
    the form numpy; all methods of binary codes have the others. hashbench.load(FOLDER) encodes in Python.

    With --codes it has the codes of the database of a run, or those of a file, as the system named by --to loads
    them, and a README.md with a query.
    """
    first = program(context)
    folder = Path(source)
    if folder.joinpath(FILE).is_file():
        raise HashbenchError(f"{source}: an export already: name the run, {read(folder).run}")
    if codes:
        return _export_codes(source, to, out, explicit_of(layout), first)
    if layout:
        raise HashbenchError("--layout describes codes in a file: it goes with --codes")
    return _export_function(source, to, out, first)


def _export_codes(source: str, to: str, out: Path | None, explicit: Explicit, program: Sequence[str]) -> Sheet:
    folder = out or Path(f"{Path(parted(source)[0]).stem}-{to}")
    written = [*map(str, export_codes(source, to, folder, explicit=explicit, program=program))]
    return lines(written, lambda: written)


def _export_function(run: str, to: str, out: Path | None, program: Sequence[str]) -> Sheet:
    form = form_called(to)
    store = Store.default()
    row = store.named(run)
    hasher = load_hasher(row, store, "cpu", program)
    folder = out or Path(f"{row.run}-{form}")
    description = export(row, hasher, form, folder)
    return lines([str(folder)], lambda: description.model_dump(mode="json"))
