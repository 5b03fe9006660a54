"""Precision over retrieved items and against recall: of the histograms that runs have kept, never of others."""

from pathlib import Path

import numpy as np
import pytest
from support.declared_figures import CELLS, ONE_COLUMN, axes_of, declare, filled, row_of, tiny
from support.one_line import one_line

from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.scoring.histogram import Histogram
from hashbench.showing import figures
from hashbench.showing.figures import FigureSpec

# one query, four items: a relevant one alone, then a tie of a relevant one and two others
FIRST = Histogram(np.array([[[0, 1], [2, 1]]]), np.array([0, 1]))
SECOND = Histogram(np.array([[[1, 0], [1, 2]]]), np.array([0, 1]))


def kept(figure: FigureSpec, row: str, histogram: Histogram, seed: int = 0) -> Row:
    """The row of a run of the method, whose histogram lies in its folder."""
    found = row_of(figure, row, "12 bits", seed, ap=0.5)
    path = Store.default().run_folder(found.run) / "histogram.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    histogram.save(path)
    return found.model_copy(update={"artefacts": {"histogram": histogram.sha256()}})


def test_the_curves_are_those_of_the_histogram(tmp_path: Path) -> None:
    figure = tiny(tmp_path, "curves", "", ONE_COLUMN)
    drawing = filled(figure, kept(figure, "LSH", FIRST))
    points = [(point["curve"], point["x"], round(float(point["precision"] or 0), 6)) for point in drawing.points]
    assert points == [
        ("retrieved", 1.0, 1.0),
        ("retrieved", 2.0, 0.666667),  # the second item is relevant in one of three orders
        ("retrieved", 3.0, 0.555556),
        ("retrieved", 4.0, 0.5),
        ("recall", 0.5, 1.0),
        ("recall", 1.0, 0.5),
    ]
    assert drawing.n_measured == 1
    assert drawing.missing == "1 of 2 methods are measured"
    by_rank, by_recall = axes_of(drawing).axes
    assert [len(ax.get_lines()) for ax in (by_rank, by_recall)] == [1, 1]


def test_several_runs_give_their_mean(tmp_path: Path) -> None:
    figure = tiny(tmp_path, "curves", "", ONE_COLUMN)
    drawing = filled(figure, kept(figure, "LSH", FIRST), kept(figure, "LSH", SECOND, 1))
    first = drawing.points[0]
    assert first["precision"] == pytest.approx((1 + 0) / 2)
    assert first["n_runs"] == 2


def test_without_the_histograms_nothing_is_drawn_or_removed(tmp_path: Path) -> None:
    figure = tiny(tmp_path, "curves", "", ONE_COLUMN)
    row = row_of(figure, "LSH", "12 bits", ap=0.5)
    drawing = filled(figure, row, kept(figure, "ITQ", FIRST))
    assert drawing.keeps_files and not drawing.points
    assert drawing.missing is not None
    assert drawing.missing.startswith(f"not drawn here: {Store.default().run_folder(row.run)}: the working files of ")
    assert drawing.missing.endswith("this trains it again: hashbench train lsh digits --protocol s1 --bits 12 --again")


def test_a_histogram_of_other_codes_is_not_drawn(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    figure = tiny(tmp_path, "curves", "", ONE_COLUMN)
    row = kept(figure, "LSH", FIRST).model_copy(update={"artefacts": {"histogram": SECOND.sha256()}})
    drawing = filled(figure, row)
    assert drawing.keeps_files and not drawing.points
    assert "not the histogram that the row was scored from (SHA-256 differs)" in caplog.text


@pytest.mark.parametrize(
    "cells, complaint",
    [
        (CELLS, "row 'LSH' has 2 cells; curves draws one of each row"),
        (
            ONE_COLUMN.replace('method = "itq"', 'method = "itq", section = "other"'),
            "several sections or data sets; a figure of curves shows one",
        ),
    ],
)
def test_what_is_no_single_curve_is_one_line(tmp_path: Path, cells: str, complaint: str) -> None:
    path = declare(tmp_path, "curves", "", cells)
    with one_line() as error:
        figures.load("tiny")
    assert str(error.value) == f"{path}: {complaint}"
