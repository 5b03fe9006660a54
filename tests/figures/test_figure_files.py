"""Files of figures are read strictly: whatever is wrong is one line that names the file."""

from pathlib import Path

import pytest
from support.declared_figures import CELLS, declare
from support.one_line import one_line

from hashbench.showing import figures

TABLE = 'table = "talr_table1"\n'


@pytest.mark.parametrize(
    "kind, keys, cells, complaint",
    [
        ("lines", "", "", "either table, the name of a table, or groups of its own cells are expected"),
        ("lines", TABLE, CELLS, "either table, the name of a table, or groups of its own cells are expected"),
        ("lins", "", CELLS, "kind: unknown kind of figure 'lins': did you mean lines?"),
        ("lines", "colour = 3\n", CELLS, "unknown key 'colour': did you mean "),
        ("lines", 'width = "wide"\n', CELLS, "width: "),
        ("lines", "panels_across = 0\n", CELLS, "panels_across: "),
        ("lines", TABLE + 'sections = ["CIFAR"]\n', "", "sections: unknown section of table talr_table1 'CIFAR': "),
        (
            "lines",
            TABLE + 'rows = ["TALR"]\n',
            "",
            "rows: unknown row of table talr_table1 'TALR': did you mean TALR-AP?",
        ),
        ("lines", TABLE + 'columns = ["9 bits"]\n', "", "columns: unknown column of table talr_table1 '9 bits': "),
        ("lines", "", CELLS.replace("[0.5, 0.25]", "[0.5]"), "row 'LSH' has 1 values for 2 columns"),
        ("lines", "", CELLS.replace('metric = "ap"', "metric = 3"), "metric: "),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, kind: str, keys: str, cells: str, complaint: str) -> None:
    path = declare(tmp_path, kind, keys, cells)
    with one_line() as error:
        figures.load("tiny")
    assert str(error.value).startswith(str(path)) and complaint in str(error.value)


def test_a_file_without_a_kind_is_one_line(tmp_path: Path) -> None:
    path = declare(tmp_path, "lines")
    path.write_text(path.read_text().replace('kind = "lines"\n', ""))
    with one_line("kind: unknown kind of figure '': one of cost, curves"):
        figures.load("tiny")


def test_a_name_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    declare(tmp_path, "lines", "", CELLS.replace('"itq"', '"iqt"'))
    with one_line("unknown method 'iqt': did you mean itq"):
        figures.load("tiny")


def test_an_unknown_figure_is_answered_with_the_nearest() -> None:
    with one_line(r"unknown figure 'talr-figur3': did you mean talr_figure3"):
        figures.load("talr-figur3")


def test_cells_are_those_of_the_table_before_those_of_the_figure() -> None:
    assert len(figures.cells_of("structhash_figure1").cells) == 198
    assert figures.cells_of("talr-figure3").name == "talr_figure3"
    with one_line("unknown table 'talr_figure9': did you mean talr_figure3"):
        figures.cells_of("talr_figure9")
    with one_line("figure sparse_hash_figure1: it has no cells to run"):
        figures.cells_of("sparse_hash_figure1")


def test_a_figure_at_another_budget_has_its_cells_at_it() -> None:
    assert {cell.budget for cell in figures.cells_of("sparse_hash_figure3@cpu").cells} == {"cpu"}
