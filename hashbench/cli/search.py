"""``hashbench search`` finds the items nearest to queries, in saved codes or in the codes of a run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option

from hashbench.cli._options import Device, program
from hashbench.cli._scoring import Arrays, CodesLayout, explicit_of, places_of
from hashbench.cli._terminal import print_notes
from hashbench.cli.catalogue import complete
from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import require_apart, require_output
from hashbench.learning.contract import BinaryHasher
from hashbench.running.datasets.custom import inputs
from hashbench.running.runs.data import own_rows
from hashbench.running.runs.guard import codes_file, load_hasher
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import Codes, binarize, search
from hashbench.scoring.codes.files import Explicit, file_meant, load_codes, parted
from hashbench.scoring.codes.search import SearchResult
from hashbench.showing.sheet import Cell, Code, Grid, Sheet, Value, records

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
    array: Arrays = None,
    layout: CodesLayout = None,
    device: Device = "auto",
) -> Sheet:
    """Find the items that are nearest to queries by Hamming distance.

    It prints ids and distances: an id is the row of an item in the codes of the database, from 0. Of more than ten
    queries, where --queries is not given, it prints a summary of the distances; --json and --out FILE.npz have all. A
    run also takes your own images, or other items as its data set has them, as the queries.
    """
    places = places_of(array, ["query_codes", "database_codes"])
    explicit = explicit_of(layout, places)
    file = _codes_file(source, explicit)
    if out is not None and out.suffix != ".npz":
        raise HashbenchError(f"{out}: ids and distances are written to an .npz: name a FILE.npz")
    if items is not None and file is not None:
        raise HashbenchError(f"{items}: your own queries are encoded by a run, and {file} has only codes: name a run")
    sources: list[Path] = []
    if file is None:
        store = Store.default()
        sources = [codes_file(store.named(str(source)), store, program(context))]
    elif source is not None:
        sources = [file]
    query, database = _load(sources, explicit, [] if out is None else [out])
    names: list[str] = []
    if items is not None:
        row = Store.default().named(str(source))
        run = Run.from_row(row)
        hasher = load_hasher(row, Store.default(), device, program(context))
        assert isinstance(hasher, BinaryHasher), "a run whose codes are binary has such a hasher"
        user_items = inputs.read(items, tuple(run.card.item_shape), value_max=run.card.value_max)
        query = binarize(hasher.encode(own_rows(run, user_items.items, device).whole()))
        names = user_items.names
    if top > len(database):
        print_notes([f"--top {top}: the database has {len(database):,} items, and all are found"])
    nearest = search.search(query, database, top, queries)
    if out is not None:
        write_arrays(out, nearest.arrays)
    name = ", ".join(map(str, sources or places.values()))
    is_short = queries is not None or items is not None or len(nearest.arrays["queries"]) <= LINES
    return _sheet_of(name, nearest, names, is_short=is_short)


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


def _sheet_of(source: str, result: SearchResult, names: list[str], *, is_short: bool) -> Sheet:
    """The items of each query, by the ``names`` of the items if they have any; or the distances of all queries."""
    summary = result.summary
    arrays = {name: array.tolist() for name, array in result.arrays.items()}
    tied = f"{summary['n_cut_ties']:,} queries have more items as near as the last one shown"
    texts = [
        f"{source}: {summary['n_queries']:,} queries, {summary['n_items']:,} items, {summary['n_bits']} bits",
        f"exhaustive: {tied}; {summary['search_s']:.3g} s",
    ]
    labels = [*map(str, arrays["queries"])]
    values = {"codes": source, **summary, **arrays}
    if names:
        labels = [names[row] for row in arrays["queries"]]
        values = {"codes": source, **summary, "names": labels, **arrays}
    if is_short:
        grid = _items_of_queries(labels, result)
        notes = []
    else:
        grid = _distances_of_ranks(result)
        notes = ["--queries N prints the items of N queries, --out FILE.npz keeps those of all"]

    def lines() -> Iterator[tuple[Value, ...]]:
        for label, ids, distances in zip(labels, arrays["ids"], arrays["distances"], strict=True):
            for rank, (item, distance) in enumerate(zip(ids, distances, strict=True), 1):
                yield label, rank, item, distance

    return Sheet(
        texts=[(Code(text),) for text in texts],
        grids=[grid],
        notes=notes,
        values=lambda: values,
        records=lambda: records(("query", "rank", "item", "distance"), lines()),
    )


def _items_of_queries(labels: list[str], result: SearchResult) -> Grid:
    rows = []
    for label, ids, distances in zip(labels, result.arrays["ids"], result.arrays["distances"], strict=True):
        items = (f"{item} ({distance})" for item, distance in zip(ids, distances, strict=True))
        rows.append((label, (Code(", ".join(items)),)))  # on one line, however long
    return Grid(rows, ("query", "items (distance)"))


def _distances_of_ranks(result: SearchResult) -> Grid:
    """The distances of the first item, of the one in the middle, and of the last, over the queries."""
    top = result.summary["top"]
    rows: list[tuple[Cell, ...]] = []
    for rank in sorted({1, (1 + top) // 2, top}):
        distances = sorted(result.arrays["distances"][:, rank - 1].tolist())
        rows.append((str(rank), distances[0], distances[(len(distances) - 1) // 2], distances[-1]))
    return Grid(rows, ("rank", "smallest distance", "median", "largest"))
