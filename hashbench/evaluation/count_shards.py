"""Counts all shards: those that are not counted yet, several at a time, with their sum kept after each."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hashbench.codes import Codes
from hashbench.evaluation.shard_total import Entry, Total, locked_total, read_total, write_total
from hashbench.evaluation.shards import CountTask, Shard, Source, query_sha256
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import bar, note
from hashbench.jobs import ray
from hashbench.jobs.follow import all_done, checked
from hashbench.jobs.local import local_pool
from hashbench.jobs.task import Call


@dataclass(frozen=True)
class How:
    """How many shards are counted at a time, here or on the Ray cluster ``ray``; the file of the total, and its use."""

    jobs: int = 1
    counts: Path | None = None
    append: bool = False
    ray: str | None = None


def count_shards(source: Source, shards: Sequence[Shard], how: How) -> tuple[Total, Codes]:
    """The total with the shards that ``how.counts`` lacks, kept there after each; and the codes of the queries."""
    with ExitStack() as stack:
        cluster = None if how.ray is None else stack.enter_context(ray.connected(how.ray))
        stack.enter_context(locked_total(how.counts))
        before = None if how.counts is None else read_total(how.counts)
        if how.append and before is None:
            raise HashbenchError(f"--append: {how.counts}: no such file: leave --append out to begin one")
        first = source.opened(shards[0])
        query, digest = first.query, query_sha256(first)
        del first  # it may hold the shard
        if before is not None:
            _require_queries(before, query, digest, how)
        seen: list[Entry] = checked([Call(partial(source.content_of, each), str(each)) for each in shards], how.jobs)
        given: dict[tuple[str, ...], Shard] = {}
        for shard, one in zip(shards, seen, strict=True):
            if (other := given.setdefault(one.identity, shard)) is not shard:
                once = "each shard is counted once, so leave one out"
                raise HashbenchError(f"{shard}: the same bytes as {other}: {once}")
        if before is not None:
            _require_shards(before, given, how)
        note(f"note: {len(shards):,} shards, {sum(one.items for one in seen):,} items")
        tasks = [CountTask(source, *each) for each in zip(shards, seen, strict=True)]
        return _total(tasks, before, digest, how, cluster), query


def _require_queries(before: Total, query: Codes, digest: str, how: How) -> None:
    old = before.evidence.histogram
    if (old.n_queries, old.n_bits) != query.shape:
        counted, given = (f"{n} queries of {bits} bits" for n, bits in ((old.n_queries, old.n_bits), query.shape))
        raise HashbenchError(f"{how.counts}: has the counts of {counted}, but {given} are given: name another file")
    if before.query_sha256 != digest:
        differ = "their codes or labels differ: name another file"
        raise HashbenchError(f"{how.counts}: has the counts of other queries: {differ}")


def _require_shards(before: Total, given: Mapping[tuple[str, ...], Shard], how: How) -> None:
    """Raises HashbenchError unless the shards in the file are among those given, or with --append none of them is."""
    others = [entry.file for identity, entry in before.identities.items() if identity not in given]
    if not how.append and others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        advice = "give all shards, or add these with --append"
        raise HashbenchError(f"{how.counts}: holds {others[0]}{more}, not among the given shards: {advice}")
    if not how.append or given.keys() == before.pending:
        return  # the last: the same --append was interrupted, and goes on
    if before.pending:
        raise HashbenchError(f"{how.counts}: an --append of other shards was interrupted: run that command again first")
    for identity, shard in given.items():
        if (entry := before.identities.get(identity)) is not None:
            name = "" if entry.file == str(shard) else f" as {entry.file}"
            raise HashbenchError(f"{shard}: is in {how.counts} already{name}: nothing is added")


def _total(
    tasks: Sequence[CountTask], total: Total | None, digest: str, how: How, cluster: ray.Cluster | None
) -> Total:
    """The total with the shards that are not in it yet; it is written after each of them."""
    known = {} if total is None else total.identities
    missing = [task for task in tasks if task.content.identity not in known]
    if len(missing) < len(tasks):
        note(f"note: {len(tasks) - len(missing):,} of them are in {how.counts} already")
    pending = frozenset(task.content.identity for task in tasks) if how.append else frozenset()
    n_items, n_missing = (sum(task.content.items for task in each) for each in (tasks, missing))
    on_gpu = tasks[0].source.device.startswith("cuda")
    if cluster is not None and on_gpu and not cluster.has_gpus:
        fault = "no node of the cluster has a GPU: leave --device out"
        raise HashbenchError(f"--device {tasks[0].source.device}: {fault}")
    pool = local_pool(min(how.jobs, len(missing))) if cluster is None else ray.RayPool(cluster, gpus=int(on_gpu))
    results = all_done(missing, pool)
    with bar("count", "item", n_items, scaled=True, done=n_items - n_missing) as shown, closing(results):
        for left, (at, counted) in zip(reversed(range(len(missing))), results, strict=True):
            if counted.query_sha256 != digest:
                other = f"the queries are read in another way than with {tasks[0].name}"
                why = "perhaps because bits are packed in another order"
                advice = "give --bit-order big or --bit-order little for all"
                raise HashbenchError(f"{missing[at].name}: {other}, {why}: {advice}")
            total = counted if total is None else total.merged(counted)
            total = replace(total, pending=pending if left else frozenset())
            if how.counts is not None:
                write_total(how.counts, total)
            shown.update(missing[at].content.items)
    assert total is not None
    return total
