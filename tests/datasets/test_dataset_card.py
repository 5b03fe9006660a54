import re

import pytest

from hashbench.datasets.card import cards, load_card
from hashbench.datasets.readers import READERS
from hashbench.errors import HashbenchError


@pytest.mark.parametrize("name", cards())
def test_every_card_is_complete(name):
    card = load_card(name)
    assert card.name == name
    assert card.reader in READERS
    assert card.probes[0].id == 0
    assert card.probes[-1].id == card.n_items - 1
    assert card.class_counts is None or sum(card.class_counts) == card.n_items
    for name, protocol in card.protocols.items():
        assert re.fullmatch("[a-z0-9_]+", name)
        assert protocol.ids_sha256 is not None
        assert protocol.n_queries + protocol.n_database == card.n_items


def test_the_first_two_are_there_and_dashes_do_not_matter():
    assert {"cifar10", "digits"} <= set(cards())
    assert load_card("CIFAR10").protocol("S1") == load_card("cifar10").protocols["s1"]


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(HashbenchError, match=r"^unknown dataset 'cifra10': did you mean cifar10\?$"):
        load_card("cifra10")
    with pytest.raises(HashbenchError, match=r"^unknown protocol of digits 's9': did you mean s1\?$"):
        load_card("digits").protocol("s9")


FAULTS = {
    "unknown key": ("n_classes = 3", "n_classes = 3\nembeded = false", "unknown key 'embeded': did you mean embedded"),
    "wrong type": ("n_items = 24", 'n_items = "24"', "n_items: Input should be a valid integer, got '24'"),
    "own name": ('title = "Toy"', 'title = "Toy"\nname = "other"', "unknown key 'name'"),
    "no checksum": ('note = "made anew by each test"', "", "or a note that says why"),
    "bad checksum": ('note = "made anew by each test"', 'sha256 = "abc"', "sources.0.sha256"),
    "embedded with sources": ("n_classes = 3", "n_classes = 3\nembedded = true", "an embedded set has no sources"),
    "shape of features": ("item_shape = [2, 3, 3]", "item_shape = [18]", "images have item_shape"),
    "no value_max": ("value_max = 255", "", "images state value_max"),
    "counts of other classes": ("class_counts = [8, 8, 8]", "class_counts = [24]", "one entry a class"),
    "no queries": ("queries_per_class = 2", "queries_per_class = 0", "protocols.s1.per_class.queries_per_class"),
    "not TOML": ("n_items = 24", "n_items 24", "not a readable TOML file"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_card_is_refused_in_one_line(toy, fault):
    old, new, message = FAULTS[fault]
    toy.edit(old, new)
    with pytest.raises(HashbenchError, match=re.escape(message)) as caught:
        load_card("toy")
    assert str(caught.value).startswith(str(toy.card))
    assert "\n" not in str(caught.value)


def test_a_probe_beyond_the_end_is_refused(toy):
    toy.card.write_text(toy.card.read_text() + f'\n[[probes]]\nid = 24\nlabel = 0\nsha256 = "{"0" * 64}"\n')
    with pytest.raises(HashbenchError, match="beyond the last item, 23"):
        load_card("toy")
