"""No query by which a search chose settings is a test query of a table, for all pairs of the committed searches."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.searches import search_of, trial

from hashbench.foundation import paths
from hashbench.foundation.errors import CheckFailed
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.protocol import TO_CHOOSE
from hashbench.running.datasets.split import split
from hashbench.running.datasets.store import open_labels
from hashbench.running.datasets.stored_file import array_sha256
from hashbench.running.tuning.overlap import beside_tests, require_stated, shared_queries, validation_lists
from hashbench.scoring.relevance.labels import Labels
from hashbench.showing.tables.spec import shown_protocols

DATASETS = ("cifar10", "cifar100", "isolet", "mnist", "usps")


@pytest.fixture
def labels_of(shared_data: Path) -> Callable[[str], Labels]:
    """The labels of a data set of the pack, which are those of its card."""

    def read(dataset: str) -> Labels:
        card = load_card(dataset)
        names = [f"data_batch_{n}" for n in range(1, 6)] + ["test_batch"]
        names = [f"train_{n}of5" for n in range(1, 6)] + ["test"] if card.name == "cifar100" else names
        is_folder = (shared_data / card.name).is_dir()
        files = [shared_data / card.name / name for name in names] if is_folder else [shared_data / card.name]
        keys = ("labels", "fine", "y", "y_train", "y_test")
        parts = []
        for file in files:
            with np.load(file.with_suffix(".npz")) as pack:
                parts += [pack[key] for key in keys if key in pack.files]
        labels = np.concatenate(parts).astype(np.int64)
        assert card.labels_sha256 in (None, array_sha256(labels)) and len(labels) == card.n_items
        return labels

    return cache(read)


@pytest.mark.parametrize("dataset", DATASETS)
def test_searches_choose_by_queries_that_no_split_of_a_table_tests(
    dataset: str, labels_of: Callable[[str], Labels], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HASHBENCH_RESULTS", str(paths.root() / "results"))
    card = load_card(dataset)
    labels = labels_of(dataset)
    protocols = shown_protocols(card, "structhash" if "structhash" in card.protocols else "s1")
    for lists in validation_lists(card, labels):
        is_old = lists.rules[0].splits is None
        for protocol in [] if is_old else protocols:
            assert beside_tests(lists, card, labels, protocol).n_tested == 0, (protocol, lists.searches)


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_card_says_how_many_queries_of_an_old_protocol_others_test(
    dataset: str, labels_of: Callable[[str], Labels]
) -> None:
    card = load_card(dataset)
    for name, rule in card.protocols.items():
        if isinstance(rule, TO_CHOOSE):
            labels = labels_of(dataset)
            assert list(rule.shared_queries) == shown_protocols(card, rule.of), name
            chosen = split(labels, rule, dataset, name)
            assert chosen.sha256 == rule.ids_sha256
            require_stated(card, labels, chosen.query_ids, rule.shared_queries)


def test_the_queries_of_a_new_search_are_none_of_the_first_five_splits_and_those_of_an_old_one_are() -> None:
    card = load_card("digits")
    labels = open_labels(card).labels
    search_of({"lsh": [[0.5, 0.4]]}, "old").save()
    search_of({"lsh": [[0.5, 0.4], [0.3]]}, "new", splits=5).save()
    search_of({"itq": [[0.5, 0.4]]}, "newer", splits=5).save()
    search_of({"itq": [[0.5]]}, "elsewhere", datasets=["usps"]).save()
    of_new, of_old = (beside_tests(lists, card, labels, "s1") for lists in validation_lists(card, labels))
    assert of_new.searches == ["new", "newer"]
    assert of_new.is_old is False
    assert of_new.n_lists == 2
    assert of_new.n_tested == 0
    assert of_old.searches == ["old"]
    assert of_old.is_old is True
    # counted in another way
    lists = [card.held_out("s1", ["s1"], study) for study in (0, 1)]
    drawn = [split(labels, rule, "digits", "s1").query_ids for rule in lists]
    tested = {item for seed in range(5) for item in split(labels, card.protocol("s1"), "digits", "s1", seed).query_ids}
    assert of_old.n_tested == max(len(tested & {*queries}) for queries in drawn) > 0


def test_a_test_query_that_chose_settings_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    card = load_card("digits")
    labels = open_labels(card).labels
    monkeypatch.setattr("hashbench.running.datasets.split.shown_queries", lambda *_: np.empty(0, np.int64))
    unseen = trial("lsh", 1, 0.5, study=77)  # whose list this process has not drawn yet
    search_of({"lsh": []}, "new", splits=5).with_trials([unseen]).save()
    with pytest.raises(CheckFailed, match=r"digits s1: \d+ test queries are validation queries of new: search again"):
        [beside_tests(lists, card, labels, "s1") for lists in validation_lists(card, labels)]
    counts = shared_queries(card, labels, np.arange(500), ["s1"])
    require_stated(card, labels, np.arange(500), counts)
    with pytest.raises(CheckFailed, match="of the queries are test queries; the card states"):
        require_stated(card, labels, np.arange(499), counts)
