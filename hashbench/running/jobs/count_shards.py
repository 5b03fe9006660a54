"""Counts all shards: those that are not counted yet, several at a time, with their sum kept after each."""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import bar, note
from hashbench.running.jobs.follow import all_done, checked
from hashbench.running.jobs.local import local_pool
from hashbench.running.jobs.shards import CountTask, Shard, Source, query_sha256
from hashbench.running.jobs.task import Call, Pool
from hashbench.scoring.codes import Codes
from hashbench.scoring.evaluation.shard_total import Total, locked_total, read_total, write_total


def count_shards(
    source: Source,
    shards: Sequence[Shard],
    *,
    counts: Path | None = None,
    jobs: int = 1,
) -> tuple[Total, Codes]:
    """The total with the shards that the file ``counts`` lacks, kept there after each; and the codes of the queries.

    ``jobs`` shards are counted at a time.
    """
    with ExitStack() as stack:
        before = None
        if counts is not None:
            stack.enter_context(locked_total(counts))
            before = read_total(counts)
        first = source.opened(shards[0])
        query = first.query
        digest = query_sha256(first)
        del first  # it may hold the shard
        if before is not None:
            _require_queries(f"{counts}", before, query, digest)
        tasks = _tasks(source, shards, jobs)
        missing = tasks
        if before is not None:
            _require_shards(f"{counts}", before, tasks)
            missing = [task for task in tasks if task.content.identity not in before.identities]
        note(f"note: {len(shards):,} shards, {sum(task.content.items for task in tasks):,} items")
        if len(missing) < len(tasks):
            note(f"note: {len(tasks) - len(missing):,} of them are in {counts} already")
        pool = local_pool(min(jobs, len(missing)))
        total = before
        for counted in stack.enter_context(closing(_counted(tasks, missing, pool, digest))):
            total = counted if total is None else total.merged(counted)
            if counts is not None:
                write_total(counts, total)
    assert total is not None
    return total, query


def _tasks(source: Source, shards: Sequence[Shard], jobs: int) -> list[CountTask]:
    """A task for each shard; raises HashbenchError where two shards are the same bytes."""
    entries = checked([Call(partial(source.content_of, shard), str(shard)) for shard in shards], jobs)
    shards_by_identity: dict[tuple[str, ...], Shard] = {}
    for shard, entry in zip(shards, entries, strict=True):
        other = shards_by_identity.setdefault(entry.identity, shard)
        if other is not shard:
            once = "each shard is counted once, so leave one out"
            raise HashbenchError(f"{shard}: the same bytes as {other}: {once}")
    return [CountTask(source, shard, entry) for shard, entry in zip(shards, entries, strict=True)]


def _counted(tasks: Sequence[CountTask], missing: Sequence[CountTask], pool: Pool, digest: str) -> Generator[Total]:
    """The totals of the missing shards, one by one."""
    n_items, n_missing = (sum(task.content.items for task in part) for part in (tasks, missing))
    results = all_done(missing, pool)
    with bar("count", "item", n_items, scaled=True, done=n_items - n_missing) as shown, closing(results):
        for number, counted in results:
            task = missing[number]
            if counted.query_sha256 != digest:
                other = f"the queries are read in another way than with {tasks[0].name}"
                why = "perhaps because bits are packed in another order"
                advice = "give --layout big or --layout little for all"
                raise HashbenchError(f"{task.name}: {other}, {why}: {advice}")
            yield counted
            shown.update(task.content.items)


def _require_queries(where: str, before: Total, query: Codes, digest: str) -> None:
    old = before.evidence.histogram
    if (old.n_queries, old.n_bits) != query.shape or before.query_sha256 != digest:
        counted = f"{old.n_queries} other queries of {old.n_bits} bits"
        here = f"{len(query)} queries of {query.n_bits} bits"
        raise HashbenchError(f"{where}: has the counts of {counted}, but {here} are given: name another file")


def _require_shards(where: str, before: Total, tasks: Sequence[CountTask]) -> None:
    """Raises HashbenchError unless the shards in the file are among those given."""
    identities = {task.content.identity for task in tasks}
    others = [entry.file for identity, entry in before.identities.items() if identity not in identities]
    if others:
        more = ""
        if len(others) > 1:
            more = f" and {len(others) - 1:,} more"
        raise HashbenchError(f"{where}: holds {others[0]}{more}, not among the given shards: give all shards")
