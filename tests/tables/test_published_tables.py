"""The published values in experiments/tables against the text of the papers, read here by other means."""

import os
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest
from support.toy_root import REPOSITORY

from hashbench.foundation import paths
from hashbench.foundation.config import parse, read_toml
from hashbench.learning.methods import METHODS
from hashbench.running.runs.run import BASE
from hashbench.scoring.metrics import NamedMetric
from hashbench.showing.tables import spec
from hashbench.showing.tables.cell import Cell, TableFile
from hashbench.showing.tables.spec import TableSpec

FILES = sorted((REPOSITORY / "experiments" / "tables").glob("*.toml"))
TABLES = [path.stem for path in FILES if "of" not in read_toml(path)]  # each once, not at other budgets
SHARED = Path(os.environ.get("HASHBENCH_SHARED", REPOSITORY.parent / "shared"))

Label = tuple[str, str, str]  # section, row, column


def declared(table: str) -> TableSpec:
    path = REPOSITORY / "experiments" / "tables" / f"{table}.toml"
    return spec.from_file(table, parse(TableFile, read_toml(path), str(path)), path)


def lines(paper: str) -> list[str]:
    path = SHARED / "papers" / f"{paper}.txt"
    if not path.is_file():
        pytest.skip(f"{path} is not here: set HASHBENCH_SHARED to the folder that holds papers/")
    return path.read_text(encoding="utf-8").splitlines()


def as_printed(cell: Cell) -> Decimal:
    """The fraction turned back into what the paper prints; decimal, so that no rounding hides a digit."""
    return Decimal(repr(cell.published)) * (100 if cell.printed_as == "percent" else 1)


def assert_as_printed(table: str, printed: dict[Label, str], count: int) -> None:
    found = {(c.section, c.row, c.column): as_printed(c) for c in declared(table).cells if c.published is not None}
    assert len(printed) == count
    assert found == {label: Decimal(value) for label, value in printed.items()}


# TALR: one line a row of the table, the row's name first; the venue's version is a second witness

TALR_NAMES = "BRE|MACHash|FastHash|StructHash|DPSH|DTSH|MIHash|HashNet|TALR-AP|TALR-NDCG"
TALR_ROW = re.compile(rf"({TALR_NAMES})(?: \[\d+\])?(\*?)((?: 0\.\d+)+)")


def talr_rows(paper: str, width: int) -> Iterator[tuple[str, list[str]]]:
    for line in lines(paper):
        # the venue's text runs a turned label into the row that follows it: "5KDPSH [20]* ..."
        match = TALR_ROW.fullmatch(line.strip().removeprefix("5K"))
        if match and len(values := match[3].split()) == width:
            yield match[1] + match[2], values


def crossed(sections: list[str], columns: list[str], row: str, values: list[str]) -> dict[Label, str]:
    """One printed row, whose sections lie side by side under the same columns."""
    labels = [(section, row, column) for section in sections for column in columns]
    return dict(zip(labels, values, strict=True))


@pytest.mark.parametrize("paper", ["talr", "talr_conference"])
def test_talr_table1(paper: str) -> None:
    rows = list(talr_rows(paper, 8))[:12]
    printed: dict[Label, str] = {}
    for row, values in rows[:8]:
        bits = [f"{b} bits" for b in (12, 24, 32, 48)]
        printed |= crossed(["CIFAR-10 S1 (mAP)", "NUS-WIDE (mAP)"], bits, row, values)
    for row, values in rows[8:]:
        printed |= crossed(["CIFAR-10 S2 (mAP)"], [f"{b} bits" for b in (16, 24, 32, 48)], row, values[:4])
        printed |= crossed(["NUS-WIDE (mAP@5K)"], [f"{b} bits" for b in (12, 24, 32, 48)], row, values[4:])
    assert_as_printed("talr_table1", printed, 96)


@pytest.mark.parametrize("paper", ["talr", "talr_conference"])
def test_talr_table2(paper: str) -> None:
    printed: dict[Label, str] = {}
    for row, values in talr_rows(paper, 4):
        printed |= crossed([""], [f"{b} bits" for b in (16, 32, 48, 64)], row, values)
    assert_as_printed("talr_table2", printed, 12)


@pytest.mark.parametrize("paper", ["talr", "talr_conference"])
def test_talr_table3(paper: str) -> None:
    printed: dict[Label, str] = {}
    for row, values in list(talr_rows(paper, 8))[12:]:
        printed |= crossed(["NUS-WIDE", "LabelMe"], [f"{b} bits" for b in (16, 32, 48, 64)], row, values)
    assert_as_printed("talr_table3", printed, 64)


