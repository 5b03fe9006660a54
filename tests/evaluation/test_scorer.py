"""``Evidence``: that of parts of a database adds up to that of the whole."""

import numpy as np

import hashbench
from hashbench.scoring.codes import pack
from hashbench.scoring.evaluation.scorer import Scorer
from hashbench.scoring.metrics import Metrics
from hashbench.scoring.relevance.labels import from_labels

RNG = np.random.default_rng(5)


def test_evidence_of_parts_is_that_of_the_whole() -> None:
    query = RNG.integers(0, 2, (7, 9))
    database = RNG.integers(0, 2, (30, 9))
    labels = RNG.integers(0, 3, 7), RNG.integers(0, 3, 30)
    names = Metrics.parse("ap,ndcg@5,precision@r2")
    parts = [
        Scorer(pack(query), pack(database[rows]), from_labels(labels[0], labels[1][rows]), inspect=True).evidence
        for rows in (slice(0, 11), slice(11, 12), slice(12, 30))
    ]
    merged = parts[0].merged(parts[1]).merged(parts[2])
    assert merged.n_items == 30 and merged.tally is not None and merged.tally.n_items == 30
    assert merged.scores(names).to_dict() == hashbench.score(query, database, *labels, names.names).to_dict()
