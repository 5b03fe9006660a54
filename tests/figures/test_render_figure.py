"""Figures as files: golden CSV, the same bytes twice, nothing of the machine in them, at a paper's width."""

import re
import struct
from pathlib import Path

import pytest
from support.declared_figures import CELLS, filled, measured, row_of, tiny
from support.fake_rows import assert_golden
from support.python import python

from hashbench.showing.figures import csv_text, pictures

KINDS_OF_CELLS = ["lines", "tie_ranges"]


@pytest.mark.parametrize("kind", KINDS_OF_CELLS)
def test_golden_csv(kind: str, tmp_path: Path) -> None:
    assert_golden(f"figure_{kind}.csv", csv_text(measured(tmp_path, kind)))


@pytest.mark.parametrize("kind", KINDS_OF_CELLS)
def test_pictures_are_the_same_bytes_each_time_and_hold_no_date(kind: str, tmp_path: Path) -> None:
    first = pictures(measured(tmp_path, kind))
    second = pictures(measured(tmp_path, kind))
    assert list(first) == [".png", ".pdf"]
    assert first == second
    assert first[".png"][:8] == b"\x89PNG\r\n\x1a\n" and b"Software" not in first[".png"]
    assert first[".pdf"][:5] == b"%PDF-"
    assert not re.search(rb"CreationDate|Producer|Creator|Matplotlib", first[".pdf"])


@pytest.mark.parametrize("width, pixels", [("column", 495), ("page", 1035)])
def test_pictures_have_the_width_of_a_paper_at_150_dots_an_inch(tmp_path: Path, width: str, pixels: int) -> None:
    picture = pictures(measured(tmp_path, "lines", f'width = "{width}"\n'))[".png"]
    assert struct.unpack(">I", picture[16:20]) == (pixels,)


def test_drawing_imports_no_torch_and_declaring_no_matplotlib() -> None:
    code = (
        "import sys\nfrom hashbench.showing import figures\n"
        "[figures.load(name) for name in figures.names()]\n"
        "heavy = {'torch', 'sklearn', 'pandas', 'scipy.linalg', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    python(code)


NO_MATHEMATICS = r"$\frac$ of $x_i$"  # matplotlib fails where it reads it as mathematics


@pytest.mark.parametrize("kind", KINDS_OF_CELLS)
def test_a_label_is_no_mathematics(kind: str, tmp_path: Path) -> None:
    cells = CELLS.replace('"Digits: AP"', f"'{NO_MATHEMATICS}'").replace('"LSH"', f"'{NO_MATHEMATICS}'")
    figure = tiny(tmp_path, kind, "", cells)
    rows = [row_of(figure, NO_MATHEMATICS, bits, ap=0.5, ap_worst=0.4, ap_best=0.6) for bits in ("12 bits", "24 bits")]
    assert len(pictures(filled(figure, *rows))) == 2
