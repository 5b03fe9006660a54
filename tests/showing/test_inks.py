"""One sheet in each format: what is shown is the same, and nothing in a text acts as markup or a formula."""

import csv
import io
import json
import re
from html import unescape
from typing import get_args
from xml.etree import ElementTree

import pytest
from support.fake_rows import assert_golden

from hashbench.showing import ink, layout
from hashbench.showing.inks import latex
from hashbench.showing.sheet import Cell, Cite, Code, Grid, Link, Number, Pair, Range, Sheet, Sign, facts, records

FORMATS = get_args(ink.Format)
HOSTILE = r"</td><script>*x* | & {a_b} $1$ \end{tabular} % #"
BOLD = Number(0.72345, ".3f", spread=0.0149, marks=(Sign.TIE,), is_best=True, after=" (3)")
SHEET = Sheet(
    "A sheet & more",
    [
        facts({"commit": "c0ffee", "by": None, "runs": 1201}),
        Grid(
            [
                ["first", Pair(Number(0.7, ".3f"), BOLD), Pair(Number(0.5, ".3f"), Number(0.61, ".3f"), differs=True)],
                ["second", Pair(None, Number(-0.0001, ".3f")), None],
            ],
            ["", "12 bits", "24 bits"],
            "A section",
        ),
        Grid(
            [["ap", Number(0.25), Range(0.2, 0.3)], [HOSTILE, Number(12345.6, ",.1f"), None]],
            ["metric", "mean", "ends"],
        ),
        Grid([["weights", ("missing: ", Code("hashbench download weights"))], ["=1+1", "-1 bits"]], title="To get"),
    ],
    [(Sign.BOTH, "; ", Sign.TIE, " tie-dependent.")],
    ["a note: 5% of AP_T", ("see ", Link("the report", "REPORT.md"))],
    ["hashbench run digits"],
    source=(Cite("he2018tieaware", "He et al. (2018)"), ", Table 1"),
    name="a_sheet",
)


@pytest.mark.parametrize("output", FORMATS)
def test_golden(output: ink.Format) -> None:
    assert_golden(f"sheet.{output}", ink.write(SHEET, output))


def written(cell: Cell, output: ink.Format) -> str:
    return ink.write(Sheet(grids=[Grid([["row", cell]], ["label", "column"])]), output)


@pytest.mark.parametrize("output", ["text", "markdown", "latex", "html"])
def test_a_number_says_the_same_everywhere(output: ink.Format) -> None:
    text = unescape(written(BOLD, output))
    assert re.search(r"0\.723\W.*0\.015\D", text) and "(3)" in text


def test_what_rounds_to_zero_has_no_sign() -> None:
    forms = [(-1e-9, ".4f"), (1e-9, "+.4f"), (-0.0, ".0%"), (-1e-4, "+.4f"), (1234.0, ",.1f")]
    assert [Number(*each).text for each in forms] == ["0.0000", "0.0000", "0%", "-0.0001", "1,234.0"]


@pytest.mark.parametrize(
    "cell, field",
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'=1"),
        (("=", "1"), "'=1"),
        ("a,b", "a,b"),
        (Number(-0.07, ".6f"), "-0.070000"),
        (Number(1234567.0, ",.0f"), "1234567"),
        (1201, "1201"),
        (True, "true"),
        (None, ""),
    ],
)
def test_no_field_of_a_csv_is_a_formula_and_numbers_stay_numbers(cell: Cell, field: str) -> None:
    assert list(csv.reader(io.StringIO(written(cell, "csv")))) == [["label", "column"], ["row", field]]


def test_records_are_the_csv_and_values_the_json_in_place_of_the_grids() -> None:
    sheet = Sheet("t", SHEET.grids, records=lambda: records(["a", "b"], [[0.25, None]]), values=lambda: {"a": 0.25})
    assert ink.write(sheet, "csv") == "a,b\n0.250000,\n"
    assert json.loads(ink.write(sheet, "json")) == {"a": 0.25}


def test_json_has_numbers_that_are_not_rounded() -> None:
    second = json.loads(ink.write(SHEET, "json"))["grids"][2]
    assert second["rows"][0] == ["ap", 0.25, [0.2, 0.3]]


def test_html_is_well_formed_ascii_and_a_hostile_text_is_text() -> None:
    text = ink.write(SHEET, "html")
    assert text.isascii()
    labels = ["".join(element.itertext()) for element in ElementTree.fromstring(text).iter("th")]
    assert HOSTILE in labels


def test_a_row_of_latex_has_as_many_cells_as_its_tabular() -> None:
    text = ink.write(SHEET, "latex")
    for letters, body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        for line in body.splitlines():
            if line.endswith(r"\\") and "multicolumn" not in line:
                assert len(re.findall(r"(?<!\\)&", line)) == len(letters) - 1, line


def test_a_long_text_of_latex_goes_on_below_itself() -> None:
    text = written("word " * 60, "latex")
    (width,) = re.findall(r"\\begin\{tabular\}\{lp\{(\d+)pt\}\}", text)
    assert 100 <= int(width) < latex.TEXT_WIDTH


@pytest.mark.parametrize("output", ["text", "markdown"])
def test_a_wide_grid_of_numbers_goes_on_below_with_its_labels(output: ink.Format) -> None:
    columns = [f"{bits} bits of a code" for bits in range(20)]
    grid = Grid([["row", *map(Number, range(20))]], ["", *columns])
    lines = ink.write(Sheet(grids=[grid]), output).splitlines()
    assert max(map(len, lines)) <= layout.WIDE
    assert sum("row" in line for line in lines) == 4
    assert re.findall(r"\d+ bits of a code", "\n".join(lines)) == columns


def test_columns_are_aligned_and_long_texts_fit() -> None:
    rows = [["a", 7, "word " * 30], ["long label", 1201, ("run ", Code("hashbench " + "x" * 90))]]
    lines = ink.write(Sheet(grids=[Grid(rows, ["name", "n", "what"])]), "text", width=60).splitlines()
    assert [line[: len("long label  1,201")] for line in (lines[0], lines[1], lines[-2])] == [
        "name            n",
        "a               7",
        "long label  1,201",
    ]
    assert all(len(line) <= 60 for line in lines[:-1]) and lines[-1].endswith("x" * 90)


def test_commands_begin_with_the_program() -> None:
    sheet = SHEET.begun_with("hashbench --root r")
    assert sheet.commands == ["hashbench --root r run digits"]
    assert "hashbench --root r download weights" in ink.write(sheet, "text")


def test_parts_stand_one_heading_lower() -> None:
    text = ink.write(Sheet("all", parts=[SHEET]), "markdown", level=1)
    assert re.findall(r"^#+ ", text, re.MULTILINE) == ["# ", "## ", "### ", "### "]


def test_every_piece_has_a_column() -> None:
    assert layout.pieces_of([10, 50, 50, 200], 1, 120) == [[0, 1], [0, 2], [0, 3]]
    assert layout.pieces_of([10, 50, 50], 1, 120) == [[0, 1, 2]]
