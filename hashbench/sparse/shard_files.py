"""The files of an index, which may be in shards: put in order, and refused unless they are one index together."""

import glob
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import files_named
from hashbench.foundation.progress import bar
from hashbench.sparse import index_file, saved
from hashbench.sparse.index import Sizes, embeddings_sha256
from hashbench.sparse.index_file import Header, Position
from hashbench.sparse.sharded import Shard, ShardedIndex


def are_shards(names: Sequence[Path]) -> bool:
    """Whether ``names`` are several files, or a pattern, which may match one."""
    return len(names) > 1 or (glob.has_magic(str(names[0])) and not names[0].exists())


def index_files(names: Sequence[Path]) -> list[Header]:
    """The headers of the index files that ``names`` are, match or hold: one index, in the order of its items.

    Shards of one build are in its order; indexes that were built one by one are in the order of their names. Raises
    HashbenchError, one line, where one is damaged, where d, k or the width differ, where one is there twice, and where
    one of the shards is missing or of another build.
    """
    is_one_file = not are_shards(names) and not names[0].is_dir()
    headers = [index_file.header(path) for path in (names if is_one_file else files_named(names, ".h5"))]
    for other in headers[1:]:
        if headers[0].sizes[1:] != other.sizes[1:]:
            raise HashbenchError(
                f"{other.path}: {sizes_in_words(other.sizes)}, but {sizes_in_words(headers[0].sizes)} in "
                f"{headers[0].path}: the shards of an index have the same"
            )
    first: dict[Position | str, Header] = {}
    for header in headers:
        other = first.setdefault(header.position or header.sha256, header)
        if other is not header:
            raise HashbenchError(
                f"{header.path}: the same index as {other.path}: each shard counts once: leave one out"
            )
    positions = {header.path: header.position for header in headers if header.position}
    if not positions:
        return headers
    _require_one_build(headers)
    return sorted(headers, key=lambda header: positions[header.path].shard)


def sizes_in_words(sizes: Sizes) -> str:
    """What all shards of an index have in common."""
    return f"d = {sizes.d}, k = {sizes.k}, embeddings of width {sizes.width}"


def _require_one_build(headers: Sequence[Header]) -> None:
    """Raises HashbenchError unless the files are all shards of one build."""
    first = next(header for header in headers if header.position)
    assert first.position is not None
    for header in headers:
        if header.position is None or header.position.build_sha256 != first.position.build_sha256:
            raise HashbenchError(
                f"{header.path}: is not part of the build of {first.path}: finish that build, or leave one of them out"
            )
    here = {header.position.shard for header in headers if header.position}
    missing = [str(shard) for shard in range(1, first.position.n_shards + 1) if shard not in here]
    if missing:
        shown = ", ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
        raise HashbenchError(
            f"{first.path}: shard {first.position.shard} of {first.position.n_shards}, but shard {shown} is missing: "
            "name the files of all shards, or finish the build"
        )


def sharded_index(headers: Sequence[Header], *, verify: bool = False) -> ShardedIndex:
    """The index of these files in this order; ``verify`` compares each with its checksum when it is loaded."""
    shards, first = [], 0
    for header in headers:
        shards.append(Shard(first, header.sizes, partial(index_file.load, header.path, verify=verify)))
        first += header.sizes.n_items
    return ShardedIndex(tuple(shards))


def index_of(headers: Sequence[Header], codes: Path | None, embeddings: Path | None, *, verify: bool) -> ShardedIndex:
    """The index in these files; raises HashbenchError if it was built for others than ``codes`` and ``embeddings``.

    These are patterns where there are several shards, of a file for each in the same order.
    """
    if len(headers) > 1:
        _require_built_for(headers, codes, embeddings)
        return sharded_index(headers, verify=verify)
    whole = index_file.load(headers[0].path, verify=verify)
    whole.require(
        None if codes is None else saved.read_codes(codes, whole.codes.k),
        None if embeddings is None else saved.read_matrix(embeddings, saved.EMBEDDINGS),
    )
    return ShardedIndex((Shard(0, whole.sizes, lambda: whole),))


def _require_built_for(headers: Sequence[Header], codes: Path | None, embeddings: Path | None) -> None:
    files = {"codes": codes, "embeddings": embeddings}
    given = {what: files_named([pattern]) for what, pattern in files.items() if pattern is not None}
    for what, paths in given.items():
        if len(paths) != len(headers):
            raise HashbenchError(f"--{what}: {len(paths)} files, {len(headers)} shards: a file for each is expected")
    with bar("check", "shard", len(headers)) as shown:
        for at, header in enumerate(headers):
            for what, paths in given.items():
                if not _is_built_for(header, what, paths[at]):
                    raise HashbenchError(
                        f"{header.path}: built for other {what} than those of {paths[at]}: build it again"
                    )
            shown.update()


def _is_built_for(header: Header, what: str, path: Path) -> bool:
    if what == "codes":
        return saved.read_codes(path, header.sizes.k).sha256() == header.codes_sha256
    return embeddings_sha256(saved.read_matrix(path, saved.EMBEDDINGS)) == header.embeddings_sha256
