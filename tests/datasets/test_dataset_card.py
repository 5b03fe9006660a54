import re

import numpy as np
import pytest
from support.one_line import one_line

from hashbench.running.datasets.card import cards, load_card
from hashbench.running.datasets.protocol import (
    Parts,
    PartsDrawn,
    PerClassValidation,
    Random,
    RandomValidation,
    Stratified,
)
from hashbench.running.datasets.readers import READERS
from hashbench.running.datasets.split import split


@pytest.mark.parametrize("name", cards())
def test_every_card_is_complete(name):
    card = load_card(name)
    assert card.name == name
    assert card.reader in READERS
    assert card.class_counts is None or card.labels == "multi" or sum(card.class_counts) == card.n_items


@pytest.mark.parametrize("name", cards())
def test_every_source_of_a_card_can_be_found_and_verified(name):
    for source in load_card(name).sources:
        assert all(re.match("(https?|ftp)://[^ ]+$", url) for url in source.urls)
        assert all(step.strip() for step in source.manual)
        names = [name for member in source.members for name in (member.path, member.packed) if name]
        assert len(set(names)) == len(names)
        assert not any(name.startswith("/") or ".." in name.split("/") or "\\" in name for name in names)
        for member in source.members:
            # the archive's checksum, its own or, where nobody publishes one, that of the content vouches for it
            assert source.checksums or member.checksums or member.note


PROTOCOLS = [(name, protocol) for name in cards() for protocol in load_card(name).protocols]


@pytest.mark.parametrize("name, protocol", PROTOCOLS)
def test_every_protocol_states_its_sizes(name, protocol):
    card = load_card(name)
    rule = card.protocols[protocol]
    assert re.fullmatch("[a-z0-9_]+", protocol)
    assert rule.title
    assert rule.citation
    assert min(rule.n_queries, rule.n_database, rule.n_train) > 0
    left_out = rule.n_train if getattr(rule, "database", "rest") == "rest_without_train" else 0
    left_out += rule.left_out if isinstance(rule, RandomValidation) else 0
    left_out += rule.left_out_per_class * card.n_classes if isinstance(rule, PerClassValidation) else 0
    if isinstance(rule, Parts):
        sizes = [end - start for start, end in (rule.query, rule.database, rule.train)]
        assert [rule.n_queries, rule.n_database, rule.n_train] == sizes
    elif isinstance(rule, PartsDrawn):
        sizes = [rule.n_queries + rule.n_validation, rule.n_database, rule.n_train]
        expected = [end - start for start, end in (rule.query, rule.database)]
        assert sizes == [*expected, rule.train_per_class * card.n_classes]
    elif isinstance(rule, Stratified):
        assert rule.n_train + rule.n_validation == rule.pool[1] - rule.pool[0]
    else:
        first, end = getattr(rule, "among", None) or (0, card.n_items)
        assert rule.n_queries + rule.n_database + left_out == end - first


def pinned_without_labels(most: int) -> list[tuple[str, str]]:
    """Protocols that draw without looking at labels, so that their ids are known before the data are."""
    chosen = []
    for name, protocol in PROTOCOLS:
        card = load_card(name)
        if isinstance(card.protocols[protocol], Parts | Random | RandomValidation) and card.n_items <= most:
            chosen.append((name, protocol))
    return chosen


def check_pinned_ids(name: str, protocol: str) -> None:
    card = load_card(name)
    rule = card.protocols[protocol]
    no_labels = np.empty((card.n_items, 0), np.uint8)
    assert split(no_labels, rule, name, protocol).sha256 == rule.ids_sha256


SMALL = pinned_without_labels(most=100_000)


@pytest.mark.parametrize("name, protocol", SMALL)
def test_ids_drawn_without_labels_are_pinned(name, protocol):
    check_pinned_ids(name, protocol)


@pytest.mark.slow
@pytest.mark.parametrize("name, protocol", sorted({*pinned_without_labels(most=1 << 30)} - {*SMALL}))
def test_ids_of_large_sets_drawn_without_labels_are_pinned(name, protocol):
    check_pinned_ids(name, protocol)


