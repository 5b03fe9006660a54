"""Rows of others, scored again and merged: those of a bundle by the data that are here."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hashbench.foundation.errors import CheckFailed, HashbenchError
from hashbench.learning.contract import CODES
from hashbench.running.runs import query_scores
from hashbench.running.runs.diff import store_at
from hashbench.running.runs.merge import WRITTEN, Merged, merge
from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Damaged, Store
from hashbench.showing.bundle import archive, pack, state
from hashbench.showing.bundle.here import NotHere, protocol_here
from hashbench.showing.bundle.verify import Report, RunCheck, score_again, score_stored


@dataclass(frozen=True)
class Source:
    """Rows to be merged: those of a results folder, or of the bundle or packed state ``path``, unpacked."""

    path: Path
    store: Store
    is_bundle: bool = False
    is_packed_state: bool = False
    maker: str | None = None  # who made the rows of a bundle, if it says so

    def scored(self, row: Row, say: Callable[[str], object]) -> tuple[Row, bool]:
        """A row, of a bundle with its maker, and whether it was scored again from the files beside it.

        Raises CheckFailed where these give another value; ``say`` gets a line about what is not used.
        """
        if not self.is_bundle:
            return row, score_stored(row, self.store, say)
        folder = self.store.run_folder(row.run)
        files = {name: folder / name for name in archive.OF_RUN if (folder / name).is_file()}
        ids = None
        relevance = None
        if CODES in files:
            try:
                ids, relevance = protocol_here(row)
            except NotHere as missing:
                say(f"note: {row.run}: scored by the labels beside its codes: {missing}")
            except HashbenchError as other:
                raise CheckFailed(f"{self.path}: {row.run}: {other}") from None
        check = RunCheck(row, files, ids, Report(), relevance)
        is_scored = score_again(check, self.path)
        for line in check.report.not_checked:
            say(f"note: {line}")
        if not row.maker:
            row = row.model_copy(update={"maker": self.maker})
        return row, is_scored


@contextmanager
def source_at(path: Path) -> Iterator[Source]:
    """The rows in the results folder, the bundle or the packed state ``path``, for as long as the block runs."""
    if path.is_file():
        with archive.results_in(path) as (folder, manifest):
            yield Source(path, Store(folder), is_bundle=True, maker=manifest.maker)
    elif state.is_packed_state(path):
        with state.results_in(path) as folder:
            yield Source(path, Store(folder), is_packed_state=True)
    else:
        yield Source(path, store_at(path))


@dataclass
class Received:
    """What became of the rows of others, and what came with them."""

    rows: list[Merged] = field(default_factory=list)
    evidence: list[Path] = field(default_factory=list)  # the files of histograms that are kept
    not_scored: list[str] = field(default_factory=list)  # runs beside which there is nothing to score
    taken_up: dict[str, bool] = field(default_factory=dict)  # by run, whether its working state came further than here


def receive(
    folders: list[Path], into: Store, damaged: Damaged, say: Callable[[str], object], *, dry_run: bool
) -> Received:
    """The rows of results folders, bundles and packed states, merged ``into`` a store unless ``dry_run``.

    A new row is scored again from the files beside it; ``damaged`` gets the error of one that has another value.
    """
    received = Received()
    not_scored: list[str] = []
    with ExitStack() as open_until_merged:
        sources = [open_until_merged.enter_context(source_at(path)) for path in folders]
        source_of = {source.store.folder: source for source in sources}

        def verify(row: Row, store: Store) -> Row:
            row, is_scored = source_of[store.folder].scored(row, say)
            if not is_scored:
                not_scored.append(row.run)
            return row

        for source in sources:
            if source.is_packed_state:
                received.taken_up |= state.take_up(source.store, into, dry_run=dry_run)
        stores = [source.store for source in sources]
        received.rows = merge(stores, into, damaged, dry_run=dry_run, verify=verify)
        if not dry_run:
            for source in sources:
                query_scores.merge(source.store, into)
                if source.is_bundle:
                    received.evidence += pack.collect((merged.row for merged in received.rows), source.store, say, into)
    new = {merged.row.run for merged in received.rows if merged.outcome in WRITTEN}
    received.not_scored = [run for run in not_scored if run in new]
    return received
