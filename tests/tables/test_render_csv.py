"""CSV: one line a cell, read back as it was, blank where nothing is."""

import csv
import io

import pytest
from support.fake_rows import assert_golden, sample_table

from hashbench.tables.render_csv import HEADER, render_csv


def lines() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render_csv(sample_table()))))


def line(row: str, column: str) -> dict[str, str]:
    (found,) = (line for line in lines() if (line["row"], line["column"]) == (row, column))
    return found


def test_golden() -> None:
    assert_golden("sample.csv", render_csv(sample_table()))


def test_same_bytes_again() -> None:
    assert render_csv(sample_table()) == render_csv(sample_table())


def test_one_line_a_cell_with_every_column() -> None:
    text = render_csv(sample_table())
    assert text.splitlines()[0] == ",".join(HEADER)
    assert {len(line) for line in csv.reader(io.StringIO(text))} == {19}
    assert len(lines()) == 14


def test_missing_is_blank_never_zero_never_nan() -> None:
    missing = line("To come", "12 bits")
    assert {missing[key] for key in ("measured", "std", "n_seeds", "worst", "best", "difference")} == {""}
    assert missing["published"] == "0.500000"
    assert "nan" not in render_csv(sample_table()).lower()


def test_measured_zero_is_zero() -> None:
    zero = line("DPSH*", "48 bits")
    assert (zero["measured"], zero["n_seeds"], zero["std"]) == ("0.000000", "1", "")
    assert (zero["published"], zero["published_tie_aware"], zero["citation"], zero["difference"]) == ("",) * 4


def test_values_are_fractions_and_settings_are_sorted() -> None:
    percent = line("[Npairs-Th]", "k=1")
    assert (percent["published"], percent["settings"]) == ("0.608500", "d=64;k=1")
    assert (percent["published_tie_aware"], percent["citation"]) == ("false", "jeong2018efficient")


@pytest.mark.parametrize(("row", "difference"), [("DPSH*", "0.003333"), ("MIHash", "0.036333")])
def test_difference_is_measured_less_published(row: str, difference: str) -> None:
    assert line(row, "12 bits")["difference"] == difference
