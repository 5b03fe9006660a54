"""The pictures of the leaderboard: their points, and what is drawn."""

from math import inf, sqrt
from pathlib import Path

import pytest
from scipy.stats import studentized_range
from support.declared_figures import axes_of, declare, filled
from tables.test_leaderboard import METHODS, measured, row

from hashbench import figures
from hashbench.figures import Drawing, csv_text
from hashbench.foundation.errors import HashbenchError
from hashbench.tables.leaderboard import leaderboard


def drawn(folder: Path, shows: str, more: str = "") -> Drawing:
    declare(folder, "leaderboard", f'shows = "{shows}"\n{more}', "")
    return filled(figures.load("tiny"), *measured())


def test_mean_ranks_have_their_intervals(tmp_path: Path) -> None:
    drawing = drawn(tmp_path, "ranks")
    lines = leaderboard(measured()).lines
    assert [(point["method"], point["mean_rank"]) for point in drawing.points] == [
        (of["method"], of["mean_rank"]) for of in lines
    ]
    (ax,) = axes_of(drawing).axes
    bars = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
    assert [tuple(bar) for bar in bars] == [(line["rank_low"], line["rank_high"]) for line in lines]


def test_the_front_is_of_methods_that_none_beats_in_time_and_ap(tmp_path: Path) -> None:
    drawing = drawn(tmp_path, "cost", "bits = [12, 24]\n")
    assert {point["task"] for point in drawing.points} == {"12 bits", "24 bits"}
    for task in ("12 bits", "24 bits"):
        points = [(p["train_s"], p["ap"], p["is_on_front"]) for p in drawing.points if p["task"] == task]
        for seconds, ap, is_on_front in points:
            better = [p for p in points if p[0] <= seconds and p[1] >= ap and p[:2] != (seconds, ap)]
            assert is_on_front == (not better)
    axes = axes_of(drawing).axes
    assert [ax.get_xscale() for ax in axes] == ["log", "log"]
    named = [(ax.get_title(loc="left"), text.get_text()) for ax in axes for text in ax.texts]
    assert sorted(named) == sorted((p["task"], p["method"]) for p in drawing.points if p["is_on_front"])


def test_the_heat_map_has_a_number_for_each_rank_and_none_for_a_gap(tmp_path: Path) -> None:
    drawing = drawn(tmp_path, "tasks")
    (ax,) = axes_of(drawing).axes
    assert len(ax.texts) == len(drawing.points) == 4 * 6 - 2
    assert csv_text(drawing).startswith("method,settings,task,rank,of\n")


def test_methods_of_common_tasks_are_told_apart_by_the_test_of_nemenyi(tmp_path: Path) -> None:
    pytest.importorskip("scikit_posthocs")
    rows = [row(method, bits, 0, 0.1 * n + bits / 1e3) for n, method in enumerate(METHODS) for bits in range(8, 20)]
    declare(tmp_path, "leaderboard", 'shows = "difference"\n', "")
    drawing = filled(figures.load("tiny"), *rows)
    assert [point["mean_rank"] for point in drawing.points] == [1, 2, 3, 4]
    step = sqrt(4 * 5 / (6 * 12))  # of mean ranks over 12 tasks
    alike = [abs(a - b) <= studentized_range.ppf(0.95, 4, inf) / sqrt(2) * step for a in range(4) for b in range(4)]
    found = [b["method"] in str(a["like"]).split("; ") for a in drawing.points for b in drawing.points]
    assert found == alike and True in alike and False in alike
    (ax,) = axes_of(drawing).axes
    assert len(ax.texts) == 4


def test_a_diagram_says_why_it_is_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = drawn(tmp_path, "difference")
    assert drawing.missing == (
        "it has 6 tasks, and 2 methods have all of them: a test of mean ranks needs 10 tasks and 3 methods"
    )
    monkeypatch.setattr("hashbench.figures.leaderboard.find_spec", lambda _: None)
    rows = [row(method, bits, 0, 0.1) for method in METHODS for bits in range(8, 20)]
    assert "posthocs" in str(filled(figures.load("tiny"), *rows).missing)


def test_nothing_is_drawn_without_two_methods_and_a_wrong_kind_is_refused(tmp_path: Path) -> None:
    assert "no two methods" in str(drawn(tmp_path, "ranks", 'datasets = ["usps"]\n').missing)
    with pytest.raises(HashbenchError, match=r"kinds.*'supervised'"):
        drawn(tmp_path, "ranks", 'kinds = ["quantum"]\n')
