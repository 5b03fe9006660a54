"""Counts all shards: those that are not counted yet, several at a time, with their sum kept after each."""

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from hashbench.codes import Codes
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import bar, note
from hashbench.shards import _counts_file, _workers
from hashbench.shards._on_ray import Cluster, cluster_at
from hashbench.shards._shard import Shard
from hashbench.shards._task import Count, Counts, Look, Seen, Source, query_sha256
from hashbench.shards._total import Entry, Total


@dataclass(frozen=True)
class How:
    """How many shards are counted at the same time, the file of the total, and whether the shards are new in it.

    ``ray`` is the address of a Ray cluster that counts them, in place of this machine.
    """

    jobs: int = 1
    counts: Path | None = None
    append: bool = False
    ray: str | None = None


@dataclass(frozen=True)
class _Given:
    """The shards of the command, what they are, and the queries as they are read beside the first shard."""

    source: Source
    shards: Sequence[Shard]
    query_sha256: str
    seen: Sequence[Seen]

    @property
    def identities(self) -> frozenset[tuple[str, ...]]:
        return frozenset(seen.identity for seen in self.seen)


def count_shards(source: Source, shards: Sequence[Shard], how: How) -> tuple[Total, Codes]:
    """The total of the shards, with those that ``how.append`` adds them to; and the codes of the queries.

    With a file of counts, shards that are in it are not counted again, and it holds the total after each shard. Raises
    HashbenchError, before anything is counted or written, where the shards are not of one kind, where one is there
    twice, and where the file is not of these queries and shards.
    """
    with _cluster(how.ray) as cluster, _counts_file.held(how.counts):
        before = None if how.counts is None else _counts_file.read(how.counts)
        _check_append(how, before)
        first = source.opened(shards[0])
        query, digest = first.query, query_sha256(first)
        del first  # it may hold the shard
        _check_queries(how, before, query, digest)
        given = _Given(source, shards, digest, _seen(source, shards, how.jobs))
        _check_shards(how, before, given)
        note(f"note: {len(shards):,} shards, {sum(seen.n_items for seen in given.seen):,} items")
        return _total(given, before, how, cluster), query


def _cluster(address: str | None) -> AbstractContextManager[Cluster | None]:
    return nullcontext() if address is None else cluster_at(address)


def _seen(source: Source, shards: Sequence[Shard], jobs: int) -> list[Seen]:
    """What each shard is; raises HashbenchError where two are the same."""
    seen: dict[int, Seen] = {}
    looks, names = [Look(source, shard) for shard in shards], list(map(str, shards))
    with bar("check", "shard", len(shards)) as shown, closing(_workers.done(looks, names, jobs)) as found:
        for at, one in found:
            seen[at] = one
            shown.update()
    in_order = [seen[at] for at in range(len(shards))]
    _refuse_twice(shards, in_order)
    return in_order


def _refuse_twice(shards: Sequence[Shard], seen: Sequence[Seen]) -> None:
    first: dict[tuple[str, ...], Shard] = {}
    for shard, one in zip(shards, seen, strict=True):
        other = first.setdefault(one.identity, shard)
        if other is not shard:
            raise HashbenchError(f"{shard}: the same bytes as {other}: each shard is counted once, so leave one out")


def _check_append(how: How, before: Total | None) -> None:
    if how.append and before is None:
        raise HashbenchError(f"--append: {how.counts}: no such file: leave --append out to begin one")


def _check_queries(how: How, before: Total | None, query: Codes, digest: str) -> None:
    if before is None:
        return
    old = before.histogram
    if (old.n_queries, old.n_bits) != query.shape:
        raise HashbenchError(
            f"{how.counts}: of {old.n_queries} queries of {old.n_bits} bits, but {len(query)} of {query.n_bits} bits "
            "are given: name another file"
        )
    if before.query_sha256 != digest:
        raise HashbenchError(f"{how.counts}: of other queries: their codes or labels differ: name another file")


def _check_shards(how: How, before: Total | None, given: _Given) -> None:
    """Raises HashbenchError unless the shards in the file are among those given, or with --append none of them is."""
    if before is None:
        return
    others = [entry for identity, entry in before.identities.items() if identity not in given.identities]
    if not how.append and others:
        raise HashbenchError(
            f"{how.counts}: holds {others[0].file}{_and_more(others)}, not among the given shards: give all of them, "
            "or --append to add these"
        )
    if not how.append or given.identities == before.pending:
        return  # the last: the same --append was interrupted, and goes on
    if before.pending:
        raise HashbenchError(f"{how.counts}: an --append of other shards was interrupted: run that command again first")
    for shard, seen in zip(given.shards, given.seen, strict=True):
        if (entry := before.identities.get(seen.identity)) is not None:
            name = "" if entry.file == str(shard) else f" as {entry.file}"
            raise HashbenchError(f"{shard}: is in {how.counts} already{name}: nothing is added")


def _and_more(entries: Sequence[Entry]) -> str:
    return f" and {len(entries) - 1:,} more" if len(entries) > 1 else ""


def _total(given: _Given, total: Total | None, how: How, cluster: Cluster | None) -> Total:
    """The total with the shards that are not in it yet; it is written after each of them."""
    known = {} if total is None else total.identities
    missing = [at for at, seen in enumerate(given.seen) if seen.identity not in known]
    if len(missing) < len(given.shards):
        note(f"note: {len(given.shards) - len(missing):,} of them are in {how.counts} already")
    pending = given.identities if how.append else frozenset()
    with closing(_counted(given, missing, how.jobs, cluster)) as found:  # closed at once, so that no worker is left
        for left, (at, counts) in zip(reversed(range(len(missing))), found, strict=True):
            _check_same_queries(given, at, counts)
            entry = Entry.of(given.shards[at], given.seen[at], counts)
            total = Total.of(entry, counts) if total is None else total.with_(entry, counts)
            total = replace(total, pending=pending if left else frozenset())
            if how.counts is not None:
                _counts_file.write(how.counts, total)
    assert total is not None
    return total


def _counted(
    given: _Given, missing: Sequence[int], jobs: int, cluster: Cluster | None
) -> Generator[tuple[int, Counts]]:
    """(place, counts) of each shard that is missing, as they end."""
    sizes = [seen.n_items for seen in given.seen]
    shards, n_items = [given.shards[at] for at in missing], sum(sizes)
    if cluster is None:
        tasks = [Count(given.source, shard) for shard in shards]
        counts_of = _workers.done(tasks, list(map(str, shards)), jobs)
    else:
        counts_of = cluster.done(given.source, shards, [given.seen[at] for at in missing])
    done = n_items - sum(sizes[at] for at in missing)
    with bar("count", "item", n_items, scaled=True, done=done) as shown, closing(counts_of) as found:
        for place, counts in found:
            yield missing[place], counts
            shown.update(sizes[missing[place]])


def _check_same_queries(given: _Given, at: int, counts: Counts) -> None:
    if counts.query_sha256 != given.query_sha256:
        raise HashbenchError(
            f"{given.shards[at]}: beside it the queries are read otherwise than beside {given.shards[0]}: packed in "
            "another bit order? say --bit-order big or --bit-order little for all"
        )
