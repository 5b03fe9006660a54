"""The runs of trials: two trials with the same settings are one run, and what another process adds stays."""

from collections.abc import Iterator

import pytest
from support.one_line import one_line
from support.searches import question, trial

from hashbench.foundation.execution import DEFAULT
from hashbench.foundation.files import locked
from hashbench.running.runs.run import Run
from hashbench.running.runs.run_all import Outcome, Plan
from hashbench.running.tuning import run as tuning
from hashbench.running.tuning.choice import choices, finalists
from hashbench.running.tuning.search import Search, path_of


def test_trials_with_the_same_settings_are_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Run] = []

    def run_all(runs: list[Run], *_: object) -> Iterator[Outcome]:
        asked.extend(runs)
        yield from (Outcome(run, None, f"run {n}") for n, run in enumerate(runs))

    monkeypatch.setattr(tuning, "run_all", run_all)
    search = Search("small", question(["lsh"]))
    todo = tuning.missing(search, ["lsh"], 6, 1, retry=False)
    *_, last = tuning.made(search, todo, DEFAULT, Plan())
    assert len({str(run.name) for run in asked}) == len(asked) == 3  # the method has three points
    assert [number for _, number, _, _ in sorted(last.trials)] == [0, 1, 2, 3, 4, 5, 6]
    assert Search.load("small") == last
    reasons = {entry.searched["centre"]: entry.reason for entry in last.trials.values()}
    assert all(entry.reason == reasons[entry.searched["centre"]] for entry in last.trials.values())
    assert tuning.missing(last, ["lsh"], 6, 1, retry=False) == []
    assert len(tuning.missing(last, ["lsh"], 6, 1, retry=True)) == 7


def test_trials_that_another_process_added_meanwhile_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "run_all", lambda runs, *_: (Outcome(run, None, "ours") for run in runs))
    search = Search("small", question(["lsh"]))
    todo = tuning.missing(search, ["lsh"], 1, 1, retry=False)
    theirs = [entry.ended(None, "theirs") for entry, _ in todo[:1]]
    Search("small", question(["lsh", "itq"])).with_trials([*theirs, trial("itq", 1, 0.5)]).save()
    *_, last = tuning.made(search, todo, DEFAULT, Plan())
    assert Search.load("small") == last
    assert [(key[0], key[1], entry.reason) for key, entry in sorted(last.trials.items())] == [
        ("itq", 1, None),
        ("lsh", 0, "theirs"),
        ("lsh", 1, "ours"),
    ]


def test_a_search_that_another_process_does_is_one_line() -> None:
    search = Search("small", question(["lsh"]))
    todo = tuning.missing(search, ["lsh"], 1, 1, retry=False)
    folder = path_of("small").with_name(".small")
    with locked(folder / "lock", wait=False), one_line("another process does this search"):
        next(tuning.made(search, todo, DEFAULT, Plan()))


def test_the_best_five_trials_are_run_in_every_study_and_one_of_them_is_chosen() -> None:
    search = Search("small", question(["itq"]))
    todo = tuning.missing(search, ["itq"], 8, 3, retry=False)
    assert [(made.trial, made.study) for made, _ in todo] == [(n, 0) for n in range(9)]
    first = [0.05, 0.5, 0.1, 0.9, 0.4, 0.6, 0.3, 0.2, None]  # the third was lucky, the last one failed
    search = search.with_trials(
        trial("itq", n, ap, run=made.run) for n, (ap, (made, _)) in enumerate(zip(first, todo, strict=True))
    )
    assert finalists(search.of_method("itq")) == [3, 5, 1, 4, 6]
    todo = tuning.missing(search, ["itq"], 8, 3, retry=False)
    assert [(made.trial, made.study) for made, _ in todo] == [(n, study) for n in (1, 3, 4, 5, 6) for study in (1, 2)]
    later = {1: 0.51, 3: 0.28, 4: 0.54, 5: 0.55, 6: 0.56}
    search = search.with_trials(
        trial("itq", made.trial, later[made.trial], made.study, run=made.run) for made, _ in todo
    )
    assert tuning.missing(search, ["itq"], 8, 3, retry=False) == []
    assert tuning.n_needed(search.question, ["itq"], 8, 3) == tuning.n_ended(search, ["itq"], 8, 3, retry=False) == 19
    (chosen,) = choices(search)
    assert chosen.trial == 6
    assert chosen.score == 0.56
    assert chosen.n_trials == 8
    assert chosen.n_failed == 1


def test_the_trials_after_the_first_24_lie_around_the_best_so_far() -> None:
    """In the lower half of the range, on its scale, where the best value is the smallest; then in a quarter of it."""
    search = Search("small", question(["itq"]))
    for numbers in (range(25), range(25, 37), range(37, 41)):
        todo = [made for made, _ in tuning.missing(search, ["itq"], 40, 1, retry=False)]
        assert [made.trial for made in todo] == [*numbers]
        values = [float(made.searched["iterations"]) for made in todo]
        if numbers.start:
            factor = (500 / 5) ** (0.5 if numbers.start == 25 else 0.25)
            assert max(values) < 5 * factor * 1.1
        aps = [0.9 if made.trial == 0 else 0.8 - value / 1000 for made, value in zip(todo, values, strict=True)]
        search = search.with_trials(made.model_copy(update={"ap": ap}) for made, ap in zip(todo, aps, strict=True))
    assert tuning.missing(search, ["itq"], 40, 1, retry=False) == []
