"""Lines over bits, k or a cutoff, and the bound of eq. 11."""

from itertools import combinations
from pathlib import Path

import pytest
from support.declared_figures import CELLS, axes_of, declare, filled, row_of, tiny
from support.one_line import one_line

from hashbench.showing import figures
from hashbench.showing.figures.lines import expected_speed_up as expected

SUF = """
[defaults]
dataset = "cifar100"
protocol = "sparse_hash"
method = "sparse_hash"
metric = "suf"
printed_as = "number"
budget = "paper"
settings = { model = "nin", base = "npairs", d = 64 }
[[groups]]
section = "d = 64: SUF"
columns = [{ label = "k = 1", settings = { k = 1 } }, { label = "k = 2", settings = { k = 2 } }]
rows = [{ label = "Ours" }]
"""


# The bound


@pytest.mark.parametrize("d, k", [(d, k) for d in range(1, 8) for k in range(1, d + 1)])
def test_the_bound_is_what_all_pairs_of_codes_give(d: int, k: int) -> None:
    codes = [set(code) for code in combinations(range(d), k)]
    sharing = sum(bool(a & b) for a in codes for b in codes)
    assert expected(d, k) == pytest.approx(len(codes) ** 2 / sharing, rel=1e-12)


def test_the_bound_alone_is_drawn_where_there_is_nothing_else(tmp_path: Path) -> None:
    drawing = filled(tiny(tmp_path, "lines", 'bound = "suf"\n', SUF))
    assert drawing.missing == "nothing is measured; drawn: the bound"
    assert [(point["x"], round(float(str(point["bound"])), 2)) for point in drawing.points] == [(1, 64.0), (2, 16.13)]
    (ax,) = axes_of(drawing).axes
    assert ax.get_yscale() == "log"  # a speed-up
    (line,) = ax.get_lines()
    assert list(line.get_xdata()) == [1, 2]
    assert list(line.get_ydata()) == pytest.approx([64, 2016 / 125])  # 125 of the 2,016 codes share a bucket with one


# Lines


def test_points_lie_in_the_order_of_the_axis(tmp_path: Path) -> None:
    figure = tiny(tmp_path, "lines")
    drawing = filled(figure, row_of(figure, "LSH", "24 bits", ap=0.4), row_of(figure, "LSH", "12 bits", ap=0.2))
    (ax,) = axes_of(drawing).axes
    published_lsh, published_itq = (line for line in ax.get_lines() if line.get_markerfacecolor() == "w")
    assert list(published_lsh.get_xdata()) == [12, 24] and list(published_lsh.get_ydata()) == [0.25, 0.5]
    assert list(published_itq.get_xdata()) == [24] and list(published_itq.get_ydata()) == [0.75]
    (measured,) = ax.containers
    assert list(measured[0].get_xdata()) == [12, 24] and list(measured[0].get_ydata()) == [0.2, 0.4]
    assert ax.get_title(loc="left") == "Digits"
    assert ax.get_xlabel() == "bits"
    assert ax.get_ylabel() == "AP"
    assert drawing.missing == "2 of 4 points are measured"


def test_the_bars_are_the_deviation_over_seeds(tmp_path: Path) -> None:
    figure = tiny(tmp_path, "lines")
    (ax,) = axes_of(filled(figure, *(row_of(figure, "LSH", "12 bits", s, ap=0.2 + 0.1 * s) for s in (0, 1)))).axes
    (segment,) = ax.containers[0][2][0].get_segments()
    assert segment[:, 1] == pytest.approx([0.25 - 0.0707107, 0.25 + 0.0707107])


def test_values_that_the_paper_prints_in_percent_are_drawn_in_percent(tmp_path: Path) -> None:
    cells = CELLS.replace("tie_aware = true", 'printed_as = "percent"')
    figure = tiny(tmp_path, "lines", "", cells)
    drawing = filled(figure, row_of(figure, "LSH", "12 bits", ap=0.2))
    (ax,) = axes_of(drawing).axes
    assert ax.get_ylabel() == "AP (%)"
    assert list(ax.containers[0][0].get_ydata()) == [20.0]
    assert drawing.points[0]["measured"] == 0.2  # the CSV has fractions


