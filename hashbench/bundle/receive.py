"""Rows of others before they are merged, scored again: those of a bundle by the data that are here."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hashbench.bundle import archive, state
from hashbench.bundle.verify import NotHere, Report, RunCheck, score_again, score_stored
from hashbench.contract import CODES
from hashbench.datasets.card import load_card
from hashbench.datasets.protocol import with_seed
from hashbench.datasets.relevance import relevance_of
from hashbench.datasets.split import Split, of_first_classes, split
from hashbench.datasets.store import open_dataset
from hashbench.foundation.config import digest
from hashbench.foundation.errors import CheckFailed, HashbenchError, printable, retold
from hashbench.methods import METHODS
from hashbench.relevance.labels import Relevance
from hashbench.runs.data import compared
from hashbench.runs.diff import store_at
from hashbench.runs.row import Row
from hashbench.runs.run import Run
from hashbench.runs.store import Store


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
        ids, relevance = None, None
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
        return row if row.maker else row.model_copy(update={"maker": self.maker}), is_scored


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


def protocol_here(row: Row) -> tuple[Split, Relevance]:
    """The ids and the relevance of a row's protocol, by the data set that is here.

    Raises NotHere where the data set is not here, HashbenchError where the row is of other data, ids or settings.
    """
    with retold(str, HashbenchError, by=NotHere):
        card = load_card(row.dataset)
        data = open_dataset(card)
    unreadable = retold(lambda cause: f"its configuration cannot be read: {printable(cause, 100)}")
    with unreadable:
        own_seed = card.protocol(row.protocol)
        where = f"{row.dataset} {row.protocol}"
        rule = own_seed if row.split_seed is None else with_seed(own_seed, row.split_seed, where)
        n_classes = row.config.get("base", row.config)["settings"].get("n_classes", 0)
        ids = of_first_classes(split(data.labels, rule, row.dataset, row.protocol), data.labels, n_classes)
        protocol = digest({"content_sha256": card.content_sha256, "split": rule.deciding()})
        for what, here, stated in (
            ("data of SHA-256", data.sha256, row.data_sha256),
            ("id lists of SHA-256", ids.sha256, row.ids_sha256),
            ("a protocol of digest", protocol, digest(row.config["data"])),
        ):
            if here != stated:
                raise HashbenchError(f"of {what} {printable(stated, 64)}, and {where} has {here} here")
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
    for key, value in row.settings.items():
        if values.get(key, value) != value:
            raise HashbenchError(f"setting {printable(key)} is another one in its configuration")
