"""The two figures of a search: the best held-out AP after k trials, and what each setting explains."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from support.declared_figures import declare
from support.searches import SPACES, search_of

from hashbench import figures
from hashbench.figures import Drawing, search_curves
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.store import Store

SCORES = {
    "lsh": [[0.4, 0.2], [0.1, 0.1], [0.5, 0.4], [None, None], [0.3, 0.3], [0.35, 0.35]],
    "itq": [[0.6, 0.6], [0.2, 0.2]],
}


def drawn(folder: Path, kind: str, more: str = "") -> Drawing:
    declare(folder, kind, f'search = "small"\n{more}', cells="")
    figure = figures.load("tiny")
    store = Store.default()
    return figure.fill([], store)


def test_the_lines_are_the_expected_best_of_k_trials(tmp_path: Path) -> None:
    search_of(SCORES).save()
    found = drawn(tmp_path, "search_curves")
    points = {(point["method"], point["trials"]): point for point in found.points}
    assert len(points) == 6 + 2
    assert points["ITQ", 1]["best_ap"] == pytest.approx(0.4) and points["ITQ", 1]["std"] == pytest.approx(0.2)
    assert (points["ITQ", 2]["best_ap"], points["ITQ", 2]["std"]) == (pytest.approx(0.6), pytest.approx(0, abs=1e-6))
    assert points["LSH", 1]["best_ap"] == pytest.approx((0.3 + 0.1 + 0.45 + 0 + 0.3 + 0.35) / 6)
    assert points["LSH", 6]["best_ap"] == pytest.approx(0.45)


def test_the_lines_of_two_stages_are_of_the_first_study_which_all_trials_have(tmp_path: Path) -> None:
    search_of({"lsh": [[0.4, 0.2, 0.2], [0.5, 0.4, 0.3], [0.1], [None]]}, splits=5).save()
    found = drawn(tmp_path, "search_curves")
    assert [point["best_ap"] for point in found.points][::3] == [pytest.approx(0.25), pytest.approx(0.5)]
    found.draw(figure := Figure(figsize=found.size_in))
    texts = " ".join(text.get_text() for text in figure.findobj(Text))
    assert "A trial has the AP of the first study; later trials lie" in texts.replace("\n", " ")


def test_what_a_setting_explains_needs_some_trials(tmp_path: Path) -> None:
    search_of(SCORES).save()
    found = drawn(tmp_path, "search_importance")
    assert [(point["method"], point["setting"]) for point in found.points] == [("LSH", "centre")]
    assert all(0 <= float(str(point["explained"])) <= 1 for point in found.points)


@pytest.mark.parametrize("kind", ["search_curves", "search_importance"])
def test_a_search_that_is_not_here_or_is_empty_gives_a_figure_that_says_so(tmp_path: Path, kind: str) -> None:
    for scores in (None, {}, {"itq": [[0.5], [0.4]]} if kind == "search_importance" else {}):
        if scores is not None:
            search_of(scores, spaces={"itq": SPACES["itq"]}).save()
        found = drawn(tmp_path, kind)
        assert not list(found.points) and found.n_measured == 0


@pytest.mark.parametrize("kind", ["search_curves", "search_importance"])
def test_they_are_drawn(tmp_path: Path, kind: str) -> None:
    search_of(SCORES).save()
    found = drawn(tmp_path, kind)
    from matplotlib.figure import Figure

    found.draw(figure := Figure(figsize=found.size_in))
    figure.savefig(tmp_path / "x.png")
    texts = " ".join(text.get_text() for text in figure.findobj(lambda each: hasattr(each, "get_text")))
    assert "LSH" in texts and ("ITQ" in texts) == (kind == "search_curves")


@pytest.mark.parametrize("kind", ["search_curves", "search_importance"])
def test_a_figure_can_name_its_methods(tmp_path: Path, kind: str) -> None:
    search_of(SCORES).save()
    assert {point["method"] for point in drawn(tmp_path, kind, 'methods = ["lsh"]\n').points} == {"LSH"}
    none = drawn(tmp_path, kind, 'methods = ["ksh"]\n')
    assert not list(none.points) and none.n_measured == 0
    with pytest.raises(HashbenchError, match="unknown method 'lhs': did you mean lsh"):
        drawn(tmp_path, kind, 'methods = ["lhs"]\n')


@pytest.mark.parametrize(("most", "n_bands"), [(2, 2), (1, 0)])
def test_many_lines_have_no_bands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, n_bands: int) -> None:
    from matplotlib.figure import Figure

    monkeypatch.setattr(search_curves, "MOST_BANDS", most)
    search_of(SCORES).save()
    found = drawn(tmp_path, "search_curves")
    found.draw(figure := Figure(figsize=found.size_in))
    assert len(figure.axes[0].collections) == n_bands


def test_the_best_lines_are_drawn_and_the_others_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    monkeypatch.setattr(search_curves, "MOST_LINES", 1)
    search_of(SCORES).save()
    found = drawn(tmp_path, "search_curves")
    found.draw(figure := Figure(figsize=found.size_in))
    assert {point["method"] for point in found.points} == {"ITQ"}
    assert "Drawn are the best 1; left out: 1 other." in " ".join(figure.get_supxlabel().split())
