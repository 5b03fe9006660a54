"""The three pictures of the leaderboard: their points, and what is drawn."""

from pathlib import Path

import pytest
from support.declared_figures import axes_of, declare, filled
from tables.test_leaderboard import measured

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
    assert [(point["method"], point["mean_rank"]) for point in drawing.points] == [(of.label, of.rank) for of in lines]
    (ax,) = axes_of(drawing).axes
    bars = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
    assert [tuple(bar) for bar in bars] == [line.interval for line in lines]


def test_the_front_is_of_methods_that_none_beats_in_time_and_ap(tmp_path: Path) -> None:
    drawing = drawn(tmp_path, "cost", "bits = [12, 24]\n")
    assert {point["task"] for point in drawing.points} == {"12 bits", "24 bits"}
    for task in ("12 bits", "24 bits"):
        points = [(p["train_s"], p["ap"], p["is_on_front"]) for p in drawing.points if p["task"] == task]
        for seconds, ap, is_on_front in points:
            better = [p for p in points if p[0] <= seconds and p[1] >= ap and p[:2] != (seconds, ap)]
            assert is_on_front == (not better)
    assert [ax.get_xscale() for ax in axes_of(drawing).axes] == ["log", "log"]


def test_the_heat_map_has_a_number_for_each_rank_and_none_for_a_gap(tmp_path: Path) -> None:
    drawing = drawn(tmp_path, "tasks")
    (ax,) = axes_of(drawing).axes
    assert len(ax.texts) == len(drawing.points) == 4 * 6 - 2
    assert csv_text(drawing).startswith("method,settings,task,rank,of\n")


def test_nothing_is_drawn_without_two_methods_and_a_wrong_kind_is_refused(tmp_path: Path) -> None:
    assert "no two methods" in str(drawn(tmp_path, "ranks", 'datasets = ["usps"]\n').missing)
    with pytest.raises(HashbenchError, match="kinds: unknown kind of method 'quantum'"):
        drawn(tmp_path, "ranks", 'kinds = ["quantum"]\n')
