"""CSV: one line a cell, read back as it was, blank where nothing is."""

import csv
import io
from functools import partial
from statistics import fmean

from scipy import stats
from support.fake_rows import SAMPLE, assert_golden, fake_hash, fake_row, sample_spec, sample_table
from support.rendered import rendered

from hashbench.showing.tables.collect import collect

render_csv = partial(rendered, output="csv")
THREE = [0.71, 0.72, 0.74]  # the means of DPSH* at 12 bits


def lines() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render_csv(sample_table()))))


def line(row: str, column: str) -> dict[str, str]:
    (found,) = (line for line in lines() if (line["row"], line["column"]) == (row, column))
    return found


def test_golden() -> None:
    assert_golden("sample.csv", render_csv(sample_table()))


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
