"""``hashbench bundle`` packs what a reader needs to render a table and to score it again without training."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from hashbench.cli._command import lines
from hashbench.cli._terminal import rows_read
from hashbench.cli.catalogue import complete
from hashbench.foundation.errors import counted, retold
from hashbench.foundation.files import require_output
from hashbench.foundation.progress import note
from hashbench.running.runs.row import maker_name
from hashbench.showing.bundle.pack import Order, Packed, pack
from hashbench.showing.sheet import Sheet


def command(
    table: Annotated[
        str, Argument(metavar="TABLE[@BUDGET]", help="See hashbench list tables.", autocompletion=complete("tables"))
    ],
    out: Annotated[Path | None, Option("--out", "-o", help="The archive. Default: TABLE-bundle.zip.")] = None,
    no_codes: Annotated[bool, Option("--no-codes", help="Leave the codes out.")] = False,
    by: Annotated[str | None, Option("--by", metavar="NAME", help="Who made the rows; results merge keeps it.")] = None,
) -> Sheet | None:
    """Pack the rows of a table into one archive, with all that is needed to render it and to score it again.

    In it are the rows of the table's cells; the histograms and codes that results/runs holds; the files that declare
    the table, its data sets and methods; id lists, checksums and a README.md. The same files give the same bytes.
    """
    with retold(lambda fault: f"--by {fault}", ValueError):
        by = None if by is None else maker_name(by)
    name, _, budget = table.partition("@")
    order = Order(name, budget or None, codes=not no_codes, maker=by)
    path = out or Path(f"{order.folder}.zip")
    require_output(path)
    packed = pack(order, path, rows_read(), note)
    values = {"path": str(path), "size_bytes": packed.size_bytes, "sha256": packed.sha256, "table": packed.spec.name}
    values |= {"rows": [row.run for row in packed.rows], "rows_alone": packed.rows_alone, "files": sorted(packed.files)}
    return lines([str(path), _summary(packed)], lambda: values)


def _summary(packed: Packed) -> str:
    n = packed.n
    counts = f"{n['histograms'] + n['retrievals']:,} with counts, {n['codes']:,} with codes"
    rows = counted(len(packed.rows), "row")
    return f"{rows}, {counts}, {counted(n['lists'], 'id list')}: {packed.size_bytes:,} bytes"
