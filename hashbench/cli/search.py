"""``hashbench search`` finds the items nearest to queries, in saved codes or in the codes of a run."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option, echo

from hashbench.cli._options import AsJson, BitOrder, Bits, Device, Layout, program
from hashbench.cli._scoring import Arrays, places_of
from hashbench.cli._terminal import print_notes
from hashbench.cli.catalogue import complete
from hashbench.codes import Codes, binarize, search
from hashbench.codes.files import Explicit, file_meant, load_codes, parted
from hashbench.codes.search import SearchResult
from hashbench.contract import BinaryHasher
from hashbench.datasets.own import inputs
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import require_apart, require_output, write_arrays
from hashbench.runs.data import own_rows
from hashbench.runs.guard import codes_file, load_hasher
from hashbench.runs.run import Run
from hashbench.runs.store import Store

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
    out: Annotated[Path | None, Option(metavar="FILE.npz", help="Also write ids and distances.")] = None,
    top: Annotated[int, Option(min=1, help="Number of items to find for each query.")] = 10,
    queries: Annotated[int | None, Option(min=1, help="So many queries, spread evenly. Default: all.")] = None,
    as_json: AsJson = False,
    array: Arrays = None,
    bits: Bits = None,
    bit_order: BitOrder = None,
    layout: Layout = None,
    device: Device = "auto",
) -> None:
    """Find the items that are nearest to queries by Hamming distance.

    It prints ids and distances: an id is the row of an item in the codes of the database, from 0. Of more than ten
    queries, where --queries is not given, it prints a summary of the distances; --json and --out FILE.npz have all. A
    run also takes your own images, or other items as its data set has them, as the queries.
    """
    places = places_of(array, ["query_codes", "database_codes"])
    explicit = Explicit(places, bits, bit_order, layout)
    file = _codes_file(source, explicit)
    if out is not None and out.suffix != ".npz":
        raise HashbenchError(f"{out}: ids and distances are written to an .npz: name a FILE.npz")
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
    name = ", ".join(map(str, sources or places.values()))
    searched = nearest.arrays["queries"]
    if names:
        names = [names[row] for row in searched]
    if as_json:
        values = {"codes": name, **nearest.summary, **({"names": names} if names else {})}
        echo(json.dumps(values | {key: array.tolist() for key, array in nearest.arrays.items()}))
    elif queries is not None or items is not None or len(searched) <= LINES:
        echo("\n".join(_line_a_query(name, nearest, names or [str(row) for row in searched])))
    else:
        echo("\n".join(_line_a_rank(name, nearest)))


def _codes_file(source: str | None, explicit: Explicit) -> Path | None:
    """The file of codes that is meant; None if ``source`` is a run."""
    if source is not None:
        return file_meant(source)
    if len(explicit.places) < 2:
        raise HashbenchError(
            "nothing to search: name a run or codes, or both query-codes and database-codes by --array"
        )
    return Path(explicit.places["query_codes"])


def _load(sources: list[Path], explicit: Explicit, outputs: list[Path]) -> tuple[Codes, Codes]:
    """The codes of queries and database, once it is sure that the outputs can be written."""
    named = [parted(place)[0] for place in explicit.places.values()]
    require_apart([*sources, *named], outputs)
    for path in outputs:
        require_output(path)
    query, database, notes = load_codes(sources, explicit=explicit)
    print_notes(notes)
    return query, database


def _encoded(context: Context, name: str, items: Path, device: str) -> tuple[Codes, list[str]]:
    """The codes of the user's own ``items`` by the run called ``name``, and the names of the items."""
    row = Store.default().named(name)
    run, hasher = Run.from_row(row), load_hasher(row, Store.default(), device, program(context))
    assert isinstance(hasher, BinaryHasher), "a run whose codes are binary has such a hasher"
    own = inputs.read(items, tuple(run.card.item_shape), value_max=run.card.value_max)
    return binarize(hasher.encode(own_rows(run, own.items, device).whole())), own.names


def _heading(name: str, result: SearchResult) -> Iterator[str]:
    """Two lines: what was searched, and how."""
    summary = result.summary
    yield f"{name}: {summary['n_queries']:,} queries, {summary['n_items']:,} items, {summary['n_bits']} bits"
    n_cut_ties, seconds = summary["n_cut_ties"], summary["search_s"]
    yield f"exhaustive: {n_cut_ties:,} queries have more items as near as the last one shown; {seconds:.3g} s"


def _line_a_query(name: str, result: SearchResult, queries: Sequence[str]) -> Iterator[str]:
    yield from _heading(name, result)
    width = max(map(len, ["query", *queries]))
    yield f"{'query':{width}}  items (distance)"
    arrays = result.arrays
    for query, ids, distances in zip(queries, arrays["ids"], arrays["distances"], strict=True):
        items = (f"{item} ({distance})" for item, distance in zip(ids, distances, strict=True))
        yield f"{query:>{width}}  {'  '.join(items)}"


def _line_a_rank(name: str, result: SearchResult) -> Iterator[str]:
    yield from _heading(name, result)
    yield "rank  distance: smallest, median, largest over the queries"
    top = result.summary["top"]
    for rank in sorted({1, (1 + top) // 2, top}):
        distances = sorted(result.arrays["distances"][:, rank - 1].tolist())
        median = distances[(len(distances) - 1) // 2]
        yield f"{rank:4}  {distances[0]}, {median}, {distances[-1]}"
    yield "--queries N prints the items of N queries, --out FILE.npz keeps those of all"
