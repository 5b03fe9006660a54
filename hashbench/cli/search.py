"""``hashbench search`` finds the items nearest to queries: in saved codes, or in a run, whose images it can draw."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hashbench.cli import _search_codes
from hashbench.cli._options import AsJson, BitOrder, Bits, Device, Layout, program
from hashbench.cli.catalogue import complete

if TYPE_CHECKING:
    from hashbench.codes.files import Explicit
    from hashbench.codes.nearest import Neighbours
    from hashbench.datasets.readers import Items
    from hashbench.datasets.split import Split
    from hashbench.datasets.store import Dataset
    from hashbench.evaluation.report import Tile
    from hashbench.relevance.labels import Labels

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
    from hashbench.codes.files import Explicit
    from hashbench.foundation.errors import HashbenchError

    explicit = Explicit(query_codes, database_codes, bits=bits, bit_order=bit_order, layout=layout)
    file = _codes_file(source, explicit)
    of_ivf = {"--probes": probes, "--lists": lists, "--index": index, "--check": check}
    if method != "ivf" and (given := [option for option, value in of_ivf.items() if value is not None]):
        raise HashbenchError(f"{', '.join(given)}: of an approximate search: say --method ivf")
    if file is None and out is not None and out.suffix != ".npz":
        _refuse_on_a_sheet({"--json": as_json, "--method ivf": method == "ivf", **_of_codes(explicit)}, top, queries)
        return _draw(context, str(source), items, out, top, queries or SHOWN_QUERIES, device)
    if items is not None:
        raise HashbenchError(f"{items}: of a sheet, --out sheet.png: encode it and name its codes with --query-codes")
    if out is not None and out.suffix != ".npz":
        raise HashbenchError(f"{out}: codes have no images to draw: FILE.npz is expected, for ids and distances")
    sources = [file or _codes_of_run(context, str(source))] if source is not None else []
    how = _search_codes.How(top, queries, method == "ivf", probes, lists, index, check)
    return _search_codes.search(sources, explicit, how, out, as_json)


def _codes_file(source: str | None, explicit: "Explicit") -> Path | None:
    """The file of codes that is meant; None if ``source`` is a run."""
    from hashbench.foundation.errors import HashbenchError

    if source is None:
        if explicit.query_codes is None or explicit.database_codes is None:
            raise HashbenchError(
                "nothing to search: name a run or a file of codes, or --query-codes and --database-codes"
            )
        return Path(explicit.query_codes)
    path = Path(source)
    return path if path.is_file() or os.sep in source or path.suffix in SUFFIXES else None


def _of_codes(explicit: "Explicit") -> dict[str, object]:
    """The options that say where and how codes are stored, and their values."""
    names = ("query_codes", "database_codes", "bits", "bit_order", "layout")
    return {f"--{name.replace('_', '-')}": getattr(explicit, name) for name in names}


def _refuse_on_a_sheet(options: dict[str, object], top: int, queries: int | None) -> None:
    from hashbench.foundation.errors import HashbenchError

    if given := [option for option, value in options.items() if value]:
        raise HashbenchError(f"{', '.join(given)}: not of a sheet of images: write --out FILE.npz, or leave --out out")
    for option, value, most in (("--top", top, SHEET_TOP), ("--queries", queries or 1, SHEET_QUERIES)):
        if value > most:
            raise HashbenchError(f"{option} {value}: a sheet shows at most {most}")


def _codes_of_run(context: typer.Context, name: str) -> Path:
    """The file with the codes of a run; raises HashbenchError if it is not here, or if they are not binary."""
    from hashbench.contract import CODES, BitSettings
    from hashbench.foundation.errors import HashbenchError
    from hashbench.runs.fit import not_here
    from hashbench.runs.run import Run
    from hashbench.runs.store import Store

    store = Store.default()
    row = store.named(name)
    if not isinstance(Run.from_row(row).settings, BitSettings):
        raise HashbenchError(
            f"{row.run}: its codes are not binary: hashbench encode writes what hashbench index searches"
        )
    if not (path := store.run_folder(row.run) / CODES).exists():
        raise not_here(row, store, program(context))
    return path


def _draw(context: typer.Context, run: str, items: Path | None, out: Path, top: int, queries: int, device: str) -> None:
    """Draws the sheet and prints its path."""
    from hashbench.contract import CODES, BinaryHasher
    from hashbench.datasets.card import load_card
    from hashbench.evaluation.report import write_contact_sheet
    from hashbench.foundation.errors import HashbenchError
    from hashbench.foundation.files import require_output
    from hashbench.runs.data import open_data, own_rows
    from hashbench.runs.fit import load_hasher, not_here
    from hashbench.runs.options import Options
    from hashbench.runs.run import Run
    from hashbench.runs.store import Store

    require_output(out)
    store = Store.default()
    row = store.named(run)
    spec, hasher = Run.from_row(row), load_hasher(row, store, device, program(context))
    if isinstance(hasher, BinaryHasher) and not (store.run_folder(row.run) / CODES).exists():
        raise not_here(row, store, program(context))
    data = open_data(spec, Options(device=device, progress=True))
    if data.dataset.items.ndim != 4:
        raise HashbenchError(f"{row.run}: {data.dataset.name} has features, and no images to show")
    chosen, labels, names = _chosen(items, data.dataset, data.ids, queries)
    found = hasher.nearest(own_rows(spec, chosen, device).whole(), store.run_folder(row.run), top)
    value_max = load_card(spec.dataset).value_max or 255
    write_contact_sheet(out, _rows(found, chosen, labels, names, data.dataset, data.ids), value_max)
    typer.echo(str(out))


def _chosen(path: Path | None, data: "Dataset", ids: "Split", queries: int) -> "tuple[Items, Labels | None, list[str]]":
    """The query images, their labels if they are known, and a name for each."""
    from hashbench.datasets import own_items
    from hashbench.datasets.card import load_card

    if path is not None:
        own = own_items.read(path, data.items.shape[1:], value_max=load_card(data.name).value_max)
        rows = _evenly(len(own.names), queries)
        return own.items[rows], None, [own.names[row] for row in rows]
    chosen = ids.query_ids[_evenly(len(ids.query_ids), queries)]
    return data.items[chosen], data.labels[chosen], [f"query {item}" for item in chosen]


def _evenly(n: int, wanted: int) -> list[int]:
    """``wanted`` of the rows 0 .. n - 1, evenly spaced; all of them if there are fewer."""
    return list(range(n)) if n <= wanted else [n * place // wanted for place in range(wanted)]


def _rows(
    nearest: "list[Neighbours]",
    images: "Items",
    labels: "Labels | None",
    names: list[str],
    data: "Dataset",
    ids: "Split",
) -> "list[list[Tile]]":
    from hashbench.evaluation.report import Tile
    from hashbench.relevance.labels import from_labels

    rows = []
    for q, (name, found) in enumerate(zip(names, nearest, strict=True)):
        items = ids.database_ids[found.items]
        wrong = [False] * len(items)
        if labels is not None:
            relevance = from_labels(labels[q : q + 1], data.labels[items])
            wrong = (relevance.block(slice(0, 1), slice(0, len(items)))[0] == 0).tolist()
        places = zip(found.first.tolist(), found.last.tolist(), found.distances.tolist(), strict=True)
        captions = [f"{first if first == last else f'{first}-{last}'}, d={d}" for first, last, d in places]
        tiles = zip(data.items[items], captions, wrong, strict=True)
        rows.append([Tile(images[q], name), *(Tile(*tile) for tile in tiles)])
    return rows
