"""``hashbench index`` builds an index of sparse codes and searches it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option, Typer, echo

from hashbench.cli import _interrupts
from hashbench.cli._options import AsJson
from hashbench.foundation.errors import HashbenchError, counted
from hashbench.foundation.files import require_apart, require_output, write_arrays
from hashbench.foundation.progress import bar

if TYPE_CHECKING:
    from hashbench.sparse.index_file import Header
    from hashbench.sparse.search import SearchResult

app = Typer(rich_markup_mode=None)


@app.command("build", short_help="Build the index of a set of items.")
def build(
    items: Annotated[
        list[Path],
        Argument(metavar="CODES|ACTIVATIONS", help="Activations [n, d], or buckets [n, k] and d; several: in shards."),
    ],
    embeddings: Annotated[Path, Option(metavar="FILE|'PATTERN'", help="Embeddings [n, m]; a file for each of items.")],
    out: Annotated[Path, Option(metavar="FILE.h5|FOLDER", help="The index file; in shards, the folder of them.")],
    k: Annotated[int | None, Option("--k", min=1, help="Buckets of an item; needed with activations.")] = None,
    jobs: Annotated[int, Option(min=1, help="The number of shards that are built at the same time.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Build the index of a set of items: for each bucket its items and their embeddings, as float32.

    Files are .npz, .npy, .h5 or .mat. Their arrays are named activations, embeddings, buckets and d; if a file has only
    one array, its name does not matter. The index stores each embedding k times, once for each bucket of the item.

    Of several files, or a quoted pattern, each gets an index file of its own in the folder --out, in the order of their
    names (db-2 before db-10). A shard whose index is there is not built again, so the same command continues a build.
    """
    from hashbench.sparse.shard_files import IndexSource, are_shards, build_index, index_sources, sharded_index

    if are_shards(items):
        _interrupts.say_that_it_continues()
        headers = build_index(index_sources(items, embeddings, k, out), jobs)
        sizes, size_bytes = sharded_index(headers).sizes, sum(header.path.stat().st_size for header in headers)
        more, n_shards = {"shards": _shards(headers)}, f"{counted(len(headers), 'shard')}, "
    elif jobs > 1:
        raise HashbenchError("--jobs needs several files of items: name them, or quote a pattern such as 'items-*.npz'")
    else:
        source = IndexSource(items[0], embeddings, k, out)
        require_apart([items[0], embeddings], [out])
        require_output(out)
        with bar("build", "file"):
            sizes, size_bytes = source.sizes(), source.build()
        more, n_shards = {}, ""
    report = {"index": str(out), **sizes._asdict(), "size_bytes": size_bytes, **more}
    echo(json.dumps(report) if as_json else f"{out}: {_in_words(report)}; {n_shards}{size_bytes:,} bytes")


@app.command("query", short_help="Print the nearest items of each query.")
def query(
    files: Annotated[
        list[Path],
        Argument(metavar="INDEX", help="The file of an index; or the folder, the files or a pattern of its shards."),
    ],
    queries: Annotated[Path, Argument(metavar="QUERIES", help="File with activations [q, d] and embeddings [q, m].")],
    top: Annotated[int, Option(min=1, help="Number of items to find for each query.")] = 10,
    as_json: AsJson = False,
    out: Annotated[Path | None, Option(metavar="FILE.npz", help="Also write the arrays that --json has.")] = None,
    exclude_self: Annotated[
        bool, Option("--exclude-self", help="The queries are the indexed items: leave each one itself out.")
    ] = False,
    codes: Annotated[
        Path | None, Option(metavar="FILE", help="Stop if the index is of other codes; of shards, a pattern.")
    ] = None,
    embeddings: Annotated[Path | None, Option(metavar="FILE", help="Stop if it is of other embeddings.")] = None,
    verify: Annotated[bool, Option("--verify", help="Check all index files against their checksums.")] = False,
) -> None:
    """Print the nearest items of each query, by Euclidean distance, among the items in the buckets that it opens.

    A query opens the buckets of its k largest activations. While these hold fewer than --top items, it opens the bucket
    of the next largest activation. SUF is the number of items divided by the mean number of items retrieved. Shards are
    searched one at a time; ids count through all of them in the order of the build, or else of the file names.
    """
    import numpy as np

    from hashbench.metrics.suf import speed_up
    from hashbench.sparse import search, shard_files
    from hashbench.sparse.codes import ACTIVATIONS, EMBEDDINGS, read_matrix

    headers = shard_files.index_files(files)
    if out is not None:
        checked = [path for path in (codes, embeddings) if path is not None]
        require_apart([*(each.path for each in headers), queries, *checked], [out])
        require_output(out)
    shard_files.require_built_for(headers, codes, embeddings)
    index, activations = shard_files.sharded_index(headers, verify=verify), read_matrix(queries, ACTIVATIONS)
    n_items = index.sizes.n_items
    if exclude_self and (n := len(activations)) != n_items:
        raise HashbenchError(f"--exclude-self: {n} queries, {n_items} items; the queries must be the indexed items")
    itself = np.arange(n_items) if exclude_self else None
    own = read_matrix(queries, EMBEDDINGS)
    found = search.query(index, activations, own, top, exclude=itself, progress=True)
    if out is not None:
        write_arrays(out, **found._asdict())
    report = {"index": " ".join(map(str, files)), **index.sizes._asdict()}
    report |= {"shards": _shards(headers)} if len(headers) > 1 else {}
    report |= {"n_queries": len(found.ids), "mean_candidates": float(found.n_candidates.mean())}
    more, suf = int((found.n_opened > index.sizes.k).sum()), speed_up(found.n_candidates, n_items - exclude_self)
    report |= {"suf": suf, "n_opened_more": more}
    if as_json:
        report |= {name: array.tolist() for name, array in found._asdict().items()}
    echo(json.dumps(report) if as_json else "\n".join(_lines(report, found)))


def _shards(headers: "list[Header]") -> list[dict[str, Any]]:
    """For --json: the file of each shard, the number of its items, and the id of the first one."""
    from hashbench.sparse.shard_files import sharded_index

    pairs = zip(headers, sharded_index(headers).shards, strict=True)
    return [{"file": str(each.path), "n_items": each.sizes.n_items, "first_id": of.first} for each, of in pairs]


def _in_words(sizes: dict[str, Any]) -> str:
    buckets = f"{sizes['d']} buckets, {sizes['k']} an item"
    return f"{sizes['n_items']:,} items in {buckets}, embeddings of width {sizes['width']}"


def _lines(report: dict[str, Any], found: "SearchResult") -> Iterator[str]:
    n_shards = f"; {len(report['shards']):,} shards" if "shards" in report else ""
    yield f"{report['index']}: {_in_words(report)}{n_shards}"
    candidates = f"{report['mean_candidates']:,.1f} candidates a query, SUF {report['suf']:.2f}"
    yield f"{report['n_queries']:,} queries: {candidates}; {report['n_opened_more']:,} opened more than {report['k']}"
    yield "query  candidates  items (distance)"
    for q, (ids, distances, n) in enumerate(zip(found.ids, found.distances, found.n_candidates, strict=True)):
        nearest = "  ".join(f"{item} ({distance:.4g})" for item, distance in zip(ids, distances, strict=True))
        yield f"{q:5}  {n:10}  {nearest}"
