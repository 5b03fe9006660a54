"""The pages behind the report: rendered as they are committed, in the order of means, with each difference."""

from dataclasses import replace

import numpy as np
import pytest
from support import committed
from support.fake_rows import SAMPLE, fake_hash, fake_row, sample_spec
from support.toy_root import REPOSITORY

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.evaluation.paired import compare_paired, holm
from hashbench.showing.report import pages
from hashbench.showing.report.pages import Page
from hashbench.showing.sheet import Number, Range
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.table import Table

MEANS = [0.60, 0.71, 0.75]  # of the rows of a sample; the fourth is not measured


@pytest.fixture
def table() -> Table:
    """A table of four rows on five splits, with the AP of each query of three."""
    declared = sample_spec(groups=[SAMPLE["groups"][0]], repeats="splits")
    rows = []
    for line, mean in enumerate(MEANS):
        rows += [fake_row(declared.cells[3 * line], s or 0, split_seed=s, ap=mean) for s in (None, 1, 2, 3, 4)]
    whole = collect(declared, rows, None, hash_of=fake_hash)
    (section,) = whole.sections
    for position, cell in section.cells.items():
        if cell.measured is not None:
            of_splits = {str(split): scores(cell.measured.mean, split) for split in range(5)}
            section.cells[position] = replace(cell, measured=replace(cell.measured, scores=of_splits))
    return whole


def scores(mean: float, split: int) -> np.ndarray:
    noise = np.random.default_rng((split, int(1000 * mean))).normal(0, 0.05, 300)
    return (mean + noise).astype(np.float32)


def test_rows_stand_in_the_order_of_their_means_and_differences_are_from_the_highest(table: Table) -> None:
    page = Page(title="A page", about="It is about rows.", tables=["sample"], ranked_by="12 bits", commands=["x --y"])
    (first, sheet) = pages.sheet_of_page(page, [table]).parts
    assert first.commands == ["x --y"]
    means, differences = sheet.grids
    assert [row[0] for row in means.rows] == ["TALR_AP", "MIHash", "DPSH*", "Not run"]
    assert differences.title == "CIFAR-10 S1 (mAP), 12 bits: below TALR_AP, over 5 splits"
    assert [row[0] for row in differences.rows] == ["MIHash", "DPSH*"]
    highest = [scores(0.75, split) for split in range(5)]
    below = [compare_paired(highest, [scores(mean, split) for split in range(5)]) for mean in (0.71, 0.6)]
    corrected = holm([paired.p for paired in below])
    for (_, difference, interval, p), paired, p_holm in zip(differences.rows, below, corrected, strict=True):
        assert difference == Number(paired.difference, ".3f")
        assert interval == Range(paired.low, paired.high, ".3f")
        assert p == Number(p_holm, ".4f")


def test_a_page_of_a_table_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(title="A page", about="It is about rows.", tables=["sampel"])
    monkeypatch.setattr(pages, "declared", lambda: {"mine": page})
    with pytest.raises(HashbenchError, match="unknown table of the page mine 'sampel'"):
        pages.texts([])


def test_each_page_is_the_rendered_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_RESULTS", str(committed.STORE.folder))  # with its searches
    names = {table for page in pages.declared().values() for table in page.tables}
    rendered = pages.texts(collect(spec.load(name), committed.rows(), committed.STORE) for name in names)
    kept = {path.stem: path.read_text(encoding="utf-8") for path in (committed.STORE.folder / "pages").glob("*.md")}
    assert kept.keys() == rendered.keys() == {path.stem for path in (REPOSITORY / "docs" / "pages").glob("*.md")}
    for name, text in rendered.items():
        assert kept[name] == text, f"{name}: hashbench table --all --write writes it"
