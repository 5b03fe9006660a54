"""Measured against published: the cells with both and a tolerance, and the furthest off by name."""

from pathlib import Path

import pytest
from support.declared_figures import axes_of, declare
from support.fake_rows import row_of_cell

from hashbench import figures
from hashbench.figures import Drawing
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.tables import spec

TABLE = """title = "Small"
paper = "he2018tieaware"
source = "Table 0"
[defaults]
dataset = "digits"
protocol = "s1"
metric = "ap"
tie_aware = true
[[groups]]
section = "Digits"
tolerance = 0.05
columns = [{ label = "12 bits", settings = { bits = 12 } }, { label = "24 bits", settings = { bits = 24 } }]
rows = [
  { label = "LSH", method = "lsh", values = [0.5, 0.25] },
  { label = "ITQ", method = "itq", values = [0.75, "-"] },
]
[[groups]]
section = "without a tolerance"
columns = [{ label = "48 bits", settings = { bits = 48 } }]
rows = [{ label = "LSH", method = "lsh", values = [0.5] }]
"""
MEANS = {("LSH", "12 bits"): 0.9, ("LSH", "24 bits"): 0.26, ("ITQ", "24 bits"): 0.8, ("LSH", "48 bits"): 0.1}


def row_at(row: str, column: str, mean: float) -> Row:
    (cell,) = (each for each in spec.load("small").cells if (each.row, each.column) == (row, column))
    return row_of_cell(cell, ap=mean)


def drawing(folder: Path, keys: str = 'tables = ["small"]\n', measured: bool = True) -> Drawing:
    declare(folder, "agreement", keys, "")
    path = folder / "root" / "experiments" / "tables" / "small.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TABLE)
    rows = [row_at(*place, mean) for place, mean in MEANS.items()] if measured else []
    return figures.load("tiny").fill(rows, Store.default())


def test_a_point_is_a_cell_with_both_values_and_a_tolerance(tmp_path: Path) -> None:
    points = drawing(tmp_path).points
    assert [(point["row"], point["column"], point["published"], point["measured"]) for point in points] == [
        ("LSH", "12 bits", 0.5, 0.9),
        ("LSH", "24 bits", 0.25, 0.26),
    ]
    assert [point["within_tolerance"] for point in points] == [False, True]
    assert {point["table"] for point in points} == {"small"}


def test_the_furthest_off_have_numbers_and_names(tmp_path: Path) -> None:
    figure = axes_of(drawing(tmp_path, 'tables = ["small"]\nnamed = 1\n'))
    (ax,) = figure.axes
    (number,) = ax.texts
    assert (number.get_text(), number.xy) == ("1", (0.5, 0.9))
    assert figure.get_supxlabel() == (
        "Line: equal. Grey: the tolerance of 0.05 around it. Furthest off:\n"
        "1  LSH, 12 bits, Digits: 0.500, measured 0.900"
    )
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "within the tolerance: 1",
        "outside the tolerance: 1",
    ]
    assert ax.get_xlim() == ax.get_ylim()


def test_where_nothing_is_measured_nothing_is_drawn(tmp_path: Path) -> None:
    found = drawing(tmp_path, measured=False)
    assert (list(found.points), found.n_measured) == ([], 0)
    assert found.missing == "nothing is measured that has a published value with a tolerance; nothing is drawn"


def test_an_unknown_table_is_one_line(tmp_path: Path) -> None:
    path = declare(tmp_path, "agreement", 'tables = ["talr_tabel1"]\n', "")
    with pytest.raises(HashbenchError) as error:
        figures.load("tiny")
    assert str(error.value).startswith(f"{path}: tables: unknown table 'talr_tabel1': did you mean talr_table1")
