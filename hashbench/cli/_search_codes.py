"""``hashbench search`` in saved codes: ids and distances, found exhaustively or by an inverted file."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hashbench.codes import Codes
    from hashbench.codes.files import Explicit
    from hashbench.codes.inverted_file import Lists

    Arrays = dict[str, NDArray[Any]]

CHECKED = 100  # queries that are searched exhaustively too


@dataclass(frozen=True)
class How:
    """What the options say: the number of items and of queries, and how an inverted file (``ivf``) is made and used."""

    top: int
    queries: int | None
    ivf: bool
    probes: int | None
    lists: int | None
    index: Path | None
    check: int | None


def search(sources: Sequence[Path], explicit: "Explicit", how: How, out: Path | None, as_json: bool) -> None:
    """Prints the nearest items of each query, and writes them to the .npz ``out``."""
    from hashbench.codes.files import load_codes
    from hashbench.foundation.errors import HashbenchError
    from hashbench.foundation.files import require_apart, require_output

    require_apart([*sources, *_files_of(explicit)], [path for path in (out, how.index) if path is not None])
    for path in filter(None, (out, how.index)):
        require_output(path)
    query, database, notes = load_codes(sources, explicit=explicit)
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    if how.top > len(database):
        raise HashbenchError(f"--top {how.top}: the database has {len(database):,} items: at most as many can be found")
    rows, query = _spread(query, how.queries)
    found, summary = _by_lists(query, database, how) if how.ivf else _exhaustive(query, database, how.top)
    summary = {"n_queries": len(query), "n_items": len(database), "n_bits": query.n_bits, "top": how.top, **summary}
    found = {"queries": rows, **found}
    if out is not None:
        _write(out, found)
    named = ", ".join(map(str, sources or (explicit.query_codes, explicit.database_codes)))
    typer.echo(_as_json(named, summary, found) if as_json else _as_text(named, summary, found))


def _files_of(explicit: "Explicit") -> list[Path]:
    """The files that ``explicit`` names, as FILE or FILE:KEY."""
    from hashbench.codes.files import parted

    return [parted(place)[0] for place in (explicit.query_codes, explicit.database_codes) if place is not None]


def _spread(query: "Codes", wanted: int | None) -> "tuple[NDArray[Any], Codes]":
    """The rows of the chosen queries, and their codes."""
    import numpy as np

    from hashbench.codes import Codes

    n = min(wanted or len(query), len(query))
    rows = np.arange(n) * len(query) // n
    return rows, Codes(query.words[rows], query.n_bits)


def _exhaustive(query: "Codes", database: "Codes", top: int) -> "tuple[Arrays, dict[str, Any]]":
    import numpy as np

    from hashbench.codes.nearest import neighbours_of

    started = time.perf_counter()
    found = neighbours_of(query, database, top, progress=True)
    summary = {"method": "exhaustive", "search_s": time.perf_counter() - started}
    names = {"ids": "items", "distances": "distances", "first": "first", "last": "last"}
    arrays = {name: np.stack([getattr(each, field) for each in found]) for name, field in names.items()}
    return arrays, {**summary, "n_cut_ties": int((arrays["last"][:, -1] > top).sum())}


def _by_lists(query: "Codes", database: "Codes", how: How) -> "tuple[Arrays, dict[str, Any]]":
    from hashbench.codes import inverted_file

    started = time.perf_counter()
    lists = _lists(database, how)
    searched = inverted_file.InvertedFile(database, lists)
    probes = min(how.probes or inverted_file.PROBES, len(lists))
    built = time.perf_counter()
    found = searched.search(query, how.top, probes, progress=True)
    summary = {
        "method": "ivf",
        "lists": len(lists),
        "probes": probes,
        "build_s": built - started,
        "search_s": time.perf_counter() - built,
    }
    checked = _checked(query, database, found.distances, CHECKED if how.check is None else how.check)
    return found._asdict(), {**summary, **checked}


def _lists(database: "Codes", how: How) -> "Lists":
    """The lists in the file of ``--index``, or else new ones, which are written there."""
    from hashbench.codes import inverted_file
    from hashbench.foundation.errors import HashbenchError

    if how.index is None or not how.index.exists():
        lists = inverted_file.make_lists(database, how.lists, progress=True)
        if how.index is not None:
            inverted_file.save(lists, how.index)
        return lists
    lists = inverted_file.load(how.index, database)
    if how.lists not in (None, len(lists)):
        raise HashbenchError(
            f"{how.index}: {len(lists)} lists, not {how.lists}: leave --lists out or name another file"
        )
    return lists


def _checked(query: "Codes", database: "Codes", distances: "NDArray[Any]", n: int) -> dict[str, Any]:
    """The recall of ``n`` of the queries, and the seconds that all would take exhaustively; empty for none."""
    from hashbench.codes.inverted_file import recall

    if n == 0:
        return {}
    rows, some = _spread(query, n)
    exact, summary = _exhaustive(some, database, distances.shape[1])
    seconds = summary["search_s"] * len(query) / len(rows)
    return {"recall": recall(distances[rows], exact["distances"]), "n_checked": len(rows), "exhaustive_s": seconds}


def _as_json(named: str, summary: dict[str, Any], found: "Arrays") -> str:
    return json.dumps({"codes": named, **summary, **{name: array.tolist() for name, array in found.items()}})


def _as_text(named: str, summary: dict[str, Any], found: "Arrays") -> str:
    sizes = f"{summary['n_queries']:,} queries, {summary['n_items']:,} items, {summary['n_bits']} bits"
    lines = [f"{named}: {sizes}", _how(summary), "query  items (distance)"]
    for q, ids, distances in zip(found["queries"], found["ids"], found["distances"], strict=True):
        nearest = "  ".join(f"{item} ({distance})" for item, distance in zip(ids, distances, strict=True))
        lines.append(f"{q:5}  {nearest}")
    return "\n".join(lines)


def _how(summary: dict[str, Any]) -> str:
    """The line that says how the items were found, and what the search may have left out."""
    seconds = f"{summary['search_s']:.3g} s"
    if summary["method"] == "exhaustive":
        return f"exhaustive: {summary['n_cut_ties']:,} queries have more items as near as the last one shown; {seconds}"
    what = f"approximate: {summary['probes']:,} of {summary['lists']:,} lists searched"
    if "recall" not in summary:
        return f"{what}; {seconds}"
    recall = f"recall@{summary['top']} {summary['recall']:.4f} on {summary['n_checked']:,} queries"
    return f"{what}, {recall}; {seconds}, exhaustively about {summary['exhaustive_s']:.3g} s"


def _write(out: Path, found: "Arrays") -> None:
    import numpy as np

    from hashbench.foundation.files import atomic

    with atomic(out) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **found)
