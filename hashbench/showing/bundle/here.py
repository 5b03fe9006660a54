"""The ids and the relevance of the run of a row, by the data set that is on this machine."""

from hashbench.foundation.config import digest
from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.learning.methods import METHODS
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.protocol import with_seed
from hashbench.running.datasets.relevance import relevance_of
from hashbench.running.datasets.split import Split, of_first_classes, split
from hashbench.running.datasets.store import open_dataset
from hashbench.running.runs.data import compared
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.scoring.relevance.labels import Relevance


class NotHere(HashbenchError):  # noqa: N818  (what is missing, as DamagedHasher)
    """What is needed to count the codes again is not on this machine."""


def protocol_here(row: Row) -> tuple[Split, Relevance]:
    """The ids and the relevance of a row's protocol, by the data set that is here.

    Raises NotHere where the data set is not here, HashbenchError where the row is of other data, ids or settings.
    """
    with retold(str, HashbenchError, by=NotHere):
        card = load_card(row.dataset)
        data = open_dataset(card)
    with retold(lambda cause: f"its configuration cannot be read: {printable(cause, 100)}"):
        rule = card.protocol(row.protocol)
        where = f"{row.dataset} {row.protocol}"
        if row.split_seed is not None:
            rule = with_seed(rule, row.split_seed, where)
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
