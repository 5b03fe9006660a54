"""``hashbench search`` finds the items nearest to queries: in saved codes, or in a run, whose images it can draw."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Context, Option, echo

from hashbench.cli._options import AsJson, BitOrder, Bits, Device, Layout, given, program
from hashbench.cli._terminal import print_notes
from hashbench.cli.catalogue import complete
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import require_apart, require_output, write_arrays

if TYPE_CHECKING:
    from hashbench.codes import Codes
    from hashbench.codes.files import Explicit
    from hashbench.codes.search import SearchResult

SHEET_TOP, SHEET_QUERIES, SHOWN_QUERIES = 50, 100, 8  # of a sheet: the most images, the most queries, the default
LINES = 10  # of more queries there is a line each only if their number was asked for


def command(
    context: Context,
    source: Annotated[
        str | None,
        Argument(
            metavar="RUN|CODES", help="A run, or the start of its name; or codes.", autocompletion=complete("runs")
        ),
    ] = None,
    items: Annotated[
        Path | None,
        Argument(help="Your own queries for a run: an image, a folder of images, .npy or .h5. Default: the run's."),
    ] = None,
    out: Annotated[
        Path | None,
        Option(metavar="FILE", help="The sheet of images, such as sheet.png; or .npz for ids and distances."),
    ] = None,
    top: Annotated[int, Option(min=1, help="Number of items to find for each query; on a sheet at most 50.")] = 10,
    queries: Annotated[
        int | None, Option(min=1, help="Queries, spread evenly. [default: 8 on a sheet, of at most 100; else all]")
    ] = None,
    as_json: AsJson = False,
    query_codes: Annotated[str | None, Option(metavar="FILE[:KEY]", help="The codes of the queries.")] = None,
    database_codes: Annotated[str | None, Option(metavar="FILE[:KEY]", help="The codes of the database.")] = None,
    bits: Bits = None,
    bit_order: BitOrder = None,
    layout: Layout = None,
    device: Device = "auto",
) -> None:
    """Find the items that are nearest to queries by Hamming distance, or draw the images of a run that are.

    It prints ids and distances: an id is the row of an item in the codes of the database, from 0. Of more than ten
    queries, where --queries is not given, it prints a summary of the distances; --json and --out FILE.npz have all. A
    run also takes your own images, or other items as its data set has them, as the queries. With a run and
    --out sheet.png it draws images: the queries first, below each image its rank, its Hamming distance d and its
    class. Tied images share their ranks, for example 2-5. Irrelevant images are marked red, except for your own
    queries.
    """
    from hashbench.codes import search
    from hashbench.codes.files import Explicit
    from hashbench.runs.guard import codes_file
    from hashbench.runs.store import Store

    explicit = Explicit(query_codes, database_codes, bits=bits, bit_order=bit_order, layout=layout)
    file = _codes_file(source, explicit)
    if out is not None and out.suffix != ".npz":
        if file is not None:
            raise HashbenchError(f"{out}: a file of codes has no images to draw: name a FILE.npz for ids and distances")
        of_codes = {"query-codes": query_codes, "database-codes": database_codes, "bits": bits, "bit-order": bit_order}
        require_apart([] if items is None else [items], [out])
        _check_sheet({"json": as_json, **of_codes, "layout": layout}, top, queries)
        from hashbench.runs import contact_sheet

        n, run, first = queries or SHOWN_QUERIES, str(source), program(context)
        contact_sheet.draw(run, Store.default(), items, out, top=top, n_queries=n, device=device, program=first)
        return echo(str(out))
    if items is not None and file is not None:
        raise HashbenchError(f"{items}: your own queries are encoded by a run, and {file} has only codes: name a run")
    sources = [] if source is None or file is None else [file]
    if file is None:
        store = Store.default()
        sources = [codes_file(store.named(str(source)), store, program(context))]
    query, database = _load(sources, explicit, [] if out is None else [out])
    names: list[str] = []
    if items is not None:
        query, names = _encoded(context, str(source), items, device)
    if top > len(database):
        print_notes([f"--top {top}: the database has {len(database):,} items, and all are found"])
    nearest = search.search(query, database, top, queries)
    if out is not None:
        write_arrays(out, **nearest.arrays)
    name = ", ".join(map(str, sources or (query_codes, database_codes)))
    names = [names[row] for row in nearest.arrays["queries"]] if names else []
    values = {"codes": name, **nearest.summary, **({"names": names} if names else {})}
    values |= {key: array.tolist() for key, array in nearest.arrays.items()}
    is_short = queries is not None or items is not None or len(nearest.arrays["queries"]) <= LINES
    echo(json.dumps(values) if as_json else "\n".join(_as_text(name, nearest, names, each=is_short)))
    return None


def _codes_file(source: str | None, explicit: "Explicit") -> Path | None:
    """The file of codes that is meant; None if ``source`` is a run."""
    from hashbench.codes.files import file_meant

    if source is not None:
        return file_meant(source)
    if explicit.query_codes is None or explicit.database_codes is None:
        raise HashbenchError("nothing to search: name a run or codes, or use --query-codes and --database-codes")
    return Path(explicit.query_codes)


def _check_sheet(options: dict[str, object], top: int, queries: int | None) -> None:
    if found := given(options):
        raise HashbenchError(f"{found}: cannot be used with a sheet of images: use --out FILE.npz or leave --out out")
    for option, value, most in (("--top", top, SHEET_TOP), ("--queries", queries or 1, SHEET_QUERIES)):
        if value > most:
            raise HashbenchError(f"{option} {value}: a sheet shows at most {most}")


def _load(sources: list[Path], explicit: "Explicit", outputs: list[Path]) -> "tuple[Codes, Codes]":
    """The codes of queries and database, once it is sure that the outputs can be written."""
    from hashbench.codes.files import load_codes, parted

    named = [parted(place)[0] for place in (explicit.query_codes, explicit.database_codes) if place is not None]
    require_apart([*sources, *named], outputs)
    for path in outputs:
        require_output(path)
    query, database, notes = load_codes(sources, explicit=explicit)
    print_notes(notes)
    return query, database


def _encoded(context: Context, name: str, items: Path, device: str) -> "tuple[Codes, list[str]]":
    """The codes of the user's own ``items`` by the run called ``name``, and the names of the items."""
    from hashbench.codes import binarize
    from hashbench.contract import BinaryHasher
    from hashbench.datasets.own import inputs
    from hashbench.runs.data import own_rows
    from hashbench.runs.guard import load_hasher
    from hashbench.runs.run import Run
    from hashbench.runs.store import Store

    row = Store.default().named(name)
    run, hasher = Run.from_row(row), load_hasher(row, Store.default(), device, program(context))
    assert isinstance(hasher, BinaryHasher), "a run whose codes are binary has such a hasher"
    own = inputs.read(items, tuple(run.card.item_shape), value_max=run.card.value_max)
    return binarize(hasher.encode(own_rows(run, own.items, device).whole())), own.names