def test_a_cutoff_is_an_axis_too(tmp_path: Path) -> None:
    cells = CELLS.replace('metric = "ap"', "settings = { bits = 12 }").replace(
        'columns = [{ label = "24 bits", settings = { bits = 24 } }, { label = "12 bits", settings = { bits = 12 } }]',
        'columns = [{ label = "5", metric = "precision@5" }, { label = "10", metric = "precision@10" }]',
    )
    drawing = filled(tiny(tmp_path, "lines", "", cells))
    assert {(point["axis"], point["x"]) for point in drawing.points} == {
        ("retrieved items K", 5),
        ("retrieved items K", 10),
    }


def test_bytes_are_an_axis_whatever_the_bits_of_each_method(tmp_path: Path) -> None:
    cells = CELLS.replace('method = "lsh"', 'method = "rabitq"').replace("bits = 24", "bits = 128")
    figure = tiny(tmp_path, "lines", 'axis = "bytes"\npublished = false\n', cells.replace("bits = 12 ", "bits = 64 "))
    drawing = filled(figure, row_of(figure, "LSH", "24 bits", ap=0.4), row_of(figure, "ITQ", "24 bits", ap=0.5))
    assert {(point["series"], point["x"]) for point in drawing.points} >= {("LSH", 16 + 8), ("ITQ", 16)}
    (ax,) = axes_of(drawing).axes
    assert ax.get_xlabel() == "bytes of a vector"
    assert ax.get_xscale() == "log"


@pytest.mark.parametrize(
    "keys, cells, complaint",
    [
        (
            "",
            CELLS.replace("bits = 24", "bits = 12"),
            "one of bits, k and cutoff must vary by column, and every column must have it; none of them does",
        ),
        (
            "",
            CELLS.replace("settings = { bits = 24 } }", 'settings = { bits = 24 }, metric = "ap@5" }'),
            "and every column must have it; bits and cutoff does",
        ),
        ("", CELLS.replace(", settings = { bits = 24 }", ""), "and every column must have it; bits does"),
        ('bound = "suf"\n', CELLS, "section 'Digits: AP': the bound suf is a line over k at one d"),
        ('bound = "map"\n', SUF, "bound: Input should be 'suf'"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(tmp_path: Path, keys: str, cells: str, complaint: str) -> None:
    path = declare(tmp_path, "lines", keys, cells)
    with one_line() as error:
        figures.load("tiny")
    assert str(error.value).startswith(f"{path}: ") and complaint in str(error.value)


def test_published_values_of_another_network_are_left_out_on_request(tmp_path: Path) -> None:
    figure = tiny(tmp_path, "lines", "published = false\n")
    drawing = filled(figure, row_of(figure, "LSH", "12 bits", ap=0.3))
    assert {point["published"] for point in drawing.points} == {None}
    assert [point["measured"] for point in drawing.points] == [0.3, None, None, None]
    assert axes_of(drawing).get_supxlabel() == "Filled: measured, 1 seed of one split."
    nothing = filled(figure)
    assert nothing.points == []
    assert nothing.missing == "nothing is measured; nothing is drawn: the paper prints no values"


@pytest.mark.parametrize("keys, same", [("", False), ("one_scale = true\n", True)])
def test_panels_that_are_compared_have_one_scale(tmp_path: Path, keys: str, same: bool) -> None:
    second = CELLS.partition("[[groups]]")[2].replace("Digits: AP", "Other: AP")
    low = second.replace("[0.5, 0.25]", "[0.1, 0.05]").replace("0.75", "0.15")
    drawing = filled(tiny(tmp_path, "lines", "panels_across = 2\n" + keys, f"{CELLS}[[groups]]{low}"))
    one, other = axes_of(drawing).axes
    assert (one.get_ylim() == other.get_ylim()) is same
