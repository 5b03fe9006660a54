"""``hashbench index`` searches items by sparse codes: in the buckets of each query."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument, Option

from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.files import require_apart, require_output
from hashbench.learning.sparse import index, search
from hashbench.learning.sparse.codes import ACTIVATIONS, EMBEDDINGS, read_codes, read_matrix
from hashbench.learning.sparse.search import SearchResult
from hashbench.scoring.metrics.suf import speed_up
from hashbench.showing.sheet import Cell, Code, Grid, Sheet, Value, records


def command(
    items: Annotated[
        Path, Argument(metavar="ITEMS", help="Activations [n, d], or buckets [n, k] and their number d; embeddings.")
    ],
    queries: Annotated[Path, Argument(metavar="QUERIES", help="File with activations [q, d] and embeddings [q, m].")],
    embeddings: Annotated[Path | None, Option(metavar="FILE", help="The embeddings [n, m] of ITEMS.")] = None,
    k: Annotated[int | None, Option("--k", min=1, help="Buckets of an item; needed with activations.")] = None,
    top: Annotated[int, Option(min=1, help="Number of items to find for each query.")] = 10,
    out: Annotated[Path | None, Option(metavar="FILE.npz", help="Also write the arrays that --json has.")] = None,
    exclude_self: Annotated[
        bool, Option("--exclude-self", help="The queries are the items: leave each one itself out.")
    ] = False,
) -> Sheet:
    """Print the nearest items of each query, by Euclidean distance, among the items in the buckets that it opens.

    Files are .npz, .npy, .h5 or .mat. Their arrays are named activations, embeddings, buckets and d; if a file has only
    one array, its name does not matter.

    A query opens the buckets of its k largest activations. While these hold fewer than --top items, it opens the bucket
    of the next largest activation. SUF is the number of items divided by the mean number of items retrieved.
    """
    vectors_file = embeddings or items
    if out is not None:
        require_apart([items, queries, vectors_file], [out])
        require_output(out)
    codes = read_codes(items, k)
    vectors = read_matrix(vectors_file, EMBEDDINGS)
    with retold(lambda fault: f"{vectors_file}: {fault}", HashbenchError):
        built = index.build(codes, vectors)
    activations = read_matrix(queries, ACTIVATIONS)
    n_items = len(codes)
    if exclude_self and (n := len(activations)) != n_items:
        raise HashbenchError(f"--exclude-self: {n} queries, {n_items} items; the queries must be the items")
    itself = np.arange(n_items) if exclude_self else None
    query_vectors = read_matrix(queries, EMBEDDINGS)
    nearest = search.query(built, activations, query_vectors, top, exclude=itself, progress=True)
    if out is not None:
        write_arrays(out, nearest._asdict())
    report = {
        "items": str(items),
        "n_items": n_items,
        "d": codes.d,
        "k": codes.k,
        "width": vectors.shape[1],
        "n_queries": len(nearest.ids),
        "mean_candidates": float(nearest.n_candidates.mean()),
        "suf": speed_up(nearest.n_candidates, n_items - exclude_self),
        "n_opened_more": int((nearest.n_opened > codes.k).sum()),
    }
    return _sheet_of(report, nearest)


def _sheet_of(report: dict[str, Any], result: SearchResult) -> Sheet:
    """The items of each query, and the SUF of all."""
    arrays = {name: array.tolist() for name, array in result._asdict().items()}
    candidates = f"{report['mean_candidates']:,.1f} candidates a query, SUF {report['suf']:.2f}"
    opened = f"{report['n_opened_more']:,} opened more than {report['k']}"
    rows: list[tuple[Cell, ...]] = []
    lines: list[tuple[Value, ...]] = []
    for query, n_candidates in enumerate(arrays["n_candidates"]):
        nearest = list(zip(arrays["ids"][query], arrays["distances"][query], strict=True))
        texts = [f"{item} ({distance:.4g})" for item, distance in nearest]
        rows.append((str(query), n_candidates, (Code(", ".join(texts)),)))
        lines += [(query, rank, item, distance) for rank, (item, distance) in enumerate(nearest, 1)]
    buckets = f"{report['d']} buckets, {report['k']} an item"
    items = f"{report['n_items']:,} items in {buckets}, embeddings of width {report['width']}"
    return Sheet(
        texts=[
            (Code(f"{report['items']}: {items}"),),
            f"{report['n_queries']:,} queries: {candidates}; {opened}",
        ],
        grids=[Grid(rows, ("query", "candidates", "items (distance)"))],
        values=lambda: report | arrays,
        records=lambda: records(("query", "rank", "item", "distance"), lines),
    )