@pytest.mark.parametrize("name", cards())
def test_where_the_labels_were_seen_all_ids_are_pinned(name):
    card = load_card(name)
    if card.content_sha256 or card.labels_sha256:
        assert all(rule.ids_sha256 for rule in card.protocols.values())


def test_unknown_names_are_answered_with_the_nearest():
    with one_line(r"^unknown dataset 'stl1': did you mean stl10\b"):
        load_card("stl1")
    message = (
        r"^unknown protocol of digits 's9': did you mean s1\? hashbench list protocols --dataset digits shows all$"
    )
    with one_line(message):
        load_card("digits").protocol("s9")


FAULTS = {
    "unknown key": ("n_classes = 3", "n_classes = 3\nembeded = false", "unknown key 'embeded': did you mean embedded"),
    "wrong type": ("n_items = 24", 'n_items = "24"', "n_items: Input should be a valid integer, got '24'"),
    "own name": ('title = "Toy"', 'title = "Toy"\nname = "other"', "unknown key 'name'"),
    "no checksum": ('note = "made anew by each test"', "", "or a note that says why"),
    "embedded with sources": ("n_classes = 3", "n_classes = 3\nembedded = true", "an embedded data set has no sources"),
    "shape of features": ("item_shape = [2, 3, 3]", "item_shape = [18]", "images have item_shape"),
    "no value_max": ("value_max = 255", "", "images state value_max"),
    "no queries": ("queries_per_class = 2", "queries_per_class = 0", "protocols.s1.per_class.queries_per_class"),
    "no citation": ('title = "Toy"\ncitation = "none"', 'title = "Toy"', "key 'citation' is missing"),
    "no citation of a protocol": (
        'train_per_class = 3\ncitation = "none"',
        "train_per_class = 3",
        "key 'protocols.s1.citation' is missing",
    ),
    "custom with sources": ("n_classes = 3", "n_classes = 3\nown = true", "a custom data set has no sources and no"),
    "former key": (
        "n_items = 24",
        "n_items = 24\nprobes = 1",
        "'probes' is no more: content_sha256 is the checksum of",
    ),
    "protocol of none": (
        "train_per_class = 3\n",
        'train_per_class = 3\n[protocols.s2]\ntitle = "x"\ndraw = "random"\nof = "s9"\nqueries = 4\ntrain = 6\n',
        "protocol s2: the card has no protocol s9",
    ),
    "not TOML": ("n_items = 24", "n_items 24", "not a readable TOML file"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_card_is_refused_in_one_line(toy, fault):
    old, new, message = FAULTS[fault]
    toy.edit(old, new)
    with one_line(re.escape(message)) as caught:
        load_card("toy")
    assert str(caught.value).startswith(str(toy.card))


AT_RANDOM = """
[protocols.s2]
title = "At random"
citation = "x"
draw = "random"
queries = 4
train = 6
"""
SAME_ITEMS = """
[protocols.other]
title = "The same items"
citation = "x"
draw = "random"
of = "s2"
queries = 4
train = 6
"""


def test_the_items_of_another_protocol_are_drawn_as_there(toy):
    toy.card.write_text(toy.card.read_text() + AT_RANDOM + SAME_ITEMS)
    same = load_card("toy").protocol("other")
    base = load_card("toy").protocol("s2")
    assert same.deciding() != base.deciding()  # so that runs have other names
    assert load_card("toy").protocol_name("S2") == "s2"
    labels = np.zeros(24, np.int64)
    assert split(labels, same, "toy", "other").sha256 == split(labels, base, "toy", "s2").sha256


@pytest.mark.parametrize("value", ["3", '{ draw = "lots" }'])
def test_a_protocol_that_is_none_is_one_line(toy, value):
    card = toy.card.read_text().partition("[protocols.s1]")[0]
    toy.card.write_text(f"{card}[protocols]\ns1 = {value}\n")
    with one_line(r"protocols: s1: a protocol is a table whose draw is one of per_class, "):
        load_card("toy")
