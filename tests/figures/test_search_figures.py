"""The figure of a search: the best AP of validation queries after k trials."""

from pathlib import Path

import pytest
from matplotlib.text import Text
from support.declared_figures import axes_of, declare
from support.one_line import one_line
from support.searches import SPACES, search_of

from hashbench.running.runs.store import Store
from hashbench.showing import figures
from hashbench.showing.figures import Drawing, search_curves

SCORES = {
    "lsh": [[0.4, 0.2], [0.1, 0.1], [0.5, 0.4], [None, None], [0.3, 0.3], [0.35, 0.35]],
    "itq": [[0.6, 0.6], [0.2, 0.2]],
}


def drawn(folder: Path, more: str = "") -> Drawing:
    declare(folder, "search_curves", f'search = "small"\n{more}', cells="")
    figure = figures.load("tiny")
    store = Store.default()
    return figure.fill([], store)


def test_the_lines_are_the_expected_best_of_k_trials(tmp_path: Path) -> None:
    search_of(SCORES).save()
    drawing = drawn(tmp_path)
    points = {(point["method"], point["trials"]): point for point in drawing.points}
    assert len(points) == 6 + 2
    assert points["ITQ", 1]["best_ap"] == pytest.approx(0.4) and points["ITQ", 1]["std"] == pytest.approx(0.2)
    assert points["ITQ", 2]["best_ap"] == pytest.approx(0.6)
    assert points["ITQ", 2]["std"] == pytest.approx(0, abs=1e-6)
    assert points["LSH", 1]["best_ap"] == pytest.approx((0.3 + 0.1 + 0.45 + 0 + 0.3 + 0.35) / 6)
    assert points["LSH", 6]["best_ap"] == pytest.approx(0.45)


def test_the_lines_of_two_stages_are_of_the_first_study_which_all_trials_have(tmp_path: Path) -> None:
    search_of({"lsh": [[0.4, 0.2, 0.2], [0.5, 0.4, 0.3], [0.1], [None]]}, splits=5).save()
    drawing = drawn(tmp_path)
    assert [point["best_ap"] for point in drawing.points][::3] == [pytest.approx(0.25), pytest.approx(0.5)]
    figure = axes_of(drawing)
    texts = " ".join(text.get_text() for text in figure.findobj(Text))
    assert "A trial has the mAP of the first repeat; later trials lie" in texts.replace("\n", " ")


@pytest.mark.parametrize("scores", [None, {}])
def test_a_search_that_is_not_here_or_is_empty_gives_a_figure_that_says_so(
    tmp_path: Path, scores: dict[str, list[list[float | None]]] | None
) -> None:
    if scores is not None:
        search_of(scores, spaces={"itq": SPACES["itq"]}).save()
    drawing = drawn(tmp_path)
    assert not list(drawing.points) and drawing.n_measured == 0


def test_a_figure_can_name_its_methods(tmp_path: Path) -> None:
    search_of(SCORES).save()
    assert {point["method"] for point in drawn(tmp_path, 'methods = ["lsh"]\n').points} == {"LSH"}
    none = drawn(tmp_path, 'methods = ["ksh"]\n')
    assert not list(none.points) and none.n_measured == 0
    with one_line("unknown method 'lhs': did you mean lsh"):
        drawn(tmp_path, 'methods = ["lhs"]\n')


@pytest.mark.parametrize("most, n_bands", [(2, 2), (1, 0)])
def test_many_lines_have_no_bands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, n_bands: int) -> None:
    monkeypatch.setattr(search_curves, "MOST_BANDS", most)
    search_of(SCORES).save()
    drawing = drawn(tmp_path)
    figure = axes_of(drawing)
    assert len(figure.axes[0].collections) == n_bands


def test_the_best_lines_are_drawn_and_the_others_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_curves, "MOST_LINES", 1)
    search_of(SCORES).save()
    drawing = drawn(tmp_path)
    figure = axes_of(drawing)
    assert {point["method"] for point in drawing.points} == {"ITQ"}
    assert "Drawn are the best 1; left out: 1 other." in " ".join(figure.get_supxlabel().split())
