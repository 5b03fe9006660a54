"""The space of a search: what a method's file may say, and the points that are its trials."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.on_digits import on_digits
from support.one_line import one_line
from support.searches import changed_root

from hashbench.foundation.config import Setting
from hashbench.learning.methods import METHODS
from hashbench.running.runs.run import Run
from hashbench.running.runs.settings import method_file
from hashbench.running.runs.space import Choices, Range, Space, at_edge, points, points_near, same_points
from hashbench.running.tuning.search import space_of


def a_run(method: str, **settings: Any) -> Run:
    """A run on the digits whose settings can be searched."""
    model = {"model": "mlp"} if "model" in METHODS.get(method).settings.model_fields else {}
    return on_digits(method, {"bits": 8, **model, **settings})


SPACE: Space = {
    "rate": Range(low=0.01, high=100.0, log=True),
    "part": Range(low=0.25, high=0.5),
    "trees": Range(low=2, high=6),
    "neighbours": Range(low=3, high=100, log=True),
    "loss": Choices(choices=["hinge", "log", "square"]),
}


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("iteratons = { low = 1, high = 9 }", "search: unknown setting of itq 'iteratons': did you mean iterations?"),
        ("bits = { choices = [16, 32] }", "search: bits is what a search is given"),
        ("iterations = { low = 9, high = 9 }", "the range from 9 to 9: low must be below high, and with log above 0"),
        (
            "iterations = { low = 0, high = 5, log = true }",
            "the range from 0 to 5: low must be below high",
        ),
        ("iterations = { choices = [5] }", "at least 2 items"),
        ("iterations = { choices = [5, 5.0] }", "a value is there twice"),
        ('iterations = { choices = ["few", "many"], last = ["low"] }', "last: only a list of numbers has ends"),
        ("iterations = { low = 1 }", "key 'search.iterations.range.high' is missing"),
        ("iterations = { low = 1, high = nan }", "search.iterations.range.high."),
    ],
)
def test_a_wrong_space_is_one_line_that_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, complaint: str
) -> None:
    path = changed_root(tmp_path, monkeypatch) / "experiments" / "methods" / "itq.toml"
    path.write_text(path.read_text().partition("[search]")[0] + f"[search]\n{line}\n")
    with one_line() as caught:
        space_of(a_run("itq"))
    assert str(caught.value).startswith(f"{path}: ") and complaint in str(caught.value)


def test_adam_has_other_rates_than_sgd() -> None:
    usual = space_of(a_run("talr_ap"))
    of_adam = space_of(a_run("talr_ap", optimiser="adam", momentum=0.0))
    assert usual.keys() == of_adam.keys() and {key for key in usual if usual[key] != of_adam[key]} == {"lr"}


def test_every_method_takes_the_ends_of_its_space() -> None:
    searched = [name for name in METHODS.names if method_file(name).search]
    assert {"itq", "ksh", "structhash", "talr_ap"} <= set(searched)
    assert {"lr", "weight_decay"} <= space_of(a_run("hashnet")).keys() - method_file("hashnet").search.keys()
    for method in searched:
        for key, values in space_of(a_run(method)).items():
            for value in values.choices if isinstance(values, Choices) else (values.low, values.high):
                assert getattr(a_run(method, **{key: value}).settings, key) == value


def test_more_trials_begin_with_the_same_points_in_any_order_of_the_settings() -> None:
    many = points(SPACE, 40, "itq")
    assert points(SPACE, 7, "itq") == many[:7]
    assert points(dict(reversed(SPACE.items())), 40, "itq") == many
    assert points(SPACE, 7, "lsh") != many[:7]
    assert points({}, 3, "itq") == [{}, {}, {}]


def test_points_are_inside_and_spread_and_whole_numbers_stay_whole() -> None:
    trials = points(SPACE, 64, "itq")
    for trial in trials:
        assert all(0 <= values.share(trial[key]) <= 1 for key, values in SPACE.items())
        assert type(trial["trees"]) is type(trial["neighbours"]) is int
        assert type(trial["rate"]) is type(trial["part"]) is float
    assert {trial["trees"] for trial in trials} == {2, 3, 4, 5, 6}  # both ends
    assert min(Counter(trial["loss"] for trial in trials).values()) >= 20
    assert 28 <= sum(trial["rate"] < 1 for trial in trials) <= 36  # half of them below the middle by logarithms
    assert 28 <= sum(trial["part"] < 0.375 for trial in trials) <= 36


def test_a_rounded_value_does_not_leave_the_range() -> None:
    narrow = Range(low=0.12345, high=0.12378)
    assert {narrow.value(share) for share in (0.0, 0.3, 0.9999)} <= {0.12345, 0.124, 0.12378}
    assert narrow.value(0.0) == 0.12345 and narrow.value(0.9999) == 0.12378
    assert Range(low=3, high=9).value(1 - 2**-53) == 9


def test_a_value_near_an_end_of_its_range_is_told() -> None:
    chosen = {"rate": 0.02, "part": 0.375, "trees": 6, "neighbours": 17, "loss": "hinge"}
    assert at_edge(SPACE, chosen) == {"rate": "low", "trees": "high"}
    last = {"rate": Range(low=0.01, high=100.0, log=True, last=["low"]), "trees": Range(low=2, high=6, last=["low"])}
    assert at_edge({**SPACE, **last}, chosen) == {"trees": "high"}


@pytest.mark.parametrize(
    "choices, last, value, end",
    [
        ([100, 300, 1000], [], 100, "low"),
        ([1000, 300, 100], [], 1000, "high"),  # by the numbers, not by their places
        ([0.0, 0.2, 0.4], ["low"], 0.0, None),
        ([False, True], [], True, None),
        ([False, 1, 2], [], 2, None),
    ],
)
def test_a_list_of_numbers_has_ends_and_no_other_list(choices: Any, last: Any, value: Any, end: str | None) -> None:
    space: Space = {"of": Choices(choices=choices, last=last)}
    assert at_edge(space, {"of": value}) == ({} if end is None else {"of": end})


def test_which_ends_are_the_last_ones_changes_no_trial() -> None:
    other: Space = {**SPACE, "rate": Range(low=0.01, high=100.0, log=True, last=["low", "high"])}
    assert same_points(SPACE, other) and points(SPACE, 5, "itq") == points(other, 5, "itq")
    assert not same_points(SPACE, {**SPACE, "rate": Range(low=0.02, high=100.0, log=True)})


def test_a_part_of_a_space_lies_around_its_centre_and_inside_the_space() -> None:
    centre: dict[str, Setting] = {"lr": 90.0, "n": 3, "loss": "b"}
    space: Space = {
        "lr": Range(low=0.01, high=100.0, log=True),
        "n": Range(low=1, high=9),
        "loss": Choices(choices=["a", "b"]),
    }
    for part in (1, 2, 3):
        near = points_near(space, centre, part, 40, "itq")
        shares = [space["lr"].share(point["lr"]) for point in near]
        assert max(shares) <= 1 and max(shares) - min(shares) == pytest.approx(0.5**part, abs=0.06)
        assert min(shares) == pytest.approx(1 - 0.5**part, abs=0.03)  # the centre is near the end of the range
        assert {point["loss"] for point in near} == {"b"} and {point["n"] for point in near} <= set(range(1, 10))
        assert points_near(space, centre, part, 7, "itq") == near[:7]
