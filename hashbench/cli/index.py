"""``hashbench index`` builds an index of sparse codes and searches it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument, Option

from hashbench.cli._command import Commands, lines
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.files import require_apart, require_output, write_arrays
from hashbench.foundation.progress import bar
from hashbench.metrics.suf import speed_up
from hashbench.showing.sheet import Cell, Code, Grid, Sheet, Value, records
from hashbench.sparse import index, index_file, search
from hashbench.sparse.codes import ACTIVATIONS, EMBEDDINGS, read_codes, read_matrix
from hashbench.sparse.search import SearchResult

app = Commands()


@app.command("build", short_help="Build the index of a set of items.")
def build(
    items: Annotated[
        Path, Argument(metavar="CODES|ACTIVATIONS", help="Activations [n, d], or buckets [n, k] and their number d.")
    ],
    embeddings: Annotated[Path, Option(metavar="FILE", help="The embeddings [n, m] of the items.")],
    out: Annotated[Path, Option(metavar="FILE.h5", help="The index file.")],
    k: Annotated[int | None, Option("--k", min=1, help="Buckets of an item; needed with activations.")] = None,
) -> Sheet:
    """Build the index of a set of items: for each bucket its items and their embeddings, as float32.

    Files are .npz, .npy, .h5 or .mat. Their arrays are named activations, embeddings, buckets and d; if a file has only
    one array, its name does not matter. The index stores each embedding k times, once for each bucket of the item.
    """
    require_apart([items, embeddings], [out])
    require_output(out)
    with bar("build", "file"):
        codes = read_codes(items, k)
        vectors = read_matrix(embeddings, EMBEDDINGS)
        with retold(lambda fault: f"{embeddings}: {fault}", HashbenchError):
            built = index.build(codes, vectors)
        size_bytes = index_file.save(built, out)
    report = {"index": str(out), **built.sizes._asdict(), "size_bytes": size_bytes}
    return lines([f"{out}: {_in_words(report)}; {size_bytes:,} bytes"], lambda: report)


@app.command("query", short_help="Print the nearest items of each query.")
def query(
    file: Annotated[Path, Argument(metavar="INDEX", help="The file of an index.")],
    queries: Annotated[Path, Argument(metavar="QUERIES", help="File with activations [q, d] and embeddings [q, m].")],
    top: Annotated[int, Option(min=1, help="Number of items to find for each query.")] = 10,
    out: Annotated[Path | None, Option(metavar="FILE.npz", help="Also write the arrays that --json has.")] = None,
    exclude_self: Annotated[
        bool, Option("--exclude-self", help="The queries are the indexed items: leave each one itself out.")
    ] = False,
    verify: Annotated[bool, Option("--verify", help="Check the index against its checksum.")] = False,
) -> Sheet:
    """Print the nearest items of each query, by Euclidean distance, among the items in the buckets that it opens.

    A query opens the buckets of its k largest activations. While these hold fewer than --top items, it opens the bucket
    of the next largest activation. SUF is the number of items divided by the mean number of items retrieved.
    """
    if out is not None:
        require_apart([file, queries], [out])
        require_output(out)
    index = index_file.load(file, verify=verify)
    activations = read_matrix(queries, ACTIVATIONS)
    n_items = len(index)
    if exclude_self and (n := len(activations)) != n_items:
        raise HashbenchError(f"--exclude-self: {n} queries, {n_items} items; the queries must be the indexed items")
    itself = np.arange(n_items) if exclude_self else None
    vectors = read_matrix(queries, EMBEDDINGS)
    nearest = search.query(index, activations, vectors, top, exclude=itself, progress=True)
    if out is not None:
        write_arrays(out, **nearest._asdict())
    report = {
        "index": str(file),
        **index.sizes._asdict(),
        "n_queries": len(nearest.ids),
        "mean_candidates": float(nearest.n_candidates.mean()),
        "suf": speed_up(nearest.n_candidates, n_items - exclude_self),
        "n_opened_more": int((nearest.n_opened > index.codes.k).sum()),
    }
    return _sheet_of(report, nearest)


def _in_words(sizes: dict[str, Any]) -> str:
    buckets = f"{sizes['d']} buckets, {sizes['k']} an item"
    return f"{sizes['n_items']:,} items in {buckets}, embeddings of width {sizes['width']}"


def _sheet_of(report: dict[str, Any], result: SearchResult) -> Sheet:
    """The items of each query, and the SUF of all."""
    arrays = {name: array.tolist() for name, array in result._asdict().items()}
    candidates = f"{report['mean_candidates']:,.1f} candidates a query, SUF {report['suf']:.2f}"
    opened = f"{report['n_opened_more']:,} opened more than {report['k']}"
    queries = list(zip(result.ids, result.distances, arrays["n_candidates"], strict=True))
    rows: list[tuple[Cell, ...]] = []
    for query, (ids, distances, n_candidates) in enumerate(queries):
        nearest = ", ".join(f"{item} ({distance:.4g})" for item, distance in zip(ids, distances, strict=True))
        rows.append((str(query), n_candidates, (Code(nearest),)))

    def items() -> Iterator[tuple[Value, ...]]:
        for query, (ids, distances, _) in enumerate(queries):
            for rank, (item, distance) in enumerate(zip(ids, distances, strict=True), 1):
                yield query, rank, int(item), float(distance)

    return Sheet(
        texts=[
            (Code(f"{report['index']}: {_in_words(report)}"),),
            f"{report['n_queries']:,} queries: {candidates}; {opened}",
        ],
        grids=[Grid(rows, ("query", "candidates", "items (distance)"))],
        values=lambda: report | arrays,
        records=lambda: records(("query", "rank", "item", "distance"), items()),
    )
