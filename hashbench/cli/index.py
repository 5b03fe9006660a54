"""``hashbench index`` builds an index of sparse codes and searches it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli._options import AsJson

if TYPE_CHECKING:
    from hashbench.sparse.index import Index
    from hashbench.sparse.search import SearchResult

app = typer.Typer(rich_markup_mode=None)


@app.command("build", short_help="Build the index of a set of items.")
def build(
    items: Annotated[
        Path,
        typer.Argument(metavar="CODES|ACTIVATIONS", help="File with activations [n, d], or with buckets [n, k] and d."),
    ],
    embeddings: Annotated[
        Path, typer.Option(metavar="FILE", help="File with embeddings [n, m], between which distances are computed.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE.h5", help="The index file to write.")],
    k: Annotated[
        int | None, typer.Option("--k", min=1, help="Number of buckets of each item; required with activations.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Build the index of a set of items: for each bucket its items and their embeddings, as float32.

    Files are .npz, .npy, .h5 or .mat. Their arrays are named activations, embeddings, buckets and d; if a file has only
    one array, its name does not matter. The index stores each embedding k times, once for each bucket of the item.
    """
    from hashbench.files import require_output
    from hashbench.progress import bar
    from hashbench.sparse import index, index_file, saved

    require_output(out)
    with bar("read, build, write", "step", 3) as done:
        codes, embedded = saved.read_codes(items, k), saved.read_matrix(embeddings, saved.EMBEDDINGS)
        done.update()
        built = index.build(codes, embedded)
        done.update()
        size_bytes = index_file.save(built, out)
    report = {"index": str(out), **_sizes(built), "size_bytes": size_bytes}
    typer.echo(json.dumps(report) if as_json else f"{out}: {_text(built)}; {size_bytes:,} bytes")


@app.command("query", short_help="Print the nearest items of each query.")
def query(
    file: Annotated[Path, typer.Argument(metavar="INDEX.h5", help="An index that `hashbench index build` wrote.")],
    queries: Annotated[
        Path, typer.Argument(metavar="QUERIES", help="File with activations [q, d] and embeddings [q, m].")
    ],
    top: Annotated[int, typer.Option(min=1, help="Number of items to find for each query.")] = 10,
    as_json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Also write ids, distances, n_candidates and n_opened.")
    ] = None,
    exclude_self: Annotated[
        bool,
        typer.Option(
            "--exclude-self",
            help="The queries are the indexed items in the same order; do not return an item as its own result.",
        ),
    ] = False,
    codes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Stop if the index was built from other codes than these.")
    ] = None,
    embeddings: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Stop if the index was built from other embeddings than these.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check the whole index file against its checksum.")] = False,
) -> None:
    """Print the nearest items of each query, by Euclidean distance, among the items in the buckets that it opens.

    A query opens the buckets of its k largest activations. While these hold fewer than --top items, it opens the bucket
    of the next largest activation. SUF is the number of items divided by the mean number of items retrieved.
    """
    import numpy as np

    from hashbench.errors import HashbenchError
    from hashbench.progress import bar
    from hashbench.sparse import index_file, saved, search

    with bar("read", "file"):
        index = index_file.load(file, verify=verify)
        index.require(
            None if codes is None else saved.read_codes(codes, index.codes.k),
            None if embeddings is None else saved.read_matrix(embeddings, saved.EMBEDDINGS),
        )
    activations = saved.read_matrix(queries, saved.ACTIVATIONS)
    if exclude_self and len(activations) != len(index):
        raise HashbenchError(f"--exclude-self: {len(activations)} queries, {len(index)} items: they are not the same")
    itself = np.arange(len(index)) if exclude_self else None
    own = saved.read_matrix(queries, saved.EMBEDDINGS)
    found = search.query(index, activations, own, top, exclude=itself, progress=True)
    if out is not None:
        _write(out, found)
    typer.echo(_as_json(file, index, found, exclude_self) if as_json else _as_text(file, index, found, exclude_self))


def _sizes(index: "Index") -> dict[str, int]:
    return {"n_items": len(index), "d": index.codes.d, "k": index.codes.k, "width": index.width}


def _text(index: "Index") -> str:
    codes = index.codes
    return f"{len(index):,} items in {codes.d} buckets, {codes.k} an item, embeddings of width {index.width}"


def _summary(index: "Index", found: "SearchResult", exclude_self: bool) -> dict[str, float]:
    from hashbench.metrics.suf import speed_up

    return {
        "n_queries": len(found.ids),
        "mean_candidates": float(found.n_candidates.mean()),
        "suf": speed_up(found.n_candidates, len(index) - exclude_self),
        "n_opened_more": int((found.n_opened > index.codes.k).sum()),
    }


def _as_json(file: Path, index: "Index", found: "SearchResult", exclude_self: bool) -> str:
    arrays = {name: array.tolist() for name, array in found._asdict().items()}
    return json.dumps({"index": str(file), **_sizes(index), **_summary(index, found, exclude_self), **arrays})


def _as_text(file: Path, index: "Index", found: "SearchResult", exclude_self: bool) -> str:
    summary = _summary(index, found, exclude_self)
    retrieved = f"{summary['mean_candidates']:,.1f} candidates a query, SUF {summary['suf']:.2f}"
    further = f"{summary['n_opened_more']:,} opened more than {index.codes.k}"
    lines = [f"{file}: {_text(index)}", f"{summary['n_queries']:,} queries: {retrieved}; {further}"]
    lines.append("query  candidates  items (distance)")
    for q, (ids, distances, n_candidates) in enumerate(
        zip(found.ids, found.distances, found.n_candidates, strict=True)
    ):
        nearest = "  ".join(f"{item} ({distance:.4g})" for item, distance in zip(ids, distances, strict=True))
        lines.append(f"{q:5}  {n_candidates:10}  {nearest}")
    return "\n".join(lines)


def _write(out: Path, found: "SearchResult") -> None:
    import numpy as np

    from hashbench.files import atomic

    with atomic(out) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **found._asdict())
