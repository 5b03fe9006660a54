"""What a search found: the choice of each method, the best AP after k trials, the share of each setting."""

from itertools import permutations

import numpy as np
import pytest
from support.searches import question, search_of, trial

from hashbench.running.tuning.choice import OnDataset, best_after, choices, on_each_dataset, scores_alike
from hashbench.running.tuning.search import Search
from hashbench.showing.ink import write
from hashbench.showing.search_sheet import sheet_of


@pytest.mark.parametrize("scores", [[0.5], [0.2, 0.9, 0.4], [0.3, 0.3, 0.1, 0.8, 0.3], [0.0, 0.7, 0.1, 0.2, 0.6, 0.7]])
def test_the_best_after_k_trials_is_that_of_all_orders(scores: list[float]) -> None:
    best = np.array([np.maximum.accumulate(order) for order in permutations(scores)])
    means, deviations = best_after(scores)
    assert means == pytest.approx(best.mean(axis=0), abs=1e-12)
    assert deviations == pytest.approx(best.std(axis=0), abs=1e-7)


def test_the_median_over_studies_chooses_and_a_failed_trial_counts_as_0() -> None:
    result = choices(
        search_of(
            {
                "lsh": [[0.5, 0.1, 0.1], [0.4, 0.3, 0.2]],  # by the mean or the best the first one would win
                "itq": [[0.9, None, None], [0.6, None, 0.7], [0.65, 0.65, None], [0.2, 0.2, 0.2]],
            }
        )
    )
    assert [(entry.method, entry.trial, entry.score, entry.n_trials, entry.n_failed) for entry in result] == [
        ("itq", 3, 0.65, 4, 0),  # of the first studies none failed
        ("lsh", 2, 0.3, 2, 0),
    ]
    assert result[0].lowest == 0.0
    assert result[0].highest == 0.65
    assert result[1].said("x") == "tune/x.jsonl: trial 2 of 2, held-out AP 0.300"
    assert [entry.failure for entry in result] == [None, None]


def test_the_choice_is_by_the_mean_over_data_sets_of_the_medians() -> None:
    of_both = Search("small", question(["lsh"], ("digits", "usps"))).with_trials(
        trial("lsh", number, ap, study, dataset=dataset)
        for dataset, trials in {
            "digits": [[0.9, 0.1, 0.8], [0.6, 0.6, 0.6]],
            "usps": [[0.2, 0.2, 0.2], [0.5, 0.0, 0.5]],
        }.items()
        for number, studies in enumerate(trials, 1)
        for study, ap in enumerate(studies)
    )
    (result,) = choices(of_both)
    assert result.trial == 2
    assert result.score == pytest.approx((0.6 + 0.5) / 2)
    assert result.lowest == pytest.approx(0.3)
    assert result.highest == pytest.approx(0.55)


def test_each_data_set_has_its_best_trial_and_those_chosen_with_and_without_it() -> None:
    result = Search("small", question(["lsh"], ("digits", "isolet", "usps"))).with_trials(
        trial("lsh", number, ap, 0, dataset=dataset)
        for dataset, aps in {"digits": [0.9, 0.8, 0.1], "isolet": [0.2, 0.7, 0.9], "usps": [0.3, 0.5, 0.9]}.items()
        for number, ap in enumerate(aps, 1)
    )
    # all: .47, .67, .63; without digits .25, .60, .90; without isolet .60, .65, .50; without usps .55, .75, .50
    assert on_each_dataset(result, "lsh") == [
        OnDataset("digits", 0.9, 0.8, 0.1),
        OnDataset("isolet", 0.9, 0.7, 0.7),
        OnDataset("usps", 0.9, 0.5, 0.5),
    ]
    assert (
        "LSH     digits                         0.900                0.800                            0.100"
        in write(sheet_of(result), "text")
    )
    one = search_of({"lsh": [[0.1], [0.4]]})
    assert on_each_dataset(one, "lsh") == []
    assert "best trial" not in write(sheet_of(one), "markdown")


def test_a_method_all_of_whose_trials_failed_has_its_first_reason() -> None:
    result = {
        entry.method: entry for entry in choices(search_of({"itq": [[None, None], [None, None]], "lsh": [[0.1, 0.1]]}))
    }
    assert result["itq"].failure == "it diverged" and result["itq"].n_failed == 2
    assert result["itq"].edges == {} and result["itq"].search_again == ["2 of 2 trials failed"]
    assert result["lsh"].failure is None
    (mostly,) = choices(search_of({"itq": [[0.5, None, None], [None, 0.5, None]]}))
    assert mostly.failure == "it diverged"  # no trial has a median


@pytest.mark.parametrize("n_failed, why", [(2, []), (3, ["3 of 10 trials failed"])])
def test_a_method_with_more_than_a_fifth_of_failed_trials_is_to_be_searched_again(
    n_failed: int, why: list[str]
) -> None:
    search = search_of({"lsh": [*[[None]] * n_failed, *[[0.5]] * (10 - n_failed)]})
    assert [choice.search_again for choice in choices(search)] == [why]
    assert ("to be searched again: LSH (3 of 10 trials failed)" in write(sheet_of(search), "markdown")) == bool(why)


def test_a_choice_at_an_end_that_could_be_wider_is_to_be_searched_again() -> None:
    for last, why in (([], ["iterations = 5 is at the low end of 5 to 500"]), (["low"], [])):
        space = {"itq": {"iterations": {"low": 5, "high": 500, "log": True, "last": last}}}
        runs = [trial("itq", n, ap, searched={"iterations": at}) for n, (at, ap) in enumerate([(50, 0.5), (5, 0.6)], 1)]
        search = Search("small", question(["itq"], spaces=space)).with_trials(runs)
        assert [choice.search_again for choice in choices(search)] == [why]
        assert ("to be searched again: ITQ (iterations = 5 is at" in write(sheet_of(search), "markdown")) == bool(why)


def test_trials_are_scored_alike_by_the_studies_that_all_have() -> None:
    two_stages = {"itq": [[0.5, 0.3, 0.3], [0.6, 0.5, 0.4], [0.2], [None]]}
    assert scores_alike(search_of(two_stages), "itq") == [0.5, 0.6, 0.2, 0.0]
    assert scores_alike(search_of({"itq": [[0.5, 0.3, 0.3], [0.6, 0.5, 0.4]]}), "itq") == [0.3, 0.5]
    assert scores_alike(search_of({"itq": [[0.5]]}), "lsh") == []
    # on each data set the best of all trials; the common choice is that of the median over the studies
    both = search_of({"itq": [[0.7, 0.3, 0.3], [0.6, 0.5, 0.4], [0.2]]}, datasets=("digits", "usps"))
    assert [entry.trial for entry in choices(both)] == [2]
    assert on_each_dataset(both, "itq")[0] == OnDataset("digits", 0.7, 0.6, 0.7)
