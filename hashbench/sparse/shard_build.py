"""The index of sparse codes in shards: the items of each file get an index file of their own, built by workers."""

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import file_sha256, files_named, require_writable, resolved
from hashbench.foundation.progress import bar, note
from hashbench.jobs.follow import all_done, checked
from hashbench.jobs.local import local_pool
from hashbench.jobs.task import Call
from hashbench.sparse import index, index_file, saved
from hashbench.sparse.index_file import Header, Position
from hashbench.sparse.shard_files import sizes_in_words


@dataclass(frozen=True)
class IndexSource:
    """The files of one shard: its items (activations or buckets), their embeddings, and the index to be built."""

    items: Path
    embeddings: Path
    k: int | None
    out: Path


def index_sources(items: Sequence[Path], embeddings: Path, k: int | None, folder: Path) -> list[IndexSource]:
    """The shards of the files that ``items`` and the pattern ``embeddings`` name, in the order of their names.

    The files of the two belong together in this order. The index of NAME.npz is NAME.h5 in ``folder``.
    """
    of_items, of_embeddings = files_named(items), files_named([embeddings])
    if len(of_items) != len(of_embeddings):
        raise HashbenchError(
            f"--embeddings {embeddings}: {len(of_embeddings)} files, but {len(of_items)} files of items: one for each "
            "is expected; quote a pattern, such as 'embeddings-*.npy'"
        )
    return [
        IndexSource(codes, vectors, k, folder / f"{codes.stem}.h5")
        for codes, vectors in zip(of_items, of_embeddings, strict=True)
    ]


def build_index(sources: Sequence[IndexSource], jobs: int = 1) -> list[Header]:
    """The headers of the index files of these shards; those that are not there yet are built, ``jobs`` at a time.

    A file is there if it was built from files of the same content with the same k. The memory needed is that of
    ``jobs`` shards. Raises HashbenchError, before anything is built, where a shard is there twice, where d, k or the
    width differ, and where a file would be replaced that is one of the inputs or no index.
    """
    _refuse_outputs(sources)
    there = [_position_in(source.out) for source in sources]
    sizes = [saved.sizes_of(source.items, source.embeddings, source.k) for source in sources]
    for source, one in zip(sources, sizes, strict=True):
        if one[1:] != sizes[0][1:]:
            raise HashbenchError(
                f"{source.items}: {sizes_in_words(one)}, but {sizes_in_words(sizes[0])} in {sources[0].items}: the "
                "shards of an index have the same"
            )
    require_writable(sources[0].out.parent, instead="--out")
    positions = _positions(sources, sizes[0].k, jobs)
    tasks, n_items = list[Call](), list[int]()
    for source, old, new, one in zip(sources, there, positions, sizes, strict=True):
        if old is None or old.source_sha256 != new.source_sha256:
            tasks.append(Call(partial(_build, source, new), str(source.items)))
            n_items.append(one.n_items)
        elif old != new:  # shards were added
            index_file.mark(source.out, new)
    if len(tasks) < len(sources):
        note(f"note: {len(sources) - len(tasks):,} of {len(sources):,} shards are there already")
    results = all_done(tasks, local_pool(min(jobs, len(tasks))))
    with bar("build", "item", sum(n_items), scaled=True) as shown, closing(results):
        for at, _ in results:
            shown.update(n_items[at])
    return [index_file.header(source.out) for source in sources]


def _refuse_outputs(sources: Sequence[IndexSource]) -> None:
    """Raises HashbenchError where an index would replace an input, or the index of another shard."""
    inputs = {resolved(path) for source in sources for path in (source.items, source.embeddings)}
    of: dict[Path, Path] = {}
    for source in sources:
        out = resolved(source.out)
        if out in inputs:
            raise HashbenchError(f"{source.out}: is one of the inputs: name another folder with --out")
        if of.setdefault(out, source.items) is not source.items:
            raise HashbenchError(f"{source.items}: the index of {of[out]} has the same name: rename one of them")


def _position_in(out: Path) -> Position | None:
    """The position of the index that is there already; raises HashbenchError if something else is."""
    if not out.exists():
        return None
    try:
        return index_file.header(out).position
    except HashbenchError as error:
        raise HashbenchError(f"{error}: remove it, or name another folder with --out") from None


def _positions(sources: Sequence[IndexSource], k: int, jobs: int) -> list[Position]:
    """The position of each shard; raises HashbenchError where two shards have the same files."""
    found = checked([Call(partial(_source_sha256, source, k), str(source.items)) for source in sources], jobs)
    first: dict[str, Path] = {}
    for source, sha256 in zip(sources, found, strict=True):
        if (other := first.setdefault(sha256, source.items)) is not source.items:
            raise HashbenchError(
                f"{source.items}: the same items and embeddings as {other}: each shard is indexed once: leave one out"
            )
    whole = _sha256(*found)
    return [Position(at, len(sources), whole, sha256) for at, sha256 in enumerate(found, 1)]


def _source_sha256(source: IndexSource, k: int) -> str:
    """The checksum of what a shard is built from."""
    items, embeddings = resolved(source.items), resolved(source.embeddings)
    of_items = file_sha256(items)
    return _sha256(of_items, of_items if embeddings == items else file_sha256(embeddings), str(k))


def _build(source: IndexSource, position: Position) -> int:
    """The size of the index file of a shard, which is written."""
    codes = saved.read_codes(source.items, source.k)
    embeddings = saved.read_matrix(source.embeddings, saved.EMBEDDINGS)
    try:
        built = index.build(codes, embeddings)
    except HashbenchError as error:
        raise HashbenchError(f"{source.embeddings}: {error}") from None
    return index_file.save(built, source.out, position)


def _sha256(*texts: str) -> str:
    return hashlib.sha256(" ".join(texts).encode()).hexdigest()
