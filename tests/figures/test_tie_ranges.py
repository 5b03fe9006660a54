"""Tie ranges: a bar from the worst to the best AP, a dot at the tie-aware one, the same scale in all panels."""

from pathlib import Path

import pytest
from support.declared_figures import CELLS, axes_of, declare, filled, row_of, tiny
from support.one_line import one_line
from support.searches import search_of

from hashbench.showing import figures
from hashbench.showing.figures import drawing_of_table
from hashbench.showing.figures._panels import DOT
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import collect


def test_a_bar_is_the_range_and_a_dot_the_tie_aware_value(tmp_path: Path) -> None:
    figure = tiny(tmp_path, "tie_ranges")
    rows = [
        row_of(figure, "LSH", "12 bits", ap=0.25, ap_worst=0.15, ap_best=0.79),
        row_of(figure, "ITQ", "24 bits", ap=0.5, ap_worst=0.4, ap_best=0.55),
    ]
    drawn = axes_of(filled(figure, *rows))
    long, short = drawn.axes
    assert [ax.get_title(loc="left") for ax in drawn.axes] == ["24 bits", "12 bits"]
    assert [label.get_text() for label in long.get_yticklabels()] == ["LSH", "ITQ"]
    (bar,) = short.patches
    assert (bar.get_x(), bar.get_x() + bar.get_width()) == pytest.approx((0.15, 0.79))
    assert bar.get_y() + bar.get_height() / 2 == pytest.approx(0)  # LSH is the first row
    dots = {(round(float(line.get_xdata()[0]), 3), line.get_markerfacecolor()) for line in short.get_lines()}
    assert dots == {(0.25, DOT), (0.25, "none")}  # measured, and published
    assert short.get_xlim() == long.get_xlim()
    assert short.get_xlim()[0] < 0.15 and short.get_xlim()[1] > 0.79  # no bar ends on the frame


def test_a_search_sorts_the_rows_and_draws_what_its_trials_bring(tmp_path: Path) -> None:
    search_of({"lsh": [[0.1, 0.1], [0.5, 0.3]], "itq": [[0.2, 0.2]]}).save()
    figure = tiny(tmp_path, "tie_ranges", 'searches = ["small"]\n')
    rows = [
        row_of(figure, "LSH", "12 bits", ap=0.25, ap_worst=0.15, ap_best=0.79),
        row_of(figure, "ITQ", "12 bits", ap=0.5, ap_worst=0.4, ap_best=0.55),
    ]
    drawing = filled(figure, *rows)
    other, panel = axes_of(drawing).axes
    assert [label.get_text() for label in other.get_yticklabels()] == ["ITQ", "LSH"]
    lines = [line.get_xdata() for line in panel.get_lines() if line.get_marker() == "|" and len(line.get_xdata()) == 2]
    assert [list(map(float, each)) for each in lines[-2:]] == [pytest.approx([0.2, 0.2]), pytest.approx([0.25, 0.4])]
    (lsh,) = [point for point in drawing.points if point["series"] == "LSH" and point["x"] == 12]
    assert (lsh["one_trial"], lsh["all_trials"]) == pytest.approx((0.25, 0.4))


def test_rows_that_are_far_apart_have_a_scale_of_their_own(tmp_path: Path) -> None:
    figure = tiny(tmp_path, "tie_ranges", 'apart = ["LSH"]\nis_sorted = true\npublished = false\n')
    rows = [
        row_of(figure, "LSH", "12 bits", ap=0.25, ap_worst=0.15, ap_best=0.3),
        row_of(figure, "ITQ", "24 bits", ap=0.95, ap_worst=0.94, ap_best=0.97),
        row_of(figure, "ITQ", "12 bits", ap=0.92, ap_worst=0.9, ap_best=0.95),
    ]
    drawn = axes_of(filled(figure, *rows)).axes
    named = [[label.get_text() for label in ax.get_yticklabels()] for ax in drawn]
    assert named == [["ITQ"], [], ["LSH"], []]  # a row of panels has its labels at the left
    above, also_above, below, also_below = drawn
    assert above.get_xlim() == also_above.get_xlim() and 0.8 < above.get_xlim()[0] < 0.9
    assert below.get_xlim() == also_below.get_xlim() and below.get_xlim()[1] < 0.4


def test_a_figure_is_the_picture_of_the_table_that_names_it(tmp_path: Path) -> None:
    cells = CELLS.replace(", values = [0.5, 0.25]", "").replace(', values = [0.75, "-"]', "")
    figure = tiny(tmp_path, "tie_ranges", "", cells)
    declared = tmp_path / "root" / "experiments" / "tables" / "tiny.toml"
    declared.parent.mkdir()
    declared.write_text(f'title = "Tiny"\npicture = "tiny"\n{cells}')
    table = spec.load("tiny")
    assert drawing_of_table(collect(table, [], None)) is None
    rows = [row_of(figure, "LSH", "12 bits", ap=0.25, ap_worst=0.15, ap_best=0.79)]
    drawing = drawing_of_table(collect(table, rows, None))
    assert drawing is not None and drawing.points == filled(figure, *rows).points
    (bar,) = [bar for ax in axes_of(drawing).axes for bar in ax.patches]
    assert (bar.get_x(), bar.get_width()) == pytest.approx((0.15, 0.64))
    assert table.at_budget("full").picture is None


def test_where_nothing_is_measured_the_published_values_stand_without_ranges(tmp_path: Path) -> None:
    drawing = filled(tiny(tmp_path, "tie_ranges"))
    assert drawing.missing == (
        "nothing is measured; drawn: the published tie-aware mAP, without ranges, which the paper does not print"
    )
    assert [len(ax.patches) for ax in axes_of(drawing).axes] == [0, 0]
    assert [point["published"] for point in drawing.points] == [0.5, 0.75, 0.25, None]


@pytest.mark.parametrize(
    "cells, complaint",
    [
        (
            CELLS.replace('metric = "ap"', 'metric = "ndcg"'),
            "cell (LSH, 24 bits) has metric ndcg, evaluation database: tie_ranges draws ap of the database",
        ),
        (
            CELLS.replace(", settings = { bits = 24 }", ""),
            "cell (LSH, 24 bits) has no bits: tie_ranges has a panel for each number",
        ),
    ],
)
def test_what_has_no_range_is_one_line(tmp_path: Path, cells: str, complaint: str) -> None:
    path = declare(tmp_path, "tie_ranges", "", cells)
    with one_line() as error:
        figures.load("tiny")
    assert str(error.value) == f"{path}: {complaint}"
