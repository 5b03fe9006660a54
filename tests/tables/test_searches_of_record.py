"""The tables of record take the settings of searches that hold: few trials failed, and no choice is at an end."""

from collections import defaultdict

import pytest
from support.fake_rows import fake_hash, fake_row
from support.rendered import rendered
from support.searches import question, trial

from hashbench.foundation import paths
from hashbench.running.datasets.card import load_card
from hashbench.running.tuning.choice import choices
from hashbench.running.tuning.search import Search
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.footnotes import search_of

TABLES = (
    *("cifar10_s1_lite0", "cifar10_s2_lite0", "cifar100_lite0", "cifar10_unsupervised_lite0"),
    "structhash_equal_terms",
)
# of before December 2026, whose validation queries other splits may test: a search of today takes the place of each
OLD = {
    *("heads_lite0", "heads_lite0_cifar100", "heads_lite0_s2", "kernel_structhash", "linear_structhash"),
    *("shallow_lite0", "shallow_lite0_cifar100", "shallow_lite0_s2"),
}


def test_the_searches_of_record_hold_and_recipes_have_their_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_RESULTS", str(paths.root() / "results"))
    said: dict[str, dict[str, str]] = defaultdict(dict)  # of each search and method, by the recipe
    for cell in (cell for name in TABLES for cell in spec.load(name).cells):
        if (named := search_of(cell)) is not None:
            said[named[1]][cell.method] = named[0]
    assert {name for name in said if not Search.named(name).question.is_two_stage} == OLD
    for name, methods in said.items():
        chosen = {choice.method: choice for choice in choices(Search.named(name))}
        for method, recipe_says in methods.items():
            assert chosen[method].said(name).startswith(recipe_says)
            assert name in OLD or chosen[method].search_again == [], (name, method)


def test_a_table_of_an_old_protocol_of_validation_says_how_many_of_its_queries_others_test() -> None:
    table = spec.load("lite0_pixels")
    text = rendered(collect(table, [fake_row(table.cells[0], ap=0.5)], None, hash_of=fake_hash), "markdown")
    counts = load_card("cifar10").protocol("s1_validation").shared_queries
    assert "Old validation queries: of the 1000 of cifar10 s1_validation the first splits of these protocols" in text
    assert all(f"{name} {', '.join(map(str, tested))}" in text for name, tested in counts.items())


@pytest.mark.parametrize(
    "splits, aps, note",
    [
        (None, [0.5], "Validation queries of the search linear_structhash may be test queries of other splits"),
        (5, [0.5, None], "To be searched again: KSH (1 of 2 trials failed)."),
        (5, [0.5, 0.4], None),
    ],
)
def test_a_table_of_a_search_that_does_not_hold_says_so(
    splits: int | None, aps: list[float | None], note: str | None
) -> None:
    searched = {"method": "ksh", "searched": {"tolerance": 0.1}}
    trials = [trial("itq", n, ap).model_copy(update=searched) for n, ap in enumerate(aps, 1)]
    space = {"tolerance": {"low": 1e-4, "high": 10.0, "log": True}}
    question_of_ksh = question(["itq"], splits=splits, spaces={"ksh": space})
    Search("linear_structhash", question_of_ksh).with_trials(trials).save()
    table = spec.load("structhash_equal_terms")
    cell = next(cell for cell in table.cells if cell.method == "ksh")
    text = rendered(collect(table, [fake_row(cell, ap=0.5)], None, hash_of=fake_hash), "markdown")
    assert (note in text) if note else ("To be searched" not in text and "may be test queries" not in text)
