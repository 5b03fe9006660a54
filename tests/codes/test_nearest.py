import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line

from hashbench.scoring.codes import nearest, pack
from hashbench.scoring.codes.nearest import neighbours


@given(st.integers(1, 9), st.integers(1, 12), st.integers(1, 15), st.data())
def test_ranks_are_the_places_an_item_takes_over_all_orders_of_tied_items(bits, n, k, data):
    code = st.lists(st.integers(0, 1), min_size=bits, max_size=bits)
    query = np.array([data.draw(code)])
    database = np.array(data.draw(st.lists(code, min_size=n, max_size=n)))
    near = neighbours(pack(query), pack(database), k)
    distances = (query != database).sum(axis=1).tolist()
    by_hand = sorted(range(n), key=lambda item: (distances[item], item))[:k]
    assert near.items.tolist() == by_hand
    assert near.distances.tolist() == [distances[item] for item in by_hand]
    assert near.first.tolist() == [1 + sum(d < distances[item] for d in distances) for item in by_hand]
    assert near.last.tolist() == [sum(d <= distances[item] for d in distances) for item in by_hand]


@pytest.mark.parametrize(
    "n_queries, bits, k, says",
    [
        (2, 4, 1, "2 queries of 4 bits, 4 in the database: k of 1 or more is expected"),
        (0, 4, 1, "0 queries of 4 bits"),
        (1, 5, 1, "queries of 5 bits, 4 in the database"),
        (1, 4, 0, "k = 0"),
    ],
)
def test_what_is_no_question_is_refused(n_queries: int, bits: int, k: int, says: str) -> None:
    query = pack(np.zeros((n_queries, bits), np.uint8))
    with one_line(says):
        neighbours(query, pack(np.zeros((3, 4), np.uint8)), k)


@pytest.mark.parametrize("bits", [64, 255, 256, 700])
def test_blocks_and_long_codes_change_nothing(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distances up to 700 do not fit a byte; 30 items are several blocks of words."""
    rng = np.random.default_rng(0)
    query = rng.integers(0, 2, (1, bits), np.uint8)
    database = np.concatenate([1 - query, query, rng.integers(0, 2, (28, bits), np.uint8)])
    monkeypatch.setattr(nearest, "BLOCK_WORDS", 7)
    near = neighbours(pack(query), pack(database), 30)
    assert near.distances.tolist() == sorted((query != database).sum(axis=1).tolist())
    assert near.items[0] == 1
    assert near.items[-1] == 0
    assert near.distances[-1] == bits
    assert near.last[-1] == 30
