"""The index of sparse codes in shards: the items of each file get an index file of their own, built by workers."""

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import file_sha256, files_named, require_writable, resolved
from hashbench.foundation.progress import bar, note
from hashbench.shards import _workers
from hashbench.sparse import index, index_file, saved
from hashbench.sparse.index import Sizes
from hashbench.sparse.index_file import Header, Position


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
    there = [_there(source.out) for source in sources]
    sizes = _sizes(sources)
    require_writable(sources[0].out.parent, instead="--out")
    positions = _positions(sources, sizes[0].k, jobs)
    missing = []
    for at, (old, new) in enumerate(zip(there, positions, strict=True)):
        if old is None or old.source_sha256 != new.source_sha256:
            missing.append(at)
        elif old != new:  # shards were added
            index_file.mark(sources[at].out, new)
    if len(missing) < len(sources):
        note(f"note: {len(sources) - len(missing):,} of {len(sources):,} shards are there already")
    _build([_Build(sources[at], positions[at]) for at in missing], [sizes[at].n_items for at in missing], jobs)
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


def _there(out: Path) -> Position | None:
    """The position of the index that is there already; raises HashbenchError if something else is."""
    if not out.exists():
        return None
    try:
        return index_file.header(out).position
    except HashbenchError as error:
        raise HashbenchError(f"{error}: remove it, or name another folder with --out") from None


def _sizes(sources: Sequence[IndexSource]) -> list[Sizes]:
    """The sizes of each shard, by the headers of its files; raises HashbenchError if d, k or the width differ."""
    sizes = [saved.sizes_of(source.items, source.embeddings, source.k) for source in sources]
    for source, one in zip(sources, sizes, strict=True):
        if one[1:] != sizes[0][1:]:
            raise HashbenchError(
                f"{source.items}: {_others(one)}, but {_others(sizes[0])} in {sources[0].items}: the shards of an "
                "index have the same"
            )
    return sizes


def _others(sizes: Sizes) -> str:
    return f"d = {sizes.d}, k = {sizes.k}, embeddings of width {sizes.width}"


def _positions(sources: Sequence[IndexSource], k: int, jobs: int) -> list[Position]:
    """The position of each shard; raises HashbenchError where two shards have the same files."""
    looks, names = [_Look(source, k) for source in sources], [str(source.items) for source in sources]
    found: dict[int, str] = {}
    with bar("check", "shard", len(sources)) as shown, closing(_workers.done(looks, names, jobs)) as done:
        for at, sha256 in done:
            found[at] = sha256
            shown.update()
    first: dict[str, int] = {}
    for at in range(len(sources)):
        if (other := first.setdefault(found[at], at)) != at:
            raise HashbenchError(
                f"{names[at]}: the same items and embeddings as {names[other]}: each shard is indexed once: leave one "
                "out"
            )
    whole = _sha256(*(found[at] for at in range(len(sources))))
    return [Position(at + 1, len(sources), whole, found[at]) for at in range(len(sources))]


def _build(tasks: Sequence["_Build"], n_items: Sequence[int], jobs: int) -> None:
    names = [str(task.source.items) for task in tasks]
    shown = bar("build", "item", sum(n_items), scaled=True)
    with shown, closing(_workers.done(tasks, names, jobs)) as done:
        for at, _ in done:
            shown.update(n_items[at])


@dataclass(frozen=True)
class _Look:
    """The task that returns the checksum of what a shard is built from."""

    source: IndexSource
    k: int

    def __call__(self) -> str:
        items, embeddings = resolved(self.source.items), resolved(self.source.embeddings)
        of_items = file_sha256(items)
        return _sha256(of_items, of_items if embeddings == items else file_sha256(embeddings), str(self.k))


@dataclass(frozen=True)
class _Build:
    """The task that writes the index of a shard; it returns the size of the file."""

    source: IndexSource
    position: Position

    def __call__(self) -> int:
        source = self.source
        codes = saved.read_codes(source.items, source.k)
        embeddings = saved.read_matrix(source.embeddings, saved.EMBEDDINGS)
        try:
            built = index.build(codes, embeddings)
        except HashbenchError as error:
            raise HashbenchError(f"{source.embeddings}: {error}") from None
        return index_file.save(built, source.out, self.position)


def _sha256(*texts: str) -> str:
    return hashlib.sha256(" ".join(texts).encode()).hexdigest()