def _as_text(name: str, found: "SearchResult", names: list[str], *, each: bool) -> Iterator[str]:
    """The sizes, how it was searched, and a line of ``each`` query, or one for each rank over all queries."""
    summary, arrays = found.summary, found.arrays
    sizes = f"{summary['n_queries']:,} queries, {summary['n_items']:,} items, {summary['n_bits']} bits"
    yield f"{name}: {sizes}"
    n_cut_ties, seconds = summary["n_cut_ties"], summary["search_s"]
    yield f"exhaustive: {n_cut_ties:,} queries have more items as near as the last one shown; {seconds:.3g} s"
    if not each:
        yield "rank  distance: smallest, median, largest over the queries"
        for rank in sorted({1, (1 + summary["top"]) // 2, summary["top"]}):
            of_rank = sorted(arrays["distances"][:, rank - 1].tolist())
            yield f"{rank:4}  {of_rank[0]}, {of_rank[(len(of_rank) - 1) // 2]}, {of_rank[-1]}"
        yield "--queries N prints the items of N queries, --out FILE.npz keeps those of all"
        return
    shown = names or [str(q) for q in arrays["queries"]]
    width = max(map(len, ["query", *shown]))
    yield f"{'query':{width}}  items (distance)"
    for query, ids, distances in zip(shown, arrays["ids"], arrays["distances"], strict=True):
        near = (f"{item} ({distance})" for item, distance in zip(ids, distances, strict=True))
        yield f"{query:>{width}}  {'  '.join(near)}"
