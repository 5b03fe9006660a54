"""HTML: the same words as the Markdown, nothing of a foreign text taken for markup, well-formed."""

import re
from functools import partial
from typing import Any
from xml.etree import ElementTree

import pytest
from support.fake_rows import SAMPLE, assert_golden, sample_table
from support.rendered import rendered

from hashbench.showing.ink import write
from hashbench.showing.tables.sheet import sheet_of
from hashbench.showing.tables.table import Table

HOSTILE = '</table><script>alert("1")</script>&amp;'

render_markdown = partial(rendered, output="markdown")


def render_html(table: Table, **shown: Any) -> str:
    return write(sheet_of(table, **shown), "html")


def cells(text: str) -> list[list[str]]:
    """The texts of each row of all tables, row label first."""
    rows = ElementTree.fromstring(text).iter("tr")
    return [["".join(cell.itertext()) for cell in row] for row in rows]


def markdown_cells(table: Table) -> list[list[str]]:
    text = render_markdown(table).replace("**", "")
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("| :")]
    return [[re.sub(r"\\(.)", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


@pytest.mark.parametrize("shown", ["", "interval", "distinct"])
def test_golden(shown: str) -> None:
    name = f"sample_{shown}.html" if shown else "sample.html"
    assert_golden(name, render_html(sample_table(distinct=shown == "distinct"), interval=shown == "interval"))


def test_rows_columns_and_words_are_those_of_the_markdown() -> None:
    assert cells(render_html(sample_table())) == markdown_cells(sample_table())


def test_counts_of_runs_stand_behind_the_deviation() -> None:
    found = {row[0]: row[1:] for row in cells(render_html(sample_table(), counts=True, interval=True))}
    assert found["DPSH*"][0] == "0.720 / 0.723±0.015‡ (3) [0.623, 0.823]"
    assert found["Not run"] == ["0.500 /", "0.500 /", ""]


def test_hostile_names_are_text() -> None:
    group = SAMPLE["groups"][0]
    rows = [{**row, "label": f"{row['label']} {HOSTILE}"} for row in group["rows"]]
    columns = [{**column, "label": f"{column['label']} {HOSTILE}"} for column in group["columns"]]
    groups = [{**group, "section": HOSTILE, "rows": rows, "columns": columns}]
    table = sample_table(title=HOSTILE, source=HOSTILE, notes=[HOSTILE], groups=groups)
    text = render_html(table, attributes=lambda _: {"data-method": HOSTILE})
    assert "<script" not in text and text.count("</table>") == 1
    (heading, first, *_) = cells(text)
    assert heading[1] == f"12 bits {HOSTILE}" and first[0] == f"DPSH* {HOSTILE}"
    assert {cell.get("data-method") for cell in ElementTree.fromstring(text).iter("td")} == {None, HOSTILE}
