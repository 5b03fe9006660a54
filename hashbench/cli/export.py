"""``hashbench export`` writes codes in the form of a system that searches them."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option, echo

from hashbench.cli._options import BitOrder, Bits, Layout, program
from hashbench.cli.catalogue import complete
from hashbench.foundation.errors import HashbenchError


def command(
    context: Context,
    source: Annotated[
        str, Argument(metavar="RUN|FILE", help="A run; or codes, FILE or FILE:KEY.", autocompletion=complete("runs"))
    ],
    to: Annotated[str, Option(metavar="TARGET", help="faiss, pgvector, sqlite-vec, milvus, usearch, ...")],
    out: Annotated[Path, Option(metavar="FOLDER", help="The folder to write.")],
    codes: Annotated[bool, Option("--codes", help="Write the codes of the database.")] = False,
    bits: Bits = None,
    bit_order: BitOrder = None,
    layout: Layout = None,
) -> None:
    """Write the codes of the database of a run, or those in a file, for a system that searches them."""
    from hashbench.codes.files import Explicit
    from hashbench.export.codes import export_codes

    if not codes:
        raise HashbenchError("export writes codes: add --codes")
    explicit = Explicit(bits=bits, bit_order=bit_order, layout=layout)
    written = export_codes(source, to, out, explicit=explicit, program=program(context))
    echo("\n".join(map(str, written)))
