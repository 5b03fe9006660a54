"""The files of an index: shards are built by workers, each from a file of items; a search checks and orders them."""

import glob
import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from hashbench.codes.files import arrays_in
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.files import file_sha256, files_named, require_writable, resolved
from hashbench.foundation.progress import bar, note, with_bar
from hashbench.jobs.follow import all_done, checked
from hashbench.jobs.local import local_pool
from hashbench.jobs.task import Call
from hashbench.sparse import codes as stored
from hashbench.sparse import index, index_file
from hashbench.sparse.index import Shard, ShardedIndex, Sizes, embeddings_sha256
from hashbench.sparse.index_file import Header, Position


def are_shards(names: Sequence[Path]) -> bool:
    """Whether ``names`` are several files, or a pattern, which may match one."""
    return len(names) > 1 or (glob.has_magic(str(names[0])) and not names[0].exists())


def index_files(names: Sequence[Path]) -> list[Header]:
    """The headers of the index files that ``names`` are, match or hold, in the order of the build, or else of names."""
    is_one_file = not are_shards(names) and not names[0].is_dir()
    headers = [index_file.header(path) for path in (names if is_one_file else files_named(names, ".h5"))]
    _require_equal_sizes([(header.path, header.sizes) for header in headers])
    first: dict[Position | str, Header] = {}
    for header in headers:
        if (other := first.setdefault(header.position or header.sha256, header)) is not header:
            same = f"the same index as {other.path}"
            raise HashbenchError(f"{header.path}: {same}: each shard counts once: leave one out")
    return _in_order_of_build(headers)


def _require_equal_sizes(found: Sequence[tuple[Path, Sizes]]) -> None:
    (first, expected), *others = found
    for path, sizes in others:
        if sizes[1:] != expected[1:]:
            raise HashbenchError(f"{path}: {sizes}, but {expected} in {first}: the shards of an index have the same")


def _in_order_of_build(headers: list[Header]) -> list[Header]:
    shards = [(header.position, header.path) for header in headers if header.position]
    if not shards:
        return headers
    (shard, n_shards, build, _), path = shards[0]
    for header in headers:
        if header.position is None or header.position.build_sha256 != build:
            what = f"is not part of the build of {path}"
            raise HashbenchError(f"{header.path}: {what}: finish that build, or leave one of them out")
    if missing := sorted({*range(1, n_shards + 1)} - {position.shard for position, _ in shards}):
        shown = ", ".join(map(str, missing[:5])) + (" ..." if len(missing) > 5 else "")
        found = f"{path}: shard {shard} of {n_shards}, but shard {shown} is missing"
        raise HashbenchError(f"{found}: name the files of all shards, or finish the build")
    return sorted(headers, key=lambda header: header.position or ())


def sharded_index(headers: Sequence[Header], *, verify: bool = False) -> ShardedIndex:
    """The index of these files in this order; ``verify`` compares each with its checksum when it is loaded."""
    shards, first = [], 0
    for header in headers:
        load = partial(index_file.load, header.path, verify=verify)
        shards.append(Shard(first, header.sizes, cache(load) if len(headers) == 1 else load))  # the only one is kept
        first += header.sizes.n_items
    return ShardedIndex(tuple(shards))


def require_built_for(headers: Sequence[Header], codes: Path | None, embeddings: Path | None) -> None:
    """Raises HashbenchError if the index was built for others than these files, or patterns of one a shard."""
    files = {"codes": codes, "embeddings": embeddings}
    given = {what: files_named([pattern]) for what, pattern in files.items() if pattern is not None}
    for what, paths in given.items():
        if len(paths) != len(headers):
            raise HashbenchError(f"--{what}: {len(paths)} files, {len(headers)} shards: a file for each is expected")
    for at, header in enumerate(with_bar(headers, "check", "shard")):
        for what, paths in given.items():
            if what == "codes":
                same = stored.read_codes(paths[at], header.sizes.k).sha256() == header.codes_sha256
            else:
                same = embeddings_sha256(stored.read_matrix(paths[at], stored.EMBEDDINGS)) == header.embeddings_sha256
            if not same:
                other = f"built for other {what} than those of {paths[at]}"
                raise HashbenchError(f"{header.path}: {other}: build it again")


