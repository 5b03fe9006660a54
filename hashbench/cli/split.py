"""``hashbench split`` writes the id lists of a protocol."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from typer import Option

from hashbench.cli._command import Answer
from hashbench.cli._options import Dataset, ProtocolName, SplitSeed
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import require_writable
from hashbench.running.datasets.audit import Audit, audit
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.protocol import GIVEN, TO_CHOOSE, HeldOut, Protocol, first_splits
from hashbench.running.datasets.split import Split, split, write
from hashbench.running.datasets.store import DatasetLabels, open_dataset, open_labels, path_of
from hashbench.running.tuning.overlap import Validation, beside_tests, require_stated, validation_lists
from hashbench.showing.sheet import Cell, Code, Grid, Sheet, facts


def command(
    card: Dataset,
    protocol: ProtocolName = None,
    seed: SplitSeed = None,
    check: Annotated[
        bool,
        Option("--check", help="Check sizes, checksum and validation queries; report class counts and duplicates."),
    ] = False,
) -> Answer:
    """Write the query, database, training and validation ids of a protocol, with their checksum.

    Only the labels have to be downloaded. If the items are downloaded too, --check also reports items that are byte for
    byte the same as an item of another list. It names the lists of queries by which hashbench tune chose settings, and
    says how many of them are queries of the first splits of the protocol: 0, but for searches of before December 2026.
    """
    protocol = card.protocol_name(protocol)
    rule = card.protocol(protocol)
    if seed not in (None, rule.seed) and rule.draw in GIVEN:
        raise HashbenchError(f"--seed {seed}: cannot be used with {card.name} {protocol}: its lists are given")
    seed = rule.seed if seed is None else seed
    data = open_labels(card)
    chosen = split(data.labels, rule, card.name, protocol, seed)
    audited = None
    lists: list[Validation] = []
    if check:
        items = open_dataset(card) if card.embedded or path_of(card).is_file() else data
        audited = audit(items, chosen, rule, seed)
        lists = _validations(card, data, protocol, chosen, seed)
    path = paths.data() / card.name / "splits" / f"{protocol}-seed{seed}.npz"
    sizes = {role: len(ids) for role, ids in chosen.lists().items()}

    def values() -> dict[str, Any]:
        report: dict[str, Any] = {"dataset": card.name, "protocol": protocol, "seed": seed, "path": str(path)}
        report |= {"sizes": sizes, "sha256": chosen.sha256}
        if audited is not None:
            report["check"] = asdict(audited)
        if lists:
            report["validation"] = [*map(asdict, lists)]
        return report

    grids = [_grid(sizes, chosen.sha256, audited)]
    notes = [*_of_validation(rule, lists)]
    if audited is not None:
        grids.append(facts({role: _of_each_label(counts) for role, counts in audited.class_counts.items()}))
        notes = [*_findings(audited), *notes]
    error = None
    try:
        require_writable(path.parent, instead="--data")
        write(path, chosen)
    except HashbenchError as fault:  # the report is printed even if the file cannot be written
        error = fault
    return Answer(Sheet((Code(str(path)),), grids, notes=notes, values=values, records=lambda: grids[0]), error=error)


def _validations(card: Card, data: DatasetLabels, protocol: str, chosen: Split, seed: int) -> list[Validation]:
    rule = card.protocol(protocol)
    if isinstance(rule, TO_CHOOSE) and seed == rule.seed:
        require_stated(card, data.labels, chosen.query_ids, rule.shared_queries)
    if isinstance(rule, (*TO_CHOOSE, HeldOut)):
        return []
    all_lists = validation_lists(card, data.labels)
    return [beside_tests(lists, card, data.labels, protocol) for lists in all_lists]


def _of_validation(rule: Protocol, lists: list[Validation]) -> Iterator[str]:
    """A line for each kind of lists by which searches chose settings; of a protocol of validation what others test."""
    if isinstance(rule, TO_CHOOSE) and rule.shared_queries:
        yield f"old: of these queries the first splits of other protocols test {rule.shared_in_words}"
    for entry in lists:
        most = "at most " if entry.n_tested else ""
        old = "old " if entry.is_old else ""
        queries = f"{most}{entry.n_tested:,} of the {entry.n_queries:,} queries of each of {entry.n_lists} lists"
        searches = f"({old}searches: {', '.join(entry.searches)})"
        yield f"validation: {queries} are test queries of {first_splits(entry.n_splits)} {searches}"


def _grid(sizes: dict[str, int], sha256: str, audited: Audit | None) -> Grid:
    """A row for each list, for all ids, and for the labels, with the checksums that are known."""
    checksums = {} if audited is None else audited.checksums
    rows: list[list[Cell]] = [[role, size, checksums.get(role)] for role, size in sizes.items()]
    rows.append(["ids", sum(sizes.values()), sha256])
    if audited is not None:
        rows.append(["labels", None, audited.labels_sha256])
    return Grid(rows, ["list", "items", "sha256"])


def _of_each_label(counts: Sequence[int]) -> str | None:
    if not counts:
        return None
    items = f"{counts[0]:,}"
    if min(counts) < max(counts):
        items = f"{min(counts):,} to {max(counts):,}"
    return f"{items} items of each of {len(counts)} labels"


def _findings(audited: Audit) -> Iterator[str]:
    yield "sizes, counts and places are as the protocol says; no query is in another list by its id"
    same = {"bytes": "an identical item", "file name": "an item of the same file name"}
    for leak in audited.leaks:
        first = ", ".join(f"{one} (is {other})" for one, other in leak.first) + (", ..." * (leak.n > len(leak.first)))
        yield f"leak: {leak.n} {leak.role} items have {same[leak.by]} in the {leak.inside} list: {first}"
    for by, item in same.items():
        if by in audited.compared_by and not any(leak.by == by for leak in audited.leaks):
            yield f"0 queries have {item} in the database or in training"
    if "bytes" not in audited.compared_by:
        yield "not compared by bytes: the items are not here"
