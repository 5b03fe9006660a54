"""The files of an index in shards: put in order, and refused unless they are one index together."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import bar
from hashbench.sparse import index_file, saved
from hashbench.sparse.index import embeddings_sha256
from hashbench.sparse.index_file import Header, Position
from hashbench.sparse.sharded import Shard, ShardedIndex


def in_order(paths: Sequence[Path]) -> list[Header]:
    """The headers of the index files ``paths``, which together are one index, in the order of their items.

    Shards of one build are in its order; indexes that were built one by one are in the given order. Raises
    HashbenchError, one line, where one is damaged, where d, k or the width differ, where one is there twice, and where
    one of the shards is missing or of another build.
    """
    headers = [index_file.header(path) for path in paths]
    for other in headers[1:]:
        _require_same_sizes(headers[0], other)
    positions = {header.path: header.position for header in headers if header.position}
    _refuse_twice(headers)
    if not positions:
        return headers
    _require_one_build(headers)
    return sorted(headers, key=lambda header: positions[header.path].shard)


def sharded_index(headers: Sequence[Header], *, verify: bool = False) -> ShardedIndex:
    """The index of these files in this order; ``verify`` compares each with its checksum when it is loaded."""
    shards, first = [], 0
    for header in headers:
        shards.append(Shard(first, header.sizes, partial(index_file.load, header.path, verify=verify)))
        first += header.sizes.n_items
    return ShardedIndex(tuple(shards))


def require(headers: Sequence[Header], codes: Sequence[Path] | None, embeddings: Sequence[Path] | None) -> None:
    """Raises HashbenchError unless the shards were built for these files, one for each shard in the same order."""
    for option, files in (("--codes", codes), ("--embeddings", embeddings)):
        if files is not None and len(files) != len(headers):
            raise HashbenchError(f"{option}: {len(files)} files, {len(headers)} shards: a file for each is expected")
    with bar("check", "shard", len(headers)) as shown:
        for at, header in enumerate(headers):
            if codes is not None:
                found = saved.read_codes(codes[at], header.sizes.k).sha256()
                _require_same(header, found == header.codes_sha256, "codes", codes[at])
            if embeddings is not None:
                found = embeddings_sha256(saved.read_matrix(embeddings[at], saved.EMBEDDINGS))
                _require_same(header, found == header.embeddings_sha256, "embeddings", embeddings[at])
            shown.update()


def _require_same(header: Header, is_same: bool, what: str, path: Path) -> None:
    if not is_same:
        raise HashbenchError(f"{header.path}: built for other {what} than those of {path}: build it again")


def _require_same_sizes(one: Header, other: Header) -> None:
    if one.sizes[1:] != other.sizes[1:]:
        d, k, width = one.sizes[1:]
        its_d, its_k, its_width = other.sizes[1:]
        raise HashbenchError(
            f"{other.path}: d = {its_d}, k = {its_k}, width {its_width}, but d = {d}, k = {k}, width {width} in "
            f"{one.path}: the shards of an index have the same"
        )


def _refuse_twice(headers: Sequence[Header]) -> None:
    first: dict[Position | str, Header] = {}
    for header in headers:
        other = first.setdefault(header.position or header.sha256, header)
        if other is not header:
            raise HashbenchError(
                f"{header.path}: the same index as {other.path}: each shard counts once: leave one out"
            )


def _require_one_build(headers: Sequence[Header]) -> None:
    """Raises HashbenchError unless the files are all shards of one build."""
    first = next(header for header in headers if header.position)
    assert first.position is not None
    for header in headers:
        if header.position is None or header.position.build_sha256 != first.position.build_sha256:
            raise HashbenchError(
                f"{header.path}: not of the build of {first.path}: finish that build, or leave one of them out"
            )
    here = {header.position.shard for header in headers if header.position}
    missing = [str(shard) for shard in range(1, first.position.n_shards + 1) if shard not in here]
    if missing:
        shown = ", ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
        raise HashbenchError(
            f"{first.path}: shard {first.position.shard} of {first.position.n_shards}, without shard {shown}: "
            "name the files of all shards, or finish the build"
        )
