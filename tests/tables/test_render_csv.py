"""CSV: one line a cell, read back as it was, blank where nothing is."""

import csv
import io
from functools import partial
from statistics import fmean

import pytest
from scipy import stats
from support.fake_rows import SAMPLE, assert_golden, fake_hash, fake_row, sample_spec, sample_table

from hashbench.report import files
from hashbench.tables.collect import collect
from hashbench.tables.sheet import COLUMNS

render_csv = partial(files.render, output="csv")
THREE = [0.71, 0.72, 0.74]  # the means of DPSH* at 12 bits


def lines() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render_csv(sample_table()))))


def line(row: str, column: str) -> dict[str, str]:
    (found,) = (line for line in lines() if (line["row"], line["column"]) == (row, column))
    return found


def test_golden() -> None:
    assert_golden("sample.csv", render_csv(sample_table()))


def test_one_line_a_cell_with_every_column() -> None:
    text = render_csv(sample_table())
    assert text.splitlines()[0] == ",".join(COLUMNS)
    assert {len(line) for line in csv.reader(io.StringIO(text))} == {28}
    assert len(lines()) == 14


def test_missing_is_blank_never_zero_never_nan() -> None:
    missing = line("Not run", "12 bits")
    assert {missing[key] for key in COLUMNS[COLUMNS.index("measured") :]} == {""}
    assert missing["published"] == "0.500000"
    assert "nan" not in render_csv(sample_table()).lower()


def test_measured_zero_is_zero() -> None:
    zero = line("DPSH*", "48 bits")
    assert zero["measured"] == "0.000000"
    assert zero["n_seeds"] == "1"
    assert zero["std"] == ""
    assert (zero["published"], zero["published_tie_aware"], zero["citation"], zero["difference"]) == ("",) * 4


def test_ties_and_distinct_codes_have_columns() -> None:
    keys = ("n_runs", "n_splits", "tie_dependent", "distinct_queries", "distinct_database")
    assert [line("DPSH*", "12 bits")[key] for key in keys] == ["3", "1", "true", "2.000000", "1201.000000"]
    assert [line("MIHash", "12 bits")[key] for key in keys] == ["3", "1", "false", "", ""]
    assert [line("DPSH*", "24 bits")[key] for key in keys] == ["1", "1", "", "", ""]


def test_values_are_fractions_and_settings_are_sorted() -> None:
    percent = line("[Npairs-Th]", "k=1")
    assert percent["published"] == "0.608500"
    assert percent["settings"] == "d=64;k=1"
    assert percent["published_tie_aware"] == "false"
    assert percent["citation"] == "jeong2018efficient"


@pytest.mark.parametrize("row, difference", [("DPSH*", "0.003333"), ("MIHash", "0.036333")])
def test_difference_is_measured_less_published(row: str, difference: str) -> None:
    assert line(row, "12 bits")["difference"] == difference


def test_the_first_line_is_of_the_first_cell() -> None:
    dpsh = lines()[0]
    assert dpsh["row"] == "DPSH*"
    assert dpsh["column"] == "12 bits"
    assert dpsh["measured"] == f"{fmean(THREE):.6f}"
    assert dpsh["n_seeds"] == "3"
    assert dpsh["published_tie_aware"] == "true"


def test_the_runs_behind_a_value_and_its_interval_have_columns() -> None:
    three = line("DPSH*", "12 bits")
    low, high = stats.t.interval(0.95, 2, fmean(THREE), stats.sem(THREE))
    assert three["ci95_low"] == f"{low:.6f}"
    assert three["ci95_high"] == f"{high:.6f}"
    assert [run.rpartition("-")[0] for run in three["runs"].split(";")] == [f"digits-s1-dpsh-s{n}" for n in range(3)]
    one = line("DPSH*", "24 bits")
    assert one["ci95_low"] == ""
    assert one["ci95_high"] == ""
    assert one["runs"].count("digits-") == 1


def test_a_run_that_does_not_hold_the_metric_is_not_behind_the_value() -> None:
    spec = sample_spec(groups=[SAMPLE["groups"][0]])
    rows = [fake_row(spec.cells[0], 0, ap=0.5), fake_row(spec.cells[0], 1, ndcg=0.5)]
    (first, *_) = csv.DictReader(io.StringIO(render_csv(collect(spec, rows, None, hash_of=fake_hash))))
    assert first["n_runs"] == "1"
    assert first["runs"] == rows[0].run
