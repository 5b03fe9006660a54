"""results/REPORT.md: the numbers of its tables, and each mean with its deviation, are those of the rows."""

import re
from collections.abc import Iterator
from functools import cache

import pytest
from support.small_root import REPOSITORY

from hashbench.runs.store import Row, Store
from hashbench.tables import spec
from hashbench.tables.collect import collect
from hashbench.tables.table import Measured

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
def measured(table: str) -> list[Measured]:
    cells = collect(spec.load(table), rows(), None).cells()
    return [cell.measured for cell in cells if cell.measured is not None]


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


@pytest.mark.parametrize("section", SECTIONS, ids=[text.splitlines()[0] for text in SECTIONS])
def test_means_with_deviations_are_those_of_the_rows(section: str) -> None:
    values = [value for table in named(section) for value in measured(table)]
    for mean, std in MEAN_AND_STD.findall(section):
        assert any(
            mean.removeprefix("0") in written(value.mean, mean)
            and value.std is not None
            and std.removeprefix("0") in written(value.std, std)
            for value in values
        ), f"{mean} ± {std}"


@pytest.mark.parametrize("section", SECTIONS, ids=[text.splitlines()[0] for text in SECTIONS])
def test_numbers_in_tables_are_those_of_the_rows(section: str) -> None:
    values = [value.mean for table in named(section) for value in measured(table)]
    wrong = [
        number
        for number in numbers_of_tables(section)
        if not any(number.removeprefix("0") in written(value, number) for value in values)
    ]
    assert wrong == []


def test_the_two_tests_above_have_something_to_compare() -> None:
    whole = "\n".join(SECTIONS)
    assert len(MEAN_AND_STD.findall(whole)) >= 20
    assert len(list(numbers_of_tables(whole))) >= 60


def test_runs_that_are_named_have_a_row() -> None:
    runs = re.findall(r"`([\w.-]+-s\d+-[0-9a-f]{10})`", "\n".join(SECTIONS))
    assert runs and set(runs) <= {row.run for row in rows()}
