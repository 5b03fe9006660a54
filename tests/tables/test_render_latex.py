"""LaTeX: literal text, as many cells as columns, and it compiles where a TeX is."""

import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
from support.fake_rows import SAMPLE, assert_golden, fake_hash, fake_row, sample_spec, sample_table
from support.rendered import rendered

from hashbench.foundation.provenance import Code
from hashbench.showing.inks.latex import SPECIAL, TEXT_HEIGHT, TEXT_WIDTH, escape
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.footnotes import footnotes
from hashbench.showing.tables.papers import all_bibtex, papers
from hashbench.showing.tables.table import Table

render_latex = partial(rendered, output="latex")
render_markdown = partial(rendered, output="markdown")


@pytest.mark.parametrize("shown", ["", "interval", "distinct"])
def test_golden(shown: str) -> None:
    name = f"sample_{shown}.tex" if shown else "sample.tex"
    assert_golden(name, render_latex(sample_table(distinct=shown == "distinct"), interval=shown == "interval"))


def compared(*means: list[float]) -> list[str]:
    """The one column of a table whose rows have these means of their seeds."""
    labels = [f"row {place}" for place in range(len(means))]
    rows = [{"label": label, "method": "mihash", "settings": {"lr": place}} for place, label in enumerate(labels)]
    columns = SAMPLE["groups"][0]["columns"][:1]
    spec = sample_spec(groups=[{"columns": columns, "rows": rows}])
    stored = [
        fake_row(cell, seed, ap=mean)
        for cell, of in zip(spec.cells, means, strict=True)
        for seed, mean in enumerate(of)
    ]
    text = render_latex(collect(spec, stored, None, hash_of=fake_hash))
    return [line.partition(" & ")[2].removesuffix(r" \\") for line in text.splitlines() if line.startswith("row ")]


@pytest.mark.parametrize("second, is_bold", [([0.58, 0.6], False), ([0.69, 0.70999], True)])
def test_the_highest_mean_as_it_is_printed_is_bold(second: list[float], is_bold: bool) -> None:
    found = compared([0.1, 0.1], second, [0.69, 0.71])
    assert [cell.startswith(r"\textbf{") for cell in found] == [False, is_bold, True]


def test_the_footnotes_say_what_the_values_were_footnotes() -> None:
    spec = sample_spec(groups=[SAMPLE["groups"][0]])
    dpsh = spec.cells[0]
    mihash = spec.cells[3]
    rows = [fake_row(dpsh, ap=0.5), fake_row(mihash, 0, ap=0.6), fake_row(mihash, 1, ap=0.6)]
    config = {**rows[0].config, "settings": {"model": "linear", "features": "vggf_1a"}}
    dirty = Code(version="0", commit="c0ffee" * 7, dirty=True)
    clean = Code(version="0", commit="abc", dirty=False)
    rows[0] = rows[0].model_copy(update={"config": config, "code": dirty})
    rows[1:] = [row.model_copy(update={"code": clean}) for row in rows[1:]]
    lines = render_latex(collect(spec, rows, None, hash_of=fake_hash)).splitlines()
    assert r"Networks and features: linear on vggf\_1a (dpsh); pixels (mihash).\\" in lines
    assert r"Data: digits s1, the split of the protocol. Schedule: full.\\" in lines
    assert r"1 of 3 runs are of code with changes that are not committed, after c0ffeec0ff.\\" in lines
    assert not any("commit of the code is not known" in line for line in lines)


def test_the_footnotes_name_other_splits_and_what_no_commit_describes() -> None:
    spec = sample_spec(groups=[SAMPLE["groups"][0]], repeats="splits")
    rows = [fake_row(spec.cells[0], seed, split_seed=split, ap=0.5) for seed, split in ((0, None), (1, 1))]
    found = footnotes(collect(spec, rows, None, hash_of=fake_hash))
    assert found == (
        "Processor: unknown.",
        "Network or features: pixels.",
        "Data: digits s1, the split of the protocol, and those of the seeds 1. Schedule: full.",
        "The commit of the code is not known of 2 of 2 runs.",
    )


def test_a_table_without_rows_was_made_with_nothing() -> None:
    assert footnotes(collect(sample_spec(), [], None, hash_of=fake_hash)) == ()


