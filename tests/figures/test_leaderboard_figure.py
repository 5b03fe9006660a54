"""The picture of a panel shows its ranges and pairs; that of cost names every dot, and no name lies on another."""

from itertools import combinations, product
from pathlib import Path

import pytest
from support.declared_figures import axes_of, declare, filled, row_of
from support.fake_rows import row_of_cell

from hashbench import figures
from hashbench.figures._drawing import _drawn
from hashbench.figures._looks import METHODS, look_of, looks_of
from hashbench.foundation.errors import HashbenchError
from hashbench.methods import METHODS as INSTALLED
from hashbench.runs.row import Row, Seconds
from hashbench.tables import spec
from hashbench.tables.leaderboard import leaderboard, tables_of

BOARD = """
[panels.tiny]
question = "Which is best?"
repeats = 3
blocks = [{ table = "ranked", section = "AP", bits = [8, 12] }]
"""
TABLE = """
title = "Ranked"
[defaults]
dataset = "digits"
protocol = "s1"
metric = "ap"
[[groups]]
section = "AP"
columns = [{ label = "8 bits", settings = { bits = 8 } }, { label = "12 bits", settings = { bits = 12 } }]
rows = [{ label = "LSH", method = "lsh" }, { label = "ITQ", method = "itq" }, { label = "AGH", method = "agh" }]
"""
APS = {"lsh": (0.3, 0.5, 0.43), "itq": (0.4, 0.45, 0.35), "agh": (0.1, 0.2, 0.1)}


def ranked(folder: Path) -> list[Row]:
    declare(folder, "leaderboard", 'panel = "tiny"\n', "")
    experiments = folder / "root" / "experiments"
    (experiments / "tables").mkdir()
    (experiments / "leaderboard.toml").write_text(BOARD)
    (experiments / "tables" / "ranked.toml").write_text(TABLE)
    cells = spec.load("ranked").cells
    return [row_of_cell(cell, seed, ap=ap) for cell in cells for seed, ap in enumerate(APS[cell.method])]


def test_ranges_and_pairs_are_those_of_the_panel(tmp_path: Path) -> None:
    rows = ranked(tmp_path)
    drawing = filled(figures.load("tiny"), *rows)
    (panel,) = leaderboard(tables_of(rows), ["tiny"])
    ranges = [(line.low, line.high) for line in panel.lines]
    assert [(point["rank_low"], point["rank_high"]) for point in drawing.points] == ranges
    figure = axes_of(drawing)
    ranks, pairs = figure.axes
    bars = [tuple(line.get_xdata()) for line in ranks.lines if len(line.get_xdata()) == 2]
    assert bars == ranges and bars[0] == (1, 2)
    assert [label.get_text() for label in ranks.get_yticklabels()] == ["1. LSH", "2. ITQ", "3. AGH"]
    shown = {text.get_position(): text.get_text() for text in pairs.texts}
    assert shown == {(1, 0): f"{100 * panel.beats[0, 1]:.0f}", (0, 1): f"{100 * panel.beats[1, 0]:.0f}"}
    below = " ".join(figure.get_supxlabel().split())
    assert "digits s1: 8, 12 bits" in below and "Borda" in below and "ONE split" in below


def test_an_unknown_panel_and_one_without_rows(tmp_path: Path) -> None:
    ranked(tmp_path)
    assert "no method has all tasks of the panel tiny" in str(filled(figures.load("tiny")).missing)
    declare(tmp_path, "leaderboard", 'panel = "tinny"\n', "")
    with pytest.raises(HashbenchError, match=r"tiny.toml: panel: unknown panel 'tinny'"):
        figures.load("tiny")


CROWD = """
[defaults]
dataset = "digits"
protocol = "s1"
metric = "ap"
[[groups]]
section = "AP"
columns = [{ label = "12 bits", settings = { bits = 12 } }]
"""


def test_each_dot_has_its_name_and_no_name_lies_on_another(tmp_path: Path) -> None:
    methods = ("lsh", "itq", "spherical", "agh", "sgh", "imh", "cbe", "sklsh", "isohash", "pca_sign")
    rows = ", ".join(f'{{ label = "{method}", method = "{method}" }}' for method in methods)
    declare(tmp_path, "cost", "", f"{CROWD}rows = [{rows}]\n")
    figure = figures.load("tiny")
    made = []
    for place, method in enumerate(methods):  # a crowd: they differ by a hundredth in seconds and in AP
        row = row_of(figure, method, "12 bits", ap=0.5 + 0.001 * (place % 3))
        made.append(row.model_copy(update={"seconds": Seconds(train=10 + 0.1 * place, encode=1, score=1)}))
    far = row_of(figure, "lsh", "12 bits", ap=0.9)
    made[0] = far.model_copy(update={"seconds": Seconds(train=1000, encode=1, score=1)})
    drawing = filled(figure, *made)
    for point, other in product(drawing.points, drawing.points):
        is_better = other["train_s"] < point["train_s"] and other["ap"] > point["ap"]  # type: ignore[operator]
        assert not (point["is_on_front"] and is_better)
    with _drawn(drawing, 200) as laid_out:
        (ax,) = laid_out.axes
        boxes = {text.get_text(): text.get_window_extent() for text in ax.texts}
        assert set(boxes) == {*methods}
        assert not any(a.overlaps(b) for a, b in combinations(boxes.values(), 2))
        assert ax.get_xscale() == "log"


def test_cost_refuses_two_cells_of_a_row(tmp_path: Path) -> None:
    declare(tmp_path, "cost")
    with pytest.raises(HashbenchError, match="row 'LSH' has several cells"):
        figures.load("tiny")


def test_every_method_has_a_look_of_its_own_in_all_figures() -> None:
    assert set(INSTALLED.names) <= set(METHODS), "a new method is written at the end of hashbench/figures/_looks.py"
    looks = [look_of(method) for method in METHODS]
    assert len({(look["color"], look["marker"]) for look in looks}) == len(METHODS)
    shown = looks_of({"A": "dpsh", "OrthoHash, cosine": "orthohash", "OrthoHash, arc": "orthohash"})
    assert shown["A"] == looks_of({"B": "itq", "DPSH": "dpsh"})["DPSH"]
    cosine, arc = shown["OrthoHash, cosine"], shown["OrthoHash, arc"]
    assert cosine["color"] == arc["color"] and cosine["linestyle"] != arc["linestyle"]
    foreign = look_of("mine")
    assert foreign == look_of("mine") and foreign not in looks
