"""The committed rows and the tables that they fill, read and collected once in each process of the tests."""

import gc
from collections.abc import Iterator
from functools import cache

import pytest
from support.toy_root import REPOSITORY

from hashbench.foundation.registry import refuse
from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Damaged, Store
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import Rows, collect
from hashbench.showing.tables.table import Table

STORE = Store(REPOSITORY / "results")


@cache
def named_rows() -> list[tuple[str, Row]]:
    """All rows with their names; no test changes any."""
    gc.disable()  # it would walk the rows that are there again and again
    try:
        rows_by_name = list(STORE.named_rows())
    finally:
        gc.enable()
    gc.freeze()  # they stay until the process ends
    return rows_by_name


@cache
def rows() -> Rows:
    """All rows."""
    return Rows(row for _, row in named_rows())


@cache
def table(name: str) -> Table:
    """The table that the repository declares as ``name``; call it while no test has changed the root."""
    return collect(spec.load(name), rows(), None)


def give_rows(patch: pytest.MonkeyPatch) -> None:
    """Commands of this process have the committed rows as their results, without reading them once more."""

    def read(store: Store, damaged: Damaged = refuse) -> Iterator[tuple[str, Row]]:
        assert store == STORE
        return iter(committed)

    committed = named_rows()
    patch.setenv("HASHBENCH_RESULTS", str(STORE.folder))
    patch.setattr(Store, "named_rows", read)
