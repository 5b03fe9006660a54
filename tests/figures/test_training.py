"""The fall of the loss and the learning rate: of the logs that runs have kept."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.declared_figures import CELLS, ONE_COLUMN, axes_of, declare, filled, row_of, tiny

from hashbench import figures
from hashbench.figures import FigureSpec
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.row import Row
from hashbench.runs.store import Store


def logged(figure: FigureSpec, row: str, losses: Sequence[float], seed: int = 0) -> Row:
    """The row of a run of the method, whose log with these losses lies in its folder."""
    found = row_of(figure, row, "12 bits", seed, ap=0.5)
    path = Store.default().run_folder(found.run) / "metrics.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"epoch": epoch, "loss": loss, "lr": 0.5 / (1 + epoch)} for epoch, loss in enumerate(losses)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return found


def test_the_loss_goes_from_one_to_zero_whatever_its_sign_and_unit(tmp_path: Path) -> None:
    figure = tiny(tmp_path, "training", "", ONE_COLUMN)
    drawing = filled(figure, logged(figure, "LSH", [10.0, 4.0, 2.0]), logged(figure, "ITQ", [-1.0, -3.0, -5.0]))
    left = [(point["series"], point["epoch"], point["loss"], point["left"]) for point in drawing.points]
    assert left == [
        ("LSH", 1, 10.0, 1.0),
        ("LSH", 2, 4.0, 0.25),
        ("LSH", 3, 2.0, 0.0),
        ("ITQ", 1, -1.0, 1.0),
        ("ITQ", 2, -3.0, 0.5),
        ("ITQ", 3, -5.0, 0.0),
    ]
    assert [point["lr"] for point in drawing.points][:3] == [0.5, 0.25, pytest.approx(1 / 6)]
    assert (drawing.n_measured, drawing.missing) == (2, None)
    losses, rates = axes_of(drawing).axes
    assert [line.get_ydata().tolist() for line in losses.get_lines()] == [[1.0, 0.25, 0.0], [1.0, 0.5, 0.0]]
    assert [len(line.get_xdata()) for line in rates.get_lines()] == [3, 3]


def test_several_runs_give_their_mean_and_their_range(tmp_path: Path) -> None:
    figure = tiny(tmp_path, "training", "", ONE_COLUMN)
    drawing = filled(figure, logged(figure, "LSH", [10.0, 4.0, 2.0]), logged(figure, "LSH", [10.0, 6.0, 2.0], 1))
    point = drawing.points[1]
    assert [point[key] for key in ("loss", "left", "least", "most", "n_runs")] == [5.0, 0.375, 0.25, 0.5, 2]
    assert drawing.missing == "1 of 2 methods are measured"


def test_a_loss_that_does_not_fall_is_not_drawn(tmp_path: Path) -> None:
    figure = tiny(tmp_path, "training", "", ONE_COLUMN)
    drawing = filled(figure, logged(figure, "LSH", [2.0, 2.0]), logged(figure, "ITQ", [2.0]))
    assert [(point["left"], point["loss"]) for point in drawing.points] == [(None, 2.0)] * 3
    axes_of(drawing)


def test_without_the_logs_nothing_is_drawn_or_removed(tmp_path: Path) -> None:
    figure = tiny(tmp_path, "training", "", ONE_COLUMN)
    drawing = filled(figure, row_of(figure, "LSH", "12 bits", ap=0.5))
    assert drawing.keeps_files and not drawing.points
    assert drawing.missing is not None and drawing.missing.startswith("not drawn here: ")
    nothing = filled(figure)
    assert (list(nothing.points), nothing.missing) == ([], "nothing is measured; nothing is drawn")


def test_several_cells_in_a_row_are_one_line(tmp_path: Path) -> None:
    path = declare(tmp_path, "training", "", CELLS)
    with pytest.raises(HashbenchError) as error:
        figures.load("tiny")
    assert str(error.value) == f"{path}: row 'LSH' has several cells; a figure of curves draws one run of each row"
