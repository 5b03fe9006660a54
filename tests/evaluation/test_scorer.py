"""``Scorer`` and ``Evidence``: pieces give the scores of the whole, and what ranks items needs them in one piece."""

import numpy as np
from support.one_line import one_line

import hashbench
from hashbench.scoring.codes import pack
from hashbench.scoring.evaluation.scorer import Scorer
from hashbench.scoring.metrics import Metrics
from hashbench.scoring.relevance.labels import from_labels

RNG = np.random.default_rng(5)
QUERY = RNG.integers(0, 2, (7, 9))
DATABASE = RNG.integers(0, 2, (30, 9))
QUERY_LABELS = RNG.integers(0, 3, 7)
LABELS = RNG.integers(0, 3, 30)
NAMES = Metrics.parse("ap,ndcg@5,precision@r2")
PIECES = [
    (pack(DATABASE[rows]), from_labels(QUERY_LABELS, LABELS[rows]))
    for rows in (slice(0, 11), slice(11, 12), slice(12, 30))
]


def test_pieces_score_as_the_whole_in_one_scorer_and_in_several() -> None:
    own = np.array([0, 11, 29, -1, 12, 10, -1])
    whole = hashbench.score(QUERY, DATABASE, QUERY_LABELS, LABELS, NAMES.names, exclude_self=own)
    for add in ("add", "add_pieces"):
        scorer = Scorer(pack(QUERY), NAMES, exclude_self=own)
        if add == "add":
            for piece in PIECES:
                scorer.add(*piece)
        else:
            scorer.add_pieces(PIECES)
        assert scorer.scores().to_dict() == whole.to_dict() and scorer.evidence().n_excluded == 5
    parts = [Scorer(pack(QUERY), NAMES, inspect=True) for _ in PIECES]
    for part, piece in zip(parts, PIECES, strict=True):
        part.add(*piece)
    merged = parts[0].evidence().merged(parts[1].evidence()).merged(parts[2].evidence())
    assert merged.n_items == 30 and merged.tally is not None and merged.tally.n_items == 30
    expected = hashbench.score(QUERY, DATABASE, QUERY_LABELS, LABELS, NAMES.names)
    assert merged.scores(NAMES).to_dict() == expected.to_dict()


def test_a_piece_after_the_scores_counts_too() -> None:
    scorer = Scorer(pack(QUERY), NAMES)
    scorer.add(*PIECES[0])
    assert scorer.scores().n_database == 11
    scorer.add(*PIECES[1])
    assert scorer.scores().n_database == 12


def test_rankings_of_items_need_one_piece() -> None:
    for scorer in (
        Scorer(pack(QUERY), NAMES, ties="order"),
        Scorer(pack(QUERY), Metrics.parse("ap"), weights=np.ones(9)),
    ):
        with one_line("nothing to score"):
            scorer.scores()
        scorer.add(*PIECES[0])
        with one_line("the whole database in one piece"):
            scorer.add(*PIECES[1])
