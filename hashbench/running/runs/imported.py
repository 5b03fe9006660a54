"""Codes that were made elsewhere, as a row: in the order of the protocol, counted and scored as the codes of a run."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.execution import Execution
from hashbench.learning.contract import BinaryOutput
from hashbench.running.runs.data import RunData, open_data
from hashbench.running.runs.execute import row_with, scored
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import Codes, files
from hashbench.scoring.codes.files import Explicit, Ids
from hashbench.scoring.evaluation.compare import renumbered
from hashbench.scoring.relevance.labels import Labels

SIDES = ("query", "database")
SAVE = "save query_ids and database_ids, the numbers of the items"


def import_codes(run: Run, sources: Sequence[Path], explicit: Explicit, store: Store) -> Row:
    """The row of the imported ``run``, stored now, of the codes in ``sources``.

    Ids in the files must be those of the protocol, in any order; labels beside them must be those of the items. Without
    ids, the labels must be those of the protocol's items in its order. Anything else raises HashbenchError, and so does
    a second import of a run.
    """
    data = open_data(run)
    execution = Execution(progress=True)
    folder = store.run_folder(str(run.name))
    output = BinaryOutput(*_in_order(data, sources, explicit), data.search_items)
    with store.run_lock(str(run.name), wait=True):
        if store.find(run.name.dataset, run.name.protocol, str(run.name)) is not None:
            place = store.rows_path(run.name.dataset, run.name.protocol)
            raise HashbenchError(
                f"{run.name}: is in {place}: name another --method or --seed, or remove its line there"
            )
        output.save(folder)
        row = row_with(data, execution, **scored(output, data, folder, execution), seconds=None, status="ok")
        store.write(row)
    return row


def _in_order(data: RunData, sources: Sequence[Path], explicit: Explicit) -> tuple[Codes, Codes]:
    """The codes of queries and database in the order of the protocol."""
    where = ", ".join(map(str, sources))
    rule = f"{data.run.name.dataset} {data.run.name.protocol}"
    wanted = data.ids.query_ids, data.ids.database_ids
    ids = files.load_ids(sources, explicit=explicit)
    saved = None
    if any(side is None for side in ids):
        if data.run.protocol.relevance is not None:
            raise HashbenchError(f"{where}: no query_ids and database_ids, which say what the codes of {rule} are of")
        advice = "query_ids and database_ids (item numbers) may stand in place of labels"
        with retold(lambda fault: f"{fault}; {advice}", HashbenchError):
            saved = files.load(sources, explicit=explicit)
        codes_of_sides = saved.query, saved.database
    else:
        with suppress(HashbenchError):  # no labels: their codes are read below, and any fault of these is said
            saved = files.load(sources, explicit=explicit)
        codes_of_sides = files.load_codes(sources, explicit=explicit)[:2]
    for side, codes, expected in zip(SIDES, codes_of_sides, wanted, strict=True):
        if len(codes) != len(expected):
            has = f"{len(expected):,} in {rule} (hashbench split {data.run.name.dataset} writes their ids)"
            raise HashbenchError(f"{where}: {side}_codes: {len(codes):,} codes: there are {has}")
    labels = None if saved is None else saved.labels
    if any(side is None for side in ids):
        assert labels is not None, "files without ids have labels"
        _require_labels(*labels, data, f"{where}: its labels are not those of {rule} in the order of its ids: {SAVE}")
        return codes_of_sides
    rows = [
        _rows(ids_of_side, expected, f"{where}: {side}_ids", rule)
        for side, ids_of_side, expected in zip(SIDES, ids, wanted, strict=True)
    ]
    if labels is not None and data.run.protocol.relevance is None:
        of_items = labels[0][rows[0]], labels[1][rows[1]]
        fault = f"{where}: its labels are not those that its ids have in {data.run.name.dataset}"
        _require_labels(*of_items, data, f"{fault}: save both in the order of the codes, or no labels")
    query, database = codes_of_sides
    return Codes(query.words[rows[0]], query.n_bits), Codes(database.words[rows[1]], database.n_bits)


def _rows(ids: Ids | None, expected: Ids, where: str, rule: str) -> NDArray[np.int64]:
    """The row of each of the ``expected`` items among ``ids``."""
    assert ids is not None, "labels were read where there are no ids"
    rows = files.rows_of_ids(expected, ids, where)
    if (rows < 0).any():
        raise HashbenchError(
            f"{where}: {expected[rows < 0][0]}, an item of {rule}, is not in it: ids are item numbers, from 0"
        )
    return rows


def _require_labels(query: Labels, database: Labels, data: RunData, fault: str) -> None:
    """Raises the ``fault`` unless the labels are those of the protocol's items, whatever the classes are called."""
    expected = np.concatenate([data.dataset.labels[ids] for ids in (data.ids.query_ids, data.ids.database_ids)])
    labels = np.concatenate([query, database])
    if expected.ndim != labels.ndim or not np.array_equal(renumbered(expected), renumbered(labels)):
        raise HashbenchError(fault)