@pytest.mark.parametrize("paper", ["talr", "talr_conference"])
def test_talr_appendix_d(paper: str) -> None:
    text = lines(paper)
    start = next(i for i, line in enumerate(text) if line.endswith("12 bits 24 bits 32 bits 48 bits"))
    printed: dict[Label, str] = {}
    # the row of alpha = 40 has two readings, each declared with the figures of that row
    declared_as = (("alpha = 40: tanh(40 x)", "alpha = 40: tanh(20 x)"), ("alpha -> infinity",))
    for rows, mark, line in zip(declared_as, ("40", "∞"), text[start + 1 :], strict=False):
        name, *values = line.rsplit(maxsplit=4)
        assert mark in name.replace("\\infty", "∞")
        for row in rows:
            printed |= crossed([""], [f"{b} bits" for b in (12, 24, 32, 48)], row, values)
    assert_as_printed("talr_appendix_d", printed, 12)


# Sparse hash: a whole table is one line, the one before its caption


def sparse_words(number: int) -> list[str]:
    text = [line for line in lines("sparse_hash") if line.strip()]
    return next(before for before, line in pairwise(text) if line.startswith(f"Table {number}:")).split()


def sparse_rows(words: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Rows of a name and its numbers; where "k=1" stands before them, the name ends in it."""
    row = ""
    values = []
    suffix = ""
    for word in words:
        if re.fullmatch(r"\d+\.\d\d", word):
            values.append(word)
            continue
        if values:
            yield row, values
        k = re.match(r"k=(\d)", word)
        suffix = f" (k={k[1]})" if k else suffix
        row = word + suffix
        values = []
    yield row, values


@pytest.mark.parametrize("number, rows", [(1, 13), (2, 13), (3, 10), (4, 10)])
def test_sparse_hash_tables_1_to_4(number: int, rows: int) -> None:
    words = sparse_words(number)
    body = len(words) - words[::-1].index("Pr@16")
    header = words[:body]
    sides = [f"{word} " for word in header if word in ("train", "test")] or [""]
    measures = header[header.index("SUF") :][:4]
    assert measures == ["SUF", "Pr@1", "Pr@4", "Pr@16"]
    columns = [side + measure for side in sides for measure in measures]
    printed: dict[Label, str] = {}
    for row, values in sparse_rows(words[body:]):
        printed |= crossed([""], columns, row, values)
    assert_as_printed(f"sparse_hash_table{number}", printed, rows * len(columns))


def test_sparse_hash_table_5() -> None:
    words = sparse_words(5)
    assert words[:5] == ["Cifar-100", "ImageNet", "train", "test", "val"]
    printed: dict[Label, str] = {}
    for row, values in sparse_rows(words[5:]):
        printed |= crossed([""], ["CIFAR-100 train", "CIFAR-100 test", "ImageNet val"], row, values)
    assert_as_printed("sparse_hash_table5", printed, 18)


# StructHash: a header line, then for each measure its name and one line a data set


def structhash(number: int, sections: dict[str, str]) -> dict[Label, str]:
    text = lines("structhash")
    start = next(i for i, line in enumerate(text) if line.startswith(f"Table {number}:"))
    columns = text[start + 1].split()[1:]
    printed: dict[Label, str] = {}
    section = ""
    for line in text[start + 2 :]:
        if line.startswith("Refer"):
            break
        row, *values = line.split()
        if all(re.fullmatch(r"0\.\d{3}", value) for value in values) and values:
            printed |= crossed([section], columns, row, values)
        else:
            section = next(name for beginning, name in sections.items() if line.startswith(beginning))
    return printed


def test_structhash_table1() -> None:
    assert_as_printed("structhash_table1", structhash(1, {"NDCG (K=100": "NDCG (K=100)"}), 55)


def test_structhash_table2() -> None:
    sections = {
        "Precision-at-K (K=100": "Precision-at-K (K=100)",
        "Mean Average Precision (mAP)": "Mean Average Precision (mAP)",
        "Precision-Recall": "Precision-Recall",
    }
    assert_as_printed("structhash_table2", structhash(2, sections), 165)


# Every file of experiments/tables


@pytest.mark.parametrize("table", TABLES)
def test_table_loads_and_labels_are_unique(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_ROOT", str(REPOSITORY))
    cells = spec.load(table).cells
    assert paths.root() == REPOSITORY
    assert len({(c.section, c.row, c.column) for c in cells}) == len(cells)


@pytest.mark.parametrize("table", TABLES)
def test_no_two_cells_have_the_same_value(table: str) -> None:
    cells = declared(table).cells
    keys = {
        (c.dataset, c.protocol, c.method, tuple(sorted(c.settings.items())), c.metric, c.evaluation, c.recipe)
        for c in cells
    }
    assert len(keys) == len(cells)


@pytest.mark.parametrize("table", TABLES)
def test_cells_can_be_run_and_scored(table: str) -> None:
    for cell in declared(table).cells:
        assert str(NamedMetric.parse(cell.metric)) == cell.metric
        own = {key.removeprefix(BASE) for key in cell.settings}  # the base of a head is the same method
        assert own <= set(METHODS.get(cell.method).settings.model_fields)