@dataclass(frozen=True)
class IndexSource:
    """The files of one shard: its items (activations or buckets), their embeddings, and the index to be built."""

    items: Path
    embeddings: Path
    k: int | None
    out: Path

    def sizes(self) -> Sizes:
        """The sizes of the index; no values are read. Raises HashbenchError where the numbers of rows differ."""
        codes, d, k = stored.stored_codes(self.items, self.k)
        vectors = stored.stored_matrix(self.embeddings, arrays_in(self.embeddings), stored.EMBEDDINGS)
        (n_items, columns), (n_vectors, width) = codes.shape, vectors.shape
        d = columns if d is None else d
        if not 1 <= k <= d:
            raise HashbenchError(f"{codes.where}: k = {k} of {d} buckets: k from 1 to {d} is expected")
        if n_vectors != n_items:
            of = f"{n_vectors} embeddings, but {n_items} items in {self.items}"
            raise HashbenchError(f"{vectors.where}: {of}: one for each is expected")
        return Sizes(n_items, d, k, width)

    def build(self, position: Position | None = None) -> int:
        """The size of the index file, which is written."""
        codes, vectors = stored.read_codes(self.items, self.k), stored.read_matrix(self.embeddings, stored.EMBEDDINGS)
        with retold(lambda fault: f"{self.embeddings}: {fault}", HashbenchError):
            built = index.build(codes, vectors)
        return index_file.save(built, self.out, position)

    def sha256(self, k: int) -> str:
        """The checksum of what the shard is built from."""
        items, embeddings = resolved(self.items), resolved(self.embeddings)
        of_items = file_sha256(items)
        return _sha256(of_items, of_items if embeddings == items else file_sha256(embeddings), str(k))


def index_sources(items: Sequence[Path], embeddings: Path, k: int | None, folder: Path) -> list[IndexSource]:
    """The shards of the files that ``items`` and the pattern ``embeddings`` name, in pairs, in natural order."""
    of_items, of_embeddings = files_named(items), files_named([embeddings])
    if len(of_items) != len(of_embeddings):
        found = f"{len(of_embeddings)} files, but {len(of_items)} files of items: one for each is expected"
        raise HashbenchError(f"--embeddings {embeddings}: {found}; quote a pattern, such as 'embeddings-*.npy'")
    pairs = zip(of_items, of_embeddings, strict=True)
    return [IndexSource(codes, vectors, k, folder / f"{codes.stem}.h5") for codes, vectors in pairs]


def build_index(sources: Sequence[IndexSource], jobs: int = 1) -> list[Header]:
    """The headers of the index files of these shards; those that are not there yet are built, ``jobs`` at a time."""
    # all is checked before the first build; a file is there if it was built from the same content with the same k
    _refuse_outputs(sources)
    there = [_position_in(source.out) for source in sources]
    sizes = [source.sizes() for source in sources]
    _require_equal_sizes([(source.items, one) for source, one in zip(sources, sizes, strict=True)])
    require_writable(sources[0].out.parent, instead="--out")
    positions = _positions(sources, sizes[0].k, jobs)
    tasks, n_items = list[Call](), list[int]()
    for source, old, new, one in zip(sources, there, positions, sizes, strict=True):
        if old is None or old.source_sha256 != new.source_sha256:
            tasks.append(Call(partial(source.build, new), str(source.items)))
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
    inputs = {resolved(path) for source in sources for path in (source.items, source.embeddings)}
    of: dict[Path, Path] = {}
    for source in sources:
        out = resolved(source.out)
        if out in inputs:
            raise HashbenchError(f"{source.out}: is one of the inputs: name another folder with --out")
        if of.setdefault(out, source.items) is not source.items:
            raise HashbenchError(f"{source.items}: the index of {of[out]} has the same name: rename one of them")


def _position_in(out: Path) -> Position | None:
    with retold(lambda fault: f"{fault}: remove it, or name another folder with --out", HashbenchError):
        return index_file.header(out).position if out.exists() else None


def _positions(sources: Sequence[IndexSource], k: int, jobs: int) -> list[Position]:
    found = checked([Call(partial(source.sha256, k), str(source.items)) for source in sources], jobs)
    first: dict[str, Path] = {}
    for source, sha256 in zip(sources, found, strict=True):
        if (other := first.setdefault(sha256, source.items)) is not source.items:
            same = f"the same items and embeddings as {other}"
            raise HashbenchError(f"{source.items}: {same}: each shard is indexed once: leave one out")
    whole = _sha256(*found)
    return [Position(at, len(sources), whole, sha256) for at, sha256 in enumerate(found, 1)]


def _sha256(*texts: str) -> str:
    return hashlib.sha256(" ".join(texts).encode()).hexdigest()
