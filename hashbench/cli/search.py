"""``hashbench search`` finds the items nearest to queries: in saved codes, or in a run, whose images it can draw."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hashbench.cli._options import AsJson, BitOrder, Bits, Device, Layout, program
from hashbench.cli.catalogue import complete
from hashbench.foundation.errors import HashbenchError

if TYPE_CHECKING:
    from hashbench.codes import Codes
    from hashbench.codes.files import Explicit
    from hashbench.codes.search import Found

SUFFIXES = (".npz", ".npy", ".mat", ".h5", ".hdf5", ".pt", ".pth")  # of files of codes; a run's name ends in none
SHEET_TOP, SHEET_QUERIES, SHOWN_QUERIES = 50, 100, 8  # of a sheet: the most images, the most queries, the default


def command(
    context: typer.Context,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN|CODES",
            help="Name of a run, as train prints it, or the start of the name; or a file with codes of queries and "
            "database, as eval reads it.",
            autocompletion=complete("runs"),
        ),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Argument(
            help="Your own queries for a sheet: a folder of images, FILE.npy or FILE.h5. Default: some of the run's."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The sheet of images to write, such as sheet.png; or FILE.npz for ids and distances."
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(min=1, help="Number of items to find for each query; on a sheet at most 50.")
    ] = 10,
    queries: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of queries, spread evenly over all. [default: 8 on a sheet, at most 100 there; else all]",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    method: Annotated[
        Literal["exhaustive", "ivf"],
        typer.Option(
            help="Compare each query with all items; or, approximately, with those in some lists of faiss's inverted "
            "file (the extra search)."
        ),
    ] = "exhaustive",
    probes: Annotated[
        int | None, typer.Option(min=1, help="ivf: number of lists that a query looks into. [default: 32]")
    ] = None,
    lists: Annotated[
        int | None, typer.Option(min=1, help="ivf: number of lists. [default: the square root of the number of items]")
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option(metavar="FILE.npz", help="ivf: keep the lists in this file; they are used where it is there."),
    ] = None,
    check: Annotated[
        int | None,
        typer.Option(
            min=0, help="ivf: number of queries that are searched exhaustively too, for the recall. [default: 100]"
        ),
    ] = None,
    query_codes: Annotated[
        str | None, typer.Option(metavar="FILE[:KEY]", help="Codes: read those of the queries from here.")
    ] = None,
    database_codes: Annotated[
        str | None, typer.Option(metavar="FILE[:KEY]", help="Codes: read those of the database from here.")
    ] = None,
    bits: Bits = None,
    bit_order: BitOrder = None,
    layout: Layout = None,
    device: Device = "auto",
) -> None:
    """Find the items that are nearest to queries by Hamming distance, or draw the images of a run that are.

    Of saved codes it prints ids and distances: an id is the row of an item, from 0. With a run and --out sheet.png it
    draws images. The first column shows the queries. Below each image are its rank and its Hamming distance d; tied
    images share their ranks, for example 2-5. Irrelevant images are marked red; for your own queries, whose labels are
    unknown, none is.
    """
    from hashbench.codes import search
    from hashbench.codes.files import Explicit

    explicit = Explicit(query_codes, database_codes, bits=bits, bit_order=bit_order, layout=layout)
    file = _codes_file(source, explicit)
    of_lists = {"--probes": probes, "--lists": lists, "--index": index, "--check": check}
    if method != "ivf" and (given := [option for option, value in of_lists.items() if value is not None]):
        raise HashbenchError(f"{', '.join(given)}: can be used with --method ivf only")
    if out is not None and out.suffix != ".npz":
        if file is not None:
            raise HashbenchError(f"{out}: a file of codes has no images to draw: name a FILE.npz for ids and distances")
        _check_sheet({"--json": as_json, "--method ivf": method == "ivf", **_given(explicit)}, top, queries)
        return _draw(context, str(source), items, out, top, queries or SHOWN_QUERIES, device)
    if items is not None:
        raise HashbenchError(f"{items}: your own queries need --out sheet.png; or encode them and use --query-codes")
    sources = [file or _codes_of_run(context, str(source))] if source is not None else []
    query, database = _load(sources, explicit, [path for path in (out, index) if path is not None])
    options = search.Lists(lists, probes or search.PROBES, index, search.N_CHECKED if check is None else check)
    found = search.search(query, database, top, queries, options if method == "ivf" else None)
    if out is not None:
        found.save(out)
    named = ", ".join(map(str, sources or (query_codes, database_codes)))
    typer.echo(_as_json(named, found) if as_json else _as_text(named, found))
    return None


def _codes_file(source: str | None, explicit: "Explicit") -> Path | None:
    """The file of codes that is meant; None if ``source`` is a run."""
    if source is None:
        if explicit.query_codes is None or explicit.database_codes is None:
            raise HashbenchError(
                "nothing to search: name a run or a file of codes, or use --query-codes and --database-codes"
            )
        return Path(explicit.query_codes)
    path = Path(source)
    return path if path.is_file() or os.sep in source or path.suffix in SUFFIXES else None


def _given(explicit: "Explicit") -> dict[str, object]:
    """The options that say where and how codes are stored, and their values."""
    names = ("query_codes", "database_codes", "bits", "bit_order", "layout")
    return {f"--{name.replace('_', '-')}": getattr(explicit, name) for name in names}


def _check_sheet(options: dict[str, object], top: int, queries: int | None) -> None:
    if given := [option for option, value in options.items() if value]:
        raise HashbenchError(
            f"{', '.join(given)}: cannot be used with a sheet of images: use --out FILE.npz or leave --out out"
        )
    for option, value, most in (("--top", top, SHEET_TOP), ("--queries", queries or 1, SHEET_QUERIES)):
        if value > most:
            raise HashbenchError(f"{option} {value}: a sheet shows at most {most}")


def _draw(context: typer.Context, run: str, items: Path | None, out: Path, top: int, n: int, device: str) -> None:
    from hashbench.runs import contact_sheet
    from hashbench.runs.store import Store

    first = program(context)
    contact_sheet.draw(run, Store.default(), items, out, top=top, n_queries=n, device=device, program=first)
    typer.echo(str(out))


def _codes_of_run(context: typer.Context, name: str) -> Path:
    """The file with the codes of a run; raises HashbenchError if it is not here, or if they are not binary."""
    from hashbench.contract import CODES, BitSettings
    from hashbench.runs.fit import not_here
    from hashbench.runs.run import Run
    from hashbench.runs.store import Store

    store = Store.default()
    row = store.named(name)
    if not isinstance(Run.from_row(row).settings, BitSettings):
        raise HashbenchError(f"{row.run}: its codes are not binary; hashbench encode and hashbench index search them")
    if not (path := store.run_folder(row.run) / CODES).exists():
        raise not_here(row, store, program(context))
    return path


def _load(sources: list[Path], explicit: "Explicit", outputs: list[Path]) -> "tuple[Codes, Codes]":
    """The codes of queries and database, once it is sure that the outputs can be written."""
    from hashbench.codes.files import load_codes, parted
    from hashbench.foundation.files import require_apart, require_output

    named = [parted(place)[0] for place in (explicit.query_codes, explicit.database_codes) if place is not None]
    require_apart([*sources, *named], outputs)
    for path in outputs:
        require_output(path)
    query, database, notes = load_codes(sources, explicit=explicit)
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    return query, database


def _as_json(named: str, found: "Found") -> str:
    return json.dumps(
        {"codes": named, **found.summary, **{name: array.tolist() for name, array in found.arrays.items()}}
    )


def _as_text(named: str, found: "Found") -> str:
    summary, arrays = found.summary, found.arrays
    sizes = f"{summary['n_queries']:,} queries, {summary['n_items']:,} items, {summary['n_bits']} bits"
    lines = [f"{named}: {sizes}", _method(summary), "query  items (distance)"]
    for q, ids, distances in zip(arrays["queries"], arrays["ids"], arrays["distances"], strict=True):
        nearest = "  ".join(f"{item} ({distance})" for item, distance in zip(ids, distances, strict=True))
        lines.append(f"{q:5}  {nearest}")
    return "\n".join(lines)


def _method(summary: dict[str, Any]) -> str:
    """How the items were found, and what the search may have left out."""
    seconds = f"{summary['search_s']:.3g} s"
    if summary["method"] == "exhaustive":
        return f"exhaustive: {summary['n_cut_ties']:,} queries have more items as near as the last one shown; {seconds}"
    what = f"approximate: {summary['probes']:,} of {summary['lists']:,} lists searched"
    if "recall" not in summary:
        return f"{what}; {seconds}"
    recall = f"recall@{summary['top']} {summary['recall']:.4f} on {summary['n_checked']:,} queries"
    return f"{what}, {recall}; {seconds}, exhaustively about {summary['exhaustive_s']:.3g} s"