@pytest.mark.parametrize("name", spec.names())
def test_rows_have_as_many_cells_as_their_tabular(name: str) -> None:
    text = render_latex(collect(spec.load(name), [], None, hash_of=fake_hash))
    tabulars = re.findall(r"\\begin\{tabular\}\{l(r+)\}(.*?)\\end\{tabular\}", text, re.DOTALL)
    assert len(tabulars) == text.count(r"\begin{tabular}")
    for columns, body in tabulars:
        for line in body.splitlines():
            if line.endswith(r"\\") and "multicolumn" not in line:
                assert len(re.findall(r"(?<!\\)&", line)) == len(columns), line
    assert re.sub(r"\\[{}]", "", text).count("{") == re.sub(r"\\[{}]", "", text).count("}")


@pytest.mark.parametrize("sign", SPECIAL)
def test_special_signs_are_escaped(sign: str) -> None:
    assert escape(f"a{sign}b") == f"a{SPECIAL[sign]}b"


def test_escape_keeps_hyphens_apart_and_text_on_one_line() -> None:
    assert escape("a---b\nc") == "a-{}-{}-b c"


@pytest.mark.skipif(not (shutil.which("pdflatex") and shutil.which("bibtex")), reason="no pdflatex, or no bibtex")
@pytest.mark.parametrize("interval", [False, True])
def test_compiles(tmp_path: Path, interval: bool) -> None:
    special = sample_spec(title=" ".join(sign for sign in SPECIAL if sign != "\\") + r" \ [ -- end")
    table = collect(special, [], None, hash_of=fake_hash)
    tables = render_latex(sample_table(), interval=interval) + render_latex(table)
    declared = [collect(spec.load(name), [], None, hash_of=fake_hash) for name in spec.names()]
    tables += "\\clearpage\n".join(render_latex(each) for each in declared)
    page = f"\\textwidth={TEXT_WIDTH}pt\n\\textheight={TEXT_HEIGHT}pt\n"
    packages = "\\usepackage[utf8]{inputenc}\n\\usepackage{booktabs}\n"
    head = f"\\documentclass{{article}}\n{packages}{page}\\begin{{document}}\n"
    end = "\\bibliographystyle{plain}\n\\bibliography{hashbench}\n\\end{document}\n"
    (tmp_path / "all.tex").write_text(f"{head}{tables}{end}", encoding="utf-8")
    (tmp_path / "hashbench.bib").write_text(all_bibtex(), encoding="utf-8")
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    for command in (latex, ["bibtex", "all"], latex, latex):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
    assert "undefined" not in done.stdout  # each \cite has its entry
    assert "Float too large" not in done.stdout
    assert "Overfull \\hbox" not in done.stdout


def long_table(n_rows: int, n_columns: int) -> Table:
    """A measured table with so many rows and columns of one method."""
    rows = [{"label": f"row {place}", "method": "mihash", "settings": {"lr": place}} for place in range(n_rows)]
    columns = [{"label": f"{bits} bits", "settings": {"bits": bits}} for bits in range(8, 8 + n_columns)]
    group = {**SAMPLE["groups"][0], "columns": columns, "rows": rows}
    spec = sample_spec(groups=[group])
    return collect(spec, [fake_row(cell, ap=0.5) for cell in spec.cells], None, hash_of=fake_hash)


def test_a_table_that_is_higher_than_a_page_is_several_floats_with_one_number() -> None:
    text = render_latex(long_table(100, 1))
    floats = text.split(r"\end{table}")[:-1]
    assert len(floats) == 2
    assert floats[0].count(r"\label{") == 1 and r"\addtocounter" not in floats[0]
    assert floats[1].count(r"\label{") == 0 and floats[1].count(r"\addtocounter{table}{-1}") == 1
    assert ", continued.}" in floats[1]
    assert "highest mean" not in floats[0] and floats[1].count("measured (") == 1  # the notes are below the last
    found = re.findall(r"^row (\d+) &", text, re.MULTILINE)
    assert found == [str(place) for place in range(100)]


def test_columns_that_are_wider_than_the_text_go_on_below() -> None:
    text = render_latex(long_table(2, 20))
    widths = [len(columns) for columns in re.findall(r"\\begin\{tabular\}\{l(r+)\}", text)]
    assert sum(widths) == 20 and len(widths) == 2
    assert re.findall(r"\d+ bits", text) == [f"{bits} bits" for bits in range(8, 28)]
    assert len(re.findall(r"\\begin\{tabular\}", render_latex(long_table(2, 10)))) == 1


@pytest.mark.parametrize("name", spec.names())
def test_each_paper_that_is_cited_has_an_entry(name: str) -> None:
    text = render_latex(collect(spec.load(name), [], None, hash_of=fake_hash))
    cited = re.findall(r"\\cite\{([^}]*)\}", text)
    assert cited and set(cited) <= set(papers())
