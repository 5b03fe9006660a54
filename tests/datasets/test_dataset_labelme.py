"""The protocol of 22K LabelMe."""

import numpy as np

from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.split import split


def test_the_protocol_of_the_paper_needs_no_data():
    card = load_card("labelme")
    rule = card.protocol("s1")
    chosen = split(np.zeros((card.n_items, 0), np.uint8), rule, "labelme", "s1")
    assert chosen.sha256 == rule.ids_sha256
    assert rule.relevance.kind == "percentiles"
    assert rule.relevance.percent == [5, 1, 0.2, 0.1]
    assert rule.relevance.levels == [1, 2, 5, 10]


def test_the_released_relevance_has_the_same_items_and_levels():
    card = load_card("labelme")
    rule = card.protocol("s1")
    released = card.protocol("s1_released")
    assert released.relevance.kind == "released"
    assert released.relevance.model_copy(update={"kind": "percentiles"}) == rule.relevance
    chosen = split(np.zeros((card.n_items, 0), np.uint8), released, "labelme", "s1_released")
    assert chosen.sha256 == released.ids_sha256 == rule.ids_sha256
