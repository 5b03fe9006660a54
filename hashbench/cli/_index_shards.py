"""``hashbench index`` over several files: an index in shards."""

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashbench.sparse.index import Sizes
    from hashbench.sparse.index_file import Header
    from hashbench.sparse.sharded import ShardedIndex


def are_shards(names: Sequence[Path]) -> bool:
    """Whether ``names`` are several files, or a pattern, which may match one."""
    return len(names) > 1 or (glob.has_magic(str(names[0])) and not names[0].exists())


def build(items: Sequence[Path], embeddings: Path, k: int | None, out: Path, jobs: int) -> tuple[dict[str, Any], str]:
    """Builds the index of several files; its report for --json and as text."""
    from hashbench.shards import build_index, index_sources
    from hashbench.sparse.shard_files import sharded_index

    headers = build_index(index_sources(items, embeddings, k, out), jobs)
    sizes, size_bytes = sharded_index(headers).sizes, sum(header.path.stat().st_size for header in headers)
    report = {"index": str(out), **sizes._asdict(), "size_bytes": size_bytes, "shards": listed(headers)}
    shards = f"{len(headers):,} shards" if len(headers) > 1 else "1 shard"
    return report, f"{out}: {text_of(sizes)}; {shards}, {size_bytes:,} bytes"


def index_files(names: Sequence[Path]) -> list[Path]:
    """The index files that ``names`` are, match or hold, in the order of their names."""
    if len(names) == 1 and not are_shards(names) and not names[0].is_dir():
        return list(names)
    from hashbench.foundation.files import files_named

    return files_named(names, ".h5")


def opened(headers: "Sequence[Header]", codes: Path | None, embeddings: Path | None, verify: bool) -> "ShardedIndex":
    """The index in these files; raises HashbenchError if it was built for others than ``codes`` and ``embeddings``."""
    from hashbench.sparse import index_file, saved, shard_files
    from hashbench.sparse.sharded import Shard, ShardedIndex

    if len(headers) == 1:
        whole = index_file.load(headers[0].path, verify=verify)
        whole.require(
            None if codes is None else saved.read_codes(codes, whole.codes.k),
            None if embeddings is None else saved.read_matrix(embeddings, saved.EMBEDDINGS),
        )
        return ShardedIndex((Shard(0, whole.sizes, lambda: whole),))
    from hashbench.foundation.files import files_named

    files = [None if name is None else files_named([name]) for name in (codes, embeddings)]
    shard_files.require(headers, *files)
    return shard_files.sharded_index(headers, verify=verify)


def listed(headers: "Sequence[Header]") -> list[dict[str, Any]]:
    """For --json: the file of each shard, the number of its items, and the id of the first one."""
    from hashbench.sparse.shard_files import sharded_index

    shards = sharded_index(headers).shards
    return [
        {"file": str(header.path), "n_items": header.sizes.n_items, "first_id": shard.first}
        for header, shard in zip(headers, shards, strict=True)
    ]


def text_of(sizes: "Sizes") -> str:
    """The sizes in words."""
    return f"{sizes.n_items:,} items in {sizes.d} buckets, {sizes.k} an item, embeddings of width {sizes.width}"
