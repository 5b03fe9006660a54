"""Rows of other people's bundles, scored again from their codes by the data that are here, and merged: all or none."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from hashbench.bundle import archive, pack
from hashbench.bundle.verify import verified
from hashbench.datasets.card import load_card
from hashbench.datasets.protocol import with_seed
from hashbench.datasets.relevance import relevance_of
from hashbench.datasets.split import Split, of_first_classes, split
from hashbench.datasets.store import open_dataset
from hashbench.foundation.config import digest
from hashbench.foundation.errors import CheckFailed, HashbenchError, counted, printable, retold
from hashbench.foundation.registry import refuse
from hashbench.methods import METHODS
from hashbench.relevance.labels import Relevance
from hashbench.runs.data import compared
from hashbench.runs.diff import diff_rows
from hashbench.runs.merge import Merged, MergeOutcome, merge_rows
from hashbench.runs.row import Row
from hashbench.runs.run import Run
from hashbench.runs.store import Store

Say = Callable[[str], object]


@dataclass(frozen=True)
class Added:
    """What became of the rows of some bundles, and the files of their counts that are kept."""

    rows: list[Merged]
    kept: list[Path]

    @property
    def new(self) -> list[Row]:
        """The rows that were not here."""
        new = MergeOutcome.copied, MergeOutcome.replaced, MergeOutcome.extended
        return [each.row for each in self.rows if each.outcome in new]


def add(paths: Sequence[Path], into: Store, say: Say, *, dry_run: bool = False) -> Added:
    """Adds the rows of bundles to a store, all or, unless every one is right and contradicts none that is here, none.

    ``say`` gets a line about what is left out. Raises HashbenchError with the first fault.
    """
    rows = [(path, row) for path in paths for row in contributed(path, say)]
    places = {id(row): path for path, row in rows}

    def check(each: Merged) -> None:
        if each.outcome is MergeOutcome.beside:
            others = [row for _, row in rows if row.run == each.row.run and row is not each.row]
            known = into.find(each.row.dataset, each.row.protocol, each.row.run) or others[0]
            raise HashbenchError(f"{places[id(each.row)]}: {_other_values(each.row, known)}: nothing was added")

    def merged(*, only_checked: bool) -> list[Merged]:
        return merge_rows([row for _, row in rows], into, refuse, dry_run=only_checked, check=check)

    found = merged(only_checked=True)
    if dry_run:
        return Added(found, [])
    own = [row for _, row in rows]
    absent = [file for row in own for file in into.evidence(row).values() if not file.is_file()]
    with ExitStack() as undo:
        for file in absent:
            undo.callback(file.unlink, missing_ok=True)
        kept: list[Path] = []
        for path in paths:
            with archive.results_in(path) as folder:
                kept += pack.collect((row for of, row in rows if of == path), Store(folder), say, into)
        found = merged(only_checked=False)
        undo.pop_all()
    return Added(found, kept)


def contributed(path: Path, say: Say) -> list[Row]:
    """The successful rows of a bundle, each with its maker; HashbenchError unless their codes give all their values."""
    manifest, report, rows = verified(path, protocol_here)
    if faults := [*report.differences, *report.not_checked]:
        more = f" (and {counted(len(faults) - 1, 'other fault')})" if faults[1:] else ""
        raise HashbenchError(f"{path}: refused: {faults[0]}{more}")
    good = [row for row in rows if row.status == "ok"]
    if not good:
        raise HashbenchError(f"{path}: refused: no row of a successful run is in it")
    if n := len(rows) - len(good):
        say(f"{path}: {counted(n, 'failed run')} left out")
    if manifest.maker is None and not all(row.maker for row in good):
        say(f"note: {path}: it does not say who made its rows: hashbench bundle --by NAME does")
    return [row if row.maker else row.model_copy(update={"maker": manifest.maker}) for row in good]


def protocol_here(row: Row) -> tuple[Split, Relevance]:
    """The ids and the relevance of a row's protocol; HashbenchError unless the row is of the data and ids here."""
    unreadable = retold(lambda cause: f"its configuration cannot be read: {printable(cause, 100)}")
    with unreadable, retold(str, CheckFailed):  # a bundle that does not fit is bad input
        card = load_card(row.dataset)
        own, on = card.protocol(row.protocol), f"{row.dataset} {row.protocol}"
        rule = own if row.split_seed is None else with_seed(own, row.split_seed, on)
        data = open_dataset(card)
        n_classes = row.config.get("base", row.config)["settings"].get("n_classes", 0)
        ids = of_first_classes(split(data.labels, rule, row.dataset, row.protocol), data.labels, n_classes)
        for what, here, stated in (
            ("data of SHA-256", data.sha256, row.data_sha256),
            ("id lists of SHA-256", ids.sha256, row.ids_sha256),
            (
                "a protocol of digest",
                digest({"content_sha256": card.content_sha256, "split": rule.deciding()}),
                digest(row.config["data"]),
            ),
        ):
            if here != stated:
                raise HashbenchError(f"of {what} {printable(stated, 64)}, and {on} has {here} here")
        _require_named_right(row)
        return ids, relevance_of(compared(card, data, rule), ids, rule)


def _require_named_right(row: Row) -> None:
    """Raises HashbenchError where the row's name or its settings are not those of its configuration."""
    values = row.config["settings"]
    if row.is_imported or row.method in METHODS:  # of a method that is not installed here the digest alone is known
        run = Run.from_row(row)
        values = run.settings.model_dump()
        if str(run.name) != row.run:
            raise HashbenchError(f"a run of its configuration is called {run.name}")
    if other := next((key for key, value in row.settings.items() if values.get(key, value) != value), None):
        raise HashbenchError(f"setting {printable(other)} is another one in its configuration")


def _other_values(row: Row, known: Row) -> str:
    """The first value of a row in which another row of the same run differs, in both."""
    found = diff_rows(row, known)
    key, (own, other) = next(iter({**found.metrics, **found.results, **found.settings}.items()))
    return (
        f"{row.run}: {printable(key)} is {printable(repr(own), 80)}, and {printable(repr(other), 80)} in the row here"
    )
