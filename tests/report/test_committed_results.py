"""What results/ and the README say is what the committed rows give: REPORT.md, README.md, figures."""

import re
from collections.abc import Iterator
from functools import cache

import pytest
from support.small_root import REPOSITORY

from hashbench import figures
from hashbench.report.readme import results_readme
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.tables import spec
from hashbench.tables.collect import collect
from hashbench.tables.papers import OWN
from hashbench.tables.table import Measured, Table

STORE = Store(REPOSITORY / "results")
TEXT = (REPOSITORY / "results" / "REPORT.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"^##+ ", TEXT, flags=re.MULTILINE)[1:]
DECLARED = set(spec.names())
MEAN_AND_STD = re.compile(r"(\d*\.\d+)%? ± (\d*\.\d+)")
PUBLISHED = re.compile(r"\([^)]*\)")
NUMBER = re.compile(r"\d*\.\d+")


@cache
def rows() -> list[Row]:
    return list(STORE.rows())


@cache
def tables() -> dict[str, Table]:
    return {name: collect(spec.load(name), rows(), None) for name in spec.names()}


def measured(table: str) -> list[Measured]:
    return [cell.measured for cell in tables()[table].cells() if cell.measured is not None]


def named(section: str) -> list[str]:
    """The declared tables that a section names."""
    return sorted(set(re.findall(r"`(\w+)`", section)) & DECLARED)


def written(value: float, like: str) -> set[str]:
    """``value`` as the report writes it, in parts of 1 or in percent, with as many decimals as ``like``."""
    decimals = len(like.partition(".")[2])
    return {f"{scaled:.{decimals}f}".removeprefix("0") for scaled in (value, 100 * value)}


def numbers_of_tables(section: str) -> Iterator[str]:
    """The means in the cells of Markdown tables, without the published ones, which are in brackets."""
    for line in section.splitlines():
        if line.startswith("| "):
            for cell in line.strip("|").split("|")[1:]:  # without the row's label
                yield from NUMBER.findall(MEAN_AND_STD.sub(r"\1", PUBLISHED.sub("", cell)))


def test_means_with_deviations_are_those_of_the_rows() -> None:
    wrong = [
        f"{section.splitlines()[0]}: {mean} ± {std}"
        for section in SECTIONS
        for mean, std in MEAN_AND_STD.findall(section)
        if not any(
            mean.removeprefix("0") in written(value.mean, mean)
            and value.std is not None
            and std.removeprefix("0") in written(value.std, std)
            for table in named(section)
            for value in measured(table)
        )
    ]
    assert wrong == []


def test_numbers_in_tables_are_those_of_the_rows() -> None:
    wrong = [
        f"{section.splitlines()[0]}: {number}"
        for section in SECTIONS
        for number in numbers_of_tables(section)
        if not any(
            number.removeprefix("0") in written(value.mean, number)
            for table in named(section)
            for value in measured(table)
        )
    ]
    assert wrong == []


def test_the_two_tests_above_have_something_to_compare() -> None:
    whole = "\n".join(SECTIONS)
    assert len(MEAN_AND_STD.findall(whole)) >= 20
    assert len(list(numbers_of_tables(whole))) >= 60


def test_runs_that_are_named_have_a_row() -> None:
    runs = re.findall(r"`([\w.-]+-s\d+-[0-9a-f]{10})`", "\n".join(SECTIONS))
    assert runs and set(runs) <= {row.run for row in rows()}


def test_the_overview_of_the_results_is_the_generated_one() -> None:
    kept = (REPOSITORY / "results" / "README.md").read_text(encoding="utf-8")
    assert kept == results_readme(tables().values()), "hashbench table --all --write writes it"
    links = re.findall(r"\]\(([^)]+)\)", kept)
    assert [link for link in links if not (REPOSITORY / "results" / link).is_file()] == []


def test_the_first_screen_of_the_readme_says_which_tables_are_measured() -> None:
    lines = (REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()[:25]
    found = {}
    for line in lines:
        if counts := re.search(r"\| (\d+) of (\d+) \|$", line):
            named = re.findall(r"`(\w+)`", line)
            n_declared = sum(len([*tables()[name].cells()]) for name in named)
            assert (int(counts[1]), int(counts[2])) == (sum(len(measured(name)) for name in named), n_declared), line
            found |= dict.fromkeys(named, line)
    assert {name for name, table in tables().items() if table.paper != OWN} <= found.keys()
    unmeasured = {name for name, line in found.items() if line.startswith("| nothing measured")}
    assert unmeasured == {name for name, table in tables().items() if not table.has_measured} - {"digits"}


def test_the_points_of_figures_are_those_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that need a run's codes or histograms cannot be drawn from what is committed."""
    monkeypatch.setenv("HASHBENCH_RESULTS", str(STORE.folder))
    drawn = {name: figures.load(name).fill(rows(), STORE) for name in figures.names()}
    for name, drawing in drawn.items():
        path = STORE.folder / "figures" / f"{name}.csv"
        if not drawing.keeps_files:
            text = figures.csv_text(drawing)
            assert (path.read_text() if path.exists() else "") == text, f"{path.name}: make paper-tables writes it"
            assert path.with_suffix(".png").exists() == bool(text)
