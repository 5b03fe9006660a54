"""``hashbench search`` finds the items nearest to queries, in saved codes or in the codes of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option

from hashbench.cli._options import Device, program
from hashbench.cli._scoring import Arrays, CodesLayout, explicit_of, places_of
from hashbench.cli.catalogue import complete
from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import require_apart, require_output
from hashbench.foundation.progress import note
from hashbench.learning.contract import BinaryHasher
from hashbench.running.datasets.custom import inputs
from hashbench.running.runs.data import own_rows
from hashbench.running.runs.guard import codes_file, load_hasher
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import Codes, binarize, search
from hashbench.scoring.codes.files import file_meant, load_codes, parted
from hashbench.scoring.codes.search import SearchResult
from hashbench.showing.sheet import Code, Grid, Sheet, Value, records

LINES = 10  # queries that are shown, where their number is not given


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

    It prints ids and distances: an id is the row of an item in the codes of the database, from 0. Where --queries is
    not given, the first ten queries are shown; --json and --out FILE.npz have all. A run also takes your own images, or
    other items as its data set has them, as the queries.
    """
    places = places_of(array, ["query_codes", "database_codes"])
    explicit = explicit_of(layout, places)
    if out is not None and out.suffix != ".npz":
        raise HashbenchError(f"{out}: ids and distances are written to an .npz: name a FILE.npz")
    first = program(context)
    sources = _sources(source, places, first)
    if out is not None:
        require_apart([*sources, *(parted(place)[0] for place in places.values())], [out])
        require_output(out)
    query, database, notes = load_codes(sources, explicit=explicit)
    for line in notes:
        note(f"note: {line}")
    names: list[str] = []
    if items is not None:
        query, names = _encoded(str(source), items, device, first)
    if top > len(database):
        note(f"note: --top {top}: the database has {len(database):,} items, and all are found")
    nearest = search.search(query, database, top, queries)
    if out is not None:
        write_arrays(out, nearest.arrays)
    name = ", ".join(map(str, sources or places.values()))
    return _sheet_of(name, nearest, names, queries or LINES)


def _sources(source: str | None, places: Mapping[str, str], program: Sequence[str]) -> list[Path]:
    """The file of codes that ``source`` names, or of its run; none where both arrays are named."""
    if source is None:
        if len(places) < 2:
            raise HashbenchError(
                "nothing to search: name a run or codes, or both query-codes and database-codes by --array"
            )
        return []
    if (file := file_meant(source)) is not None:
        return [file]
    store = Store.default()
    return [codes_file(store.named(source), store, program)]


def _encoded(name: str, items: Path, device: str, program: Sequence[str]) -> tuple[Codes, list[str]]:
    """The codes of the user's own items, by the run, and their names."""
    if file_meant(name) is not None:
        raise HashbenchError(f"{items}: your own queries are encoded by a run, and {name} has only codes: name a run")
    store = Store.default()
    row = store.named(name)
    run = Run.from_row(row)
    hasher = load_hasher(row, store, device, program)
    assert isinstance(hasher, BinaryHasher), "a run whose codes are binary has such a hasher"
    user_items = inputs.read(items, tuple(run.card.item_shape), value_max=run.card.value_max)
    return binarize(hasher.encode(own_rows(run, user_items.items, device).whole())), user_items.names


def _sheet_of(source: str, result: SearchResult, names: list[str], most: int) -> Sheet:
    """The items of at most so many queries, which are called by their ``names`` if they have any."""
    summary = result.summary
    arrays = {name: array.tolist() for name, array in result.arrays.items()}
    tied = f"{summary['n_cut_ties']:,} queries have more items as near as the last one shown"
    heading = [
        f"{source}: {summary['n_queries']:,} queries, {summary['n_items']:,} items, {summary['n_bits']} bits",
        f"exhaustive: {tied}; {summary['search_s']:.3g} s",
    ]
    labels = [*map(str, arrays["queries"])]
    values = {"codes": source, **summary, **arrays}
    if names:
        labels = [names[row] for row in arrays["queries"]]
        values = {"codes": source, **summary, "names": labels, **arrays}
    notes = []
    if len(labels) > most:
        notes = ["--queries N prints the items of N queries, --out FILE.npz keeps those of all"]
    rows = []
    lines: list[tuple[Value, ...]] = []
    for label, ids, distances in zip(labels, arrays["ids"], arrays["distances"], strict=True):
        nearest = list(zip(ids, distances, strict=True))
        texts = [f"{item} ({distance})" for item, distance in nearest]
        rows.append((label, (Code(", ".join(texts)),)))  # on one line, however long
        lines += [(label, rank, item, distance) for rank, (item, distance) in enumerate(nearest, 1)]
    return Sheet(
        texts=[(Code(text),) for text in heading],
        grids=[Grid(rows[:most], ("query", "items (distance)"))],
        notes=notes,
        values=lambda: values,
        records=lambda: records(("query", "rank", "item", "distance"), lines),
    )
