"""LaTeX: literal text, as many cells as columns, and it compiles where a TeX is."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.fake_rows import assert_golden, fake_hash, sample_spec, sample_table

from hashbench.tables import spec
from hashbench.tables.collect import collect
from hashbench.tables.papers import all_bibtex, papers
from hashbench.tables.render_latex import SPECIAL, escape, render_latex
from hashbench.tables.render_markdown import render_markdown


def test_a_table_may_show_distinct_codes_without_being_asked() -> None:
    shows = replace(sample_table(), distinct=True)
    assert render_latex(shows) == render_latex(sample_table(), distinct=True) != render_latex(sample_table())
    assert render_markdown(shows) == render_markdown(sample_table(), distinct=True) != render_markdown(sample_table())


@pytest.mark.parametrize("shown", ["", "interval", "distinct"])
def test_golden(shown: str) -> None:
    name = f"sample_{shown}.tex" if shown else "sample.tex"
    assert_golden(name, render_latex(sample_table(), interval=shown == "interval", distinct=shown == "distinct"))


def test_a_tie_dependent_cell_and_the_spread_of_training_are_in_the_legend() -> None:
    text = render_latex(sample_table(), distinct=True)
    assert "over 1 to 3 seeds of one split: the spread of training alone)" in text
    assert r"$^\ddagger$: tie-dependent: the worst and the best AP" in text
    assert row("DPSH{*}")[1].endswith(r"$^\ddagger$")
    assert text.count(r"\ddagger") == 2
    assert text.count(r"$^\ddagger$ \{2, 1201\} &") == 1
    assert r"\{distinct codes of the queries, of the database\}" in text


def test_same_bytes_again() -> None:
    assert render_latex(sample_table()) == render_latex(sample_table())


def row(label: str) -> list[str]:
    (line,) = (line for line in render_latex(sample_table()).splitlines() if line.startswith(f"{label} &"))
    return [cell.strip() for cell in line.removesuffix(r"\\").split("&")][1:]


def test_missing_is_blank() -> None:
    assert row("To come") == [r"\textit{0.500}", "", r"\textit{0.500}", "", "", ""]
    assert row("DPSH{*}")[4:] == ["", "0.000"]


def test_nowhere_two_hyphens() -> None:
    assert "--" not in render_latex(sample_table(), interval=True)


def test_published_in_italics_measured_upright_best_in_bold() -> None:
    cells = row("MIHash")
    assert cells[0] == r"\textit{0.687}"
    assert cells[1] == r"\textbf{0.723}\,$\pm$\,0.006$^\dagger$"
    assert row("DPSH{*}")[1].startswith(r"\textbf{0.723}")
    assert all(r"\textit" not in cell for cell in cells[1::2])


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
    head = "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n\\usepackage{booktabs}\n\\begin{document}\n"
    end = "\\bibliographystyle{plain}\n\\bibliography{hashbench}\n\\end{document}\n"
    (tmp_path / "all.tex").write_text(f"{head}{tables}{end}", encoding="utf-8")
    (tmp_path / "hashbench.bib").write_text(all_bibtex(), encoding="utf-8")
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    for command in (latex, ["bibtex", "all"], latex, latex):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
    assert "undefined" not in done.stdout  # each \cite has its entry


@pytest.mark.parametrize("name", spec.names())
def test_each_paper_that_is_cited_has_an_entry(name: str) -> None:
    text = render_latex(collect(spec.load(name), [], None, hash_of=fake_hash))
    cited = re.findall(r"\\cite\{([^}]*)\}", text)
    assert cited and set(cited) <= set(papers())
