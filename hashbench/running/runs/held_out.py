"""What ``hashbench train --eval-every`` scores: items that are not the queries, while a network is trained."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.contract import Hasher
from hashbench.learning.training import log
from hashbench.running.datasets.protocol import HeldOut
from hashbench.running.datasets.relevance import relevance_of
from hashbench.running.datasets.split import Split, split
from hashbench.running.runs.data import RunData

N_DATABASE = 5000  # items that are searched, at most


def evaluation(data: RunData) -> Callable[[Hasher], dict[str, float]]:
    """A function that returns a hasher's AP, by its name in the log; it is empty without any relevant item.

    Nothing here draws from the random numbers of the run.
    """
    chosen, name = held_out(data)
    relevance = relevance_of(data.compared, chosen, data.run.protocol, progress=data.progress)
    items = replace(data, ids=chosen).search_items

    def evaluate(hasher: Hasher) -> dict[str, float]:
        counted = hasher.output(items).count(relevance)
        ap = counted.database["histogram"].metrics([])["ap"].mean
        return {} if ap is None else {name: round(ap, 6)}

    return evaluate


def held_out(data: RunData) -> tuple[Split, str]:
    """The queries of the run's protocol with ``HELD_OUT``, a sample of its database, and the AP's name in the log.

    The training stays as it is, so if no other items are left, these queries are training items too.
    """
    name = data.run.name.protocol
    protocol = data.run.protocol
    ids = data.ids
    rule = HeldOut(of=name, left_out=[name], seed=protocol.seed, relevance=protocol.relevance, rules={name: protocol})
    drawn = split(data.dataset.labels, rule, data.run.name.dataset, name)
    # the run's database may be of its first classes only
    queries = np.intersect1d(drawn.query_ids, ids.database_ids)
    database = np.intersect1d(drawn.database_ids, ids.database_ids)
    if not queries.size or not database.size:
        raise HashbenchError(f"--eval-every: {name} leaves no items of the run's classes to score")
    if len(database) > N_DATABASE:
        draw = np.random.default_rng([protocol.seed, N_DATABASE])  # other numbers than the split's
        database = np.sort(draw.choice(database, N_DATABASE, replace=False))
    measure = log.HELD_OUT_AP
    if np.isin(queries, ids.train_ids).any():
        measure = log.TRAIN_AP
    return Split(queries, database, ids.train_ids), measure
