"""The verdicts of reproduction: one for each published value, in the overview of results, on the page and printed."""

from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.fake_rows import row_of_cell
from support.report_root import report_root

from hashbench.running.runs.store import Store
from hashbench.showing.report.readme import results_readme
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.table import Table
from hashbench.showing.tables.verdicts import VERDICTS, verdicts

# one published value of ``tiny`` with another setting, and one of its values without a tolerance
REPEATED = """
title = "Repeated"
[defaults]
dataset = "digits"
protocol = "s1"
metric = "ap"
citation = "he2018tieaware"
tie_aware = true
settings = { bits = 12 }
[[groups]]
columns = [{ label = "12 bits" }]
rows = [
  { label = "ITQ, few", method = "itq", settings = { iterations = 5 } },
  { label = "LSH", method = "lsh", values = [0.25] },
]
"""


# a table of our own that shows a value of ``tiny`` beside other data, and a value that no table of a paper has
OWN_TABLE = """
title = "Own"
[defaults]
dataset = "cifar10"
protocol = "s1"
metric = "ap"
citation = "he2018tieaware"
settings = { bits = 12 }
[[groups]]
columns = [{ label = "12 bits" }]
rows = [
  { label = "LSH", method = "lsh", values = [0.25] },
  { label = "ITQ", method = "itq", values = [0.56] },
]
"""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return report_root(tmp_path, monkeypatch)


def tables() -> list[Table]:
    rows = list(Store.default().rows())
    return [collect(spec.load(name), rows, None) for name in spec.names()]


def found() -> dict[tuple[str, str, str], tuple[str, str]]:
    of = verdicts(tables())
    return {(v.table, v.cell.declared.row, v.cell.declared.column): (v.verdict, v.why) for v in of}


def test_each_published_value_has_its_verdict() -> None:
    assert found() == {
        ("tiny", "LSH", "12 bits"): ("reproduced", "differs by +0.010"),
        ("tiny", "LSH", "24 bits"): ("reproduced", "differs by +0.000"),
        ("tiny", "ITQ", "12 bits"): ("not reproduced", "differs by +0.050"),
        ("tiny", "ITQ", "24 bits"): ("not measured", "no run on the schedule full on digits s1 of its items"),
        ("tiny", "Spherical", "12 bits"): ("not reproduced", "differs by +0.100"),
        ("tiny", "Spherical", "24 bits"): ("not measured", "no run on the schedule full on digits s1 of its items"),
        ("tiny", "Nothing", "12 bits"): ("not measured", "needs method nothing, which is not installed here"),
        ("tiny", "Nothing", "24 bits"): ("not measured", "needs method nothing, which is not installed here"),
        ("other", "LSH", "Digits"): ("not compared", "it has no tolerance"),
        ("other", "LSH", "CIFAR-10"): ("not compared", "it has no tolerance"),
    }


def test_other_settings_may_reproduce_it_and_a_repeated_value_counts_once(root: Path) -> None:
    (root / "experiments" / "tables" / "repeated.toml").write_text(REPEATED)
    cell = spec.load("repeated").cells[0]
    Store.default().write(row_of_cell(cell, ap=0.56))
    verdict = found()
    assert verdict["tiny", "ITQ", "12 bits"] == ("with other settings", "iterations=5")
    assert len(verdict) == 10 and ("repeated", "LSH", "12 bits") not in verdict


def test_other_settings_that_have_a_value_of_their_own_are_none_in_any_table(root: Path) -> None:
    text = REPEATED.replace("iterations = 5 } }", "iterations = 5 }, values = [0.3] }")
    (root / "experiments" / "tables" / "repeated.toml").write_text(text)
    (root / "experiments" / "tables" / "third.toml").write_text(REPEATED)  # the same, without the value
    Store.default().write(row_of_cell(spec.load("repeated").cells[0], ap=0.56))
    assert found()["tiny", "ITQ", "12 bits"] == ("not reproduced", "differs by +0.050")


def test_a_setting_that_was_chosen_by_the_published_values_is_counted(root: Path, hashbench: CommandLine) -> None:
    tiny = root / "experiments" / "tables" / "tiny.toml"
    text = tiny.read_text()
    assert text.count('method = "lsh"') == 1
    tiny.write_text(text.replace('method = "lsh"', 'method = "lsh", fitted = "centre"'))
    (by_lsh, by_metric) = (
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in results_readme(tables()).splitlines()
        if line.startswith(("| LSH ", "| ap "))
    )
    assert by_lsh[:3] == ["LSH", "2", "2"] and by_metric[:3] == ["ap", "2", "2"]
    lines = hashbench("leaderboard --verdicts --format csv").lines
    assert [line.rpartition(",")[2] for line in lines].count("centre") == 2


def test_a_value_beside_other_data_counts_once_and_a_value_of_its_own_says_why_it_is_not_compared(root: Path) -> None:
    (root / "experiments" / "tables" / "own.toml").write_text(OWN_TABLE)
    verdict = found()
    assert ("own", "LSH", "12 bits") not in verdict  # it is that of ("tiny", "LSH", "12 bits")
    assert verdict["own", "ITQ", "12 bits"] == (
        "not compared",
        "it is of another network, other features or other data",
    )


def test_the_overview_counts_the_reasons_for_which_values_are_not_compared(root: Path) -> None:
    (root / "experiments" / "tables" / "own.toml").write_text(OWN_TABLE)
    other = root / "experiments" / "tables" / "other.toml"
    other.write_text(other.read_text().replace("[[groups]]", '[[groups]]\nno_tolerance = "it is a ratio"'))
    assert (
        "Not compared: 2 values: it is a ratio (1 on cifar10, 1 on digits); "
        "1 value: it is of another network, other features or other data (1 on cifar10).\n"
    ) in results_readme(tables())


def test_the_overview_tells_references_from_methods(root: Path) -> None:
    assert "\n4 of 10 cells are measured, with 3 methods.\n" in results_readme(tables())
    text = OWN_TABLE.replace(
        'label = "ITQ", method = "itq", values = [0.56]', 'label = "None", method = "random_ranking"'
    )
    (root / "experiments" / "tables" / "own.toml").write_text(text)
    cell = spec.load("own").cells[1]
    Store.default().write(row_of_cell(cell, ap=0.1))
    assert "\n5 of 12 cells are measured, with 3 methods and 1 reference (Random ranking).\n" in results_readme(
        tables()
    )


def test_they_are_counted_in_the_overview_on_the_page_and_by_the_command(hashbench: CommandLine) -> None:
    text = results_readme(tables())
    row = next(line for line in text.splitlines() if line.startswith("| He et al. (2018)"))
    assert [cell.strip() for cell in row.split("|")[2:-1]] == ["2", "0", "0", "2", "4", "2"]
    assert all(verdict in text for verdict in VERDICTS)
    code, out, _ = hashbench("leaderboard --verdicts")
    assert code == 0 and out.splitlines()[0] == "## Verdicts of reproduction, by paper" and row in out
    code, out, _ = hashbench("leaderboard --verdicts --format csv")
    assert len(out.splitlines()) == 11
    hashbench.done("report")
    page = (Store.default().folder / "report.html").read_text()
    places = [page.index(f' id="{part}">') for part in ("leaderboard", "verdicts", "tables")]
    assert places == sorted(places)
