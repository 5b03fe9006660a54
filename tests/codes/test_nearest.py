import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.codes import pack
from hashbench.codes.nearest import neighbours
from hashbench.errors import HashbenchError


@given(st.integers(1, 9), st.integers(1, 12), st.integers(1, 15), st.data())
def test_ranks_are_the_places_an_item_takes_over_all_orders_of_tied_items(bits, n, k, data):
    of = st.lists(st.integers(0, 1), min_size=bits, max_size=bits)
    query, database = np.array([data.draw(of)]), np.array(data.draw(st.lists(of, min_size=n, max_size=n)))
    found = neighbours(pack(query), pack(database), k)
    distances = (query != database).sum(axis=1).tolist()
    by_hand = sorted(range(n), key=lambda item: (distances[item], item))[:k]
    assert found.items.tolist() == by_hand
    assert found.distances.tolist() == [distances[item] for item in by_hand]
    assert found.first.tolist() == [1 + sum(d < distances[item] for d in distances) for item in by_hand]
    assert found.last.tolist() == [sum(d <= distances[item] for d in distances) for item in by_hand]


@pytest.mark.parametrize(("n_queries", "bits", "k"), [(2, 4, 1), (0, 4, 1), (1, 5, 1), (1, 4, 0)])
def test_what_is_no_question_is_refused(n_queries, bits, k):
    query = pack(np.zeros((n_queries, bits), np.uint8))
    with pytest.raises(HashbenchError, match="one query of as many bits, and k of 1 or more"):
        neighbours(query, pack(np.zeros((3, 4), np.uint8)), k)
