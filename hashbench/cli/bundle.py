"""``hashbench bundle`` packs what a reader needs to render a table and to score it again without training."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli._options import AsJson, Splits
from hashbench.cli.catalogue import complete

if TYPE_CHECKING:
    from hashbench.bundle.pack import Packed


def command(
    table: Annotated[str, typer.Argument(help="See hashbench list tables.", autocompletion=complete("tables"))],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The archive. Default: TABLE-bundle.zip in the current folder.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Only the runs with seeds 0 .. SEEDS - 1. Default: all that are stored.")
    ] = None,
    splits: Splits = 1,
    budget: Annotated[str | None, typer.Option(help="The runs at this budget, not at the table's own.")] = None,
    no_codes: Annotated[bool, typer.Option("--no-codes", help="Leave the codes out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Pack the rows of a table into one archive, with all that is needed to render it and to score it again.

    In it are the rows of the table's cells; the histograms and codes of those runs that results/runs holds; the files
    that declare the table, its data sets and methods; the id lists of the splits whose labels are here; checksums; and
    a README.md. The same files give the same bytes. hashbench verify checks a bundle.
    """
    from hashbench.bundle.pack import Order, pack
    from hashbench.foundation.files import is_stream, require_output
    from hashbench.foundation.progress import note
    from hashbench.runs.store import Store

    order = Order(table, budget, splits, seeds, not no_codes)
    path = out or Path(f"{order.folder}.zip")
    require_output(path)
    packed = pack(order, path, Store.default(), note)
    typer.echo(_as_json(path, packed) if as_json else f"{path}\n{_summary(packed)}", err=is_stream(path))


def _summary(packed: "Packed") -> str:
    from hashbench.bundle.archive import counted

    parts = [
        counted(len(packed.rows), "row"),
        f"{packed.n['histograms']:,} with a histogram",
        *([f"{n:,} with a retrieval"] if (n := packed.n["retrievals"]) else []),
        f"{packed.n['codes']:,} with codes",
        counted(packed.n["lists"], "id list"),
    ]
    return f"{', '.join(parts)}: {packed.size_bytes:,} bytes"


def _as_json(path: Path, packed: "Packed") -> str:
    from hashbench.foundation.config import canonical_json

    return canonical_json(
        {
            "path": str(path),
            "size_bytes": packed.size_bytes,
            "sha256": packed.sha256,
            "table": packed.spec.name,
            "rows": [row.run for row in packed.rows],
            "rows_alone": packed.rows_alone,
            "files": sorted(packed.files),
        }
    )
