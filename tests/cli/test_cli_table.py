"""``hashbench table`` and ``hashbench status``, through main() as a user meets them."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import stored_rows
from support.command_line import status as run
from support.fake_rows import row_of_cell
from support.small_root import not_installed, small_root

from hashbench.figures import picture
from hashbench.report import files
from hashbench.runs.run import Run
from hashbench.runs.store import Store
from hashbench.tables import spec

UNKNOWN = "unknown (hashbench speed measures a run)"
ABSENT = "needs method nothing, which is not installed here"
TINY = """
title = "Tiny"
paper = "he2018tieaware"
source = "Table 0"
[defaults]
dataset = "digits"
protocol = "s1"
metric = "ap"
tolerance = 0.02
[[groups]]
columns = [{ label = "12 bits", settings = { bits = 12 } }, { label = "24 bits", settings = { bits = 24 } }]
rows = [
  { label = "LSH", method = "lsh", values = [0.25, 0.5] },
  { label = "Nothing", method = "nothing", values = [0.5, 0.5] },
]
"""


@pytest.fixture(autouse=True)
def tiny_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    root = small_root(tmp_path, monkeypatch)
    not_installed("nothing", monkeypatch)
    tables = root / "experiments" / "tables"
    tables.mkdir()
    (tables / "tiny.toml").write_text(TINY)
    (tables / "other.toml").write_text(
        TINY.replace("Tiny", "Other").replace("values = [0.25, 0.5]", "values = [0.9, 0.9]")
    )
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


def measure(bits: int, *means: float, status: str = "ok", first_seed: int = 0) -> None:
    """Stores rows for the cell of so many bits, a seed a mean."""
    cell = next(cell for cell in spec.load("tiny").cells if cell.settings["bits"] == bits)
    for seed, mean in enumerate(means, first_seed):
        means_of = {"ap": mean, "ap_worst": mean / 2, "ap_best": mean} if status == "ok" else {}
        Store.default().write(row_of_cell(cell, seed, status, **means_of))


def test_prints_markdown_with_the_measured_beside_the_published(capsys: pytest.CaptureFixture[str]) -> None:
    measure(12, 0.24, 0.26)
    assert run("table", "tiny") == 0
    out = capsys.readouterr().out
    assert "| LSH     | 0.25 / 0.250±0.014‡ |  0.50 / |" in out
    assert "[0.125, 0.250]" not in out


@pytest.mark.parametrize("format_", ["markdown", "latex"])
def test_interval(capsys: pytest.CaptureFixture[str], format_: str) -> None:
    measure(12, 0.25)
    assert run("table", "tiny", "--interval", "--format", format_) == 0
    assert "0.125, 0.250]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("format_", "begins"),
    [("csv", "section,row,column"), ("latex", "% needs"), ("markdown", "## "), ("html", "<section ")],
)
def test_format(capsys: pytest.CaptureFixture[str], format_: str, begins: str) -> None:
    assert run("table", "tiny", "--format", format_) == 0
    assert capsys.readouterr().out.startswith(begins)


def test_several_tables_are_printed_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("table", "tiny", "other") == 0
    out = capsys.readouterr().out
    assert out.index("## Tiny") < out.index("\n\n## Other")


def test_no_text_imports_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HASHBENCH_ROOT")  # this process has one method more
    code = (
        "import sys\nfrom hashbench.cli._app import main\n"
        "for name in ('markdown', 'latex', 'csv'):\n"
        "    try:\n        main(['table', 'digits', '--format', name])\n"
        "    except SystemExit as exit_:\n        assert not exit_.code\n"
        "    assert 'pandas' not in sys.modules, name"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


def test_write_prints_the_table_then_the_paths(capsys: pytest.CaptureFixture[str]) -> None:
    measure(12, 0.25)
    assert run("table", "tiny", "--write") == 0
    lines = capsys.readouterr().out.splitlines()
    folder = Store.default().folder / "tables"
    assert lines[0] == "## Tiny"
    assert lines[-6:-1] == [str(folder / f"tiny{suffix}") for suffix in (".csv", ".tex", ".md", ".html", ".png")]
    assert lines[-1] == str(folder / "hashbench.bib")
    suffixes = ("csv", "tex", "md", "html", "png")
    assert {path.name for path in folder.iterdir()} == {*(f"tiny.{suffix}" for suffix in suffixes), "hashbench.bib"}
    assert (folder / "tiny.md").read_text().splitlines() == lines[:-6]


def test_write_twice_gives_the_same_bytes() -> None:
    measure(12, 0.25, 0.5)
    folder = Store.default().folder / "tables"
    assert run("table", "tiny", "--write") == 0
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert run("table", "tiny", "--write") == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first
    (folder / "tiny.png").unlink()  # or it would not be drawn again
    assert run("table", "tiny", "--write") == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first


def test_a_picture_is_drawn_again_where_the_table_has_changed_or_the_file_is_not_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(files, "picture", lambda drawing, stamp: drawn.append("tiny") or picture(drawing, stamp))
    measure(12, 0.25, 0.5)
    path = Store.default().folder / "tables" / "tiny.png"
    for _ in range(2):
        assert run("table", "tiny", "--write") == 0
    assert drawn == ["tiny"]
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])
    assert run("table", "tiny", "--write") == 0
    assert (drawn, path.read_bytes()) == (["tiny"] * 2, whole)
    measure(24, 0.5)
    assert run("table", "tiny", "--write") == 0
    assert len(drawn) == 3 and path.read_bytes() != whole


def test_all_write_prints_only_paths_and_draws_nothing_unmeasured(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Store.default().folder / "tables"
    folder.mkdir(parents=True)
    (folder / "tiny.png").write_bytes(b"of rows that are gone")
    assert run("table", "--all", "--write") == 0
    names = [f"{table}{suffix}" for table in ("other", "tiny") for suffix in (".csv", ".tex", ".md", ".html")]
    names.append("hashbench.bib")
    readme = folder.parent / "README.md"
    assert capsys.readouterr().out.splitlines() == [*(str(folder / name) for name in names), str(readme)]
    assert "| [tiny](tables/tiny.md) " in readme.read_text()
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


def test_check_passes_where_every_measured_cell_is_near_and_blanks_do_not_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    measure(12, 0.26)
    assert run("table", "tiny", "--check") == 0
    assert "within their tolerance: 1 of 1" in capsys.readouterr().err


def test_a_check_of_nothing_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("table", "tiny", "--check") == 1
    assert (
        capsys.readouterr().err
        == "error: tiny: nothing to check: no measured cell has a published value and a tolerance\n"
    )
    measure(12, 0.26)
    path = Path(os.environ["HASHBENCH_ROOT"]) / "experiments" / "tables" / "tiny.toml"
    path.write_text(TINY.replace("tolerance = 0.02", ""))
    assert run("table", "tiny", "--check") == 1
    assert "error: tiny: nothing to check: no measured cell has" in capsys.readouterr().err


def test_as_json_it_has_labels_published_and_measured(capsys: pytest.CaptureFixture[str]) -> None:
    measure(12, 0.24, 0.26)
    assert run("table", "tiny", "other", "--json") == 0
    tiny, other = json.loads(capsys.readouterr().out)["tables"]
    assert (tiny["table"], tiny["title"], other["table"]) == ("tiny", "Tiny", "other")
    (section,) = tiny["sections"]
    assert (section["rows"], section["columns"]) == (["LSH", "Nothing"], ["12 bits", "24 bits"])
    first, second = section["cells"][:2]
    assert (first["row"], first["column"], first["published"], first["settings"]) == (
        "LSH",
        "12 bits",
        0.25,
        {"bits": 12},
    )
    assert (first["measured"], first["n_seeds"], first["within_tolerance"]) == (0.25, 2, True)
    assert (second["measured"], second["n_seeds"], second["difference"]) == (None, 0, None)


def test_the_bibliography_has_every_paper_that_the_latex_cites(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("table", "tiny", "--write") == 0
    folder = Store.default().folder / "tables"
    cited = re.findall(r"\\cite\{([^}]*)\}", (folder / "tiny.tex").read_text())
    assert cited == ["he2018tieaware"]
    entries = re.findall(r"^@\w+\{(.*),$", (folder / "hashbench.bib").read_text(), re.MULTILINE)
    assert set(cited) <= set(entries) and len(entries) == len(set(entries))
    assert r"\bibliography{hashbench}" in (folder / "tiny.tex").read_text()


def test_check_fails_where_a_cell_lies_outside(capsys: pytest.CaptureFixture[str]) -> None:
    measure(12, 0.25)
    measure(24, 0.47)
    assert run("table", "tiny", "--check") == 1
    captured = capsys.readouterr()
    assert "outside: tiny: LSH / 24 bits: published 0.5000, measured 0.4700, difference -0.0300" in captured.err
    assert "error: 1 of 2 measured cells lie outside their tolerance" in captured.err
    assert "0.50 ≠ 0.470" in captured.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("table",),
        ("table", "tiny", "--all"),
        ("table", "tinny"),
        ("table", "tiny", "--format", "word"),
        ("status", "x"),
    ],
)
def test_bad_usage_exits_2_with_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("error: ") and captured.err.count("\n") == 1
    assert not (Store.default().folder / "tables").exists()


def test_damaged_row_exits_1_and_names_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    measure(12, 0.25)
    place = stored_rows.damage(Store.default().folder)
    assert run("table", "tiny", "--write") == 1
    assert place in capsys.readouterr().err
    assert not (Store.default().folder / "tables").exists()


@pytest.mark.parametrize(
    ("command", "rest"),
    [
        (("status", "tiny"), "tiny: 1 runs done, 0 failed, 1 missing"),
        (("list", "runs"), "digits-s1-lsh-24b-s0"),
        (("show", "tiny"), "tiny"),
    ],
)
def test_a_damaged_row_is_one_line_and_the_rest_works(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...], rest: str
) -> None:
    measure(12, 0.25)
    stored_rows.damage(Store.default().folder)
    measure(24, 0.5)
    assert run(*command) == 1
    captured = capsys.readouterr()
    assert rest in captured.out
    damaged, last = captured.err.splitlines()
    assert damaged.startswith(f"left out: {Store.default().rows_path('digits', 's1')}:")
    assert last == "error: 1 left out: see the line above"


def test_status_of_a_table_is_a_map_of_its_cells(capsys: pytest.CaptureFixture[str]) -> None:
    measure(12, 0.25, 0.5)
    measure(24, 0.0, status="failed", first_seed=1)
    assert run("status", "tiny", "--seeds", "2") == 0
    assert capsys.readouterr().out.splitlines() == [
        "tiny: 2 runs done, 1 failed, 1 missing; 1 of 4 cells measured, 2 not available",
        f"yet; hours left: {UNKNOWN}",
        "",
        "         12 bits  24 bits  measured",
        "LSH      #        x        1 of 2; seed 1 failed: it diverged",
        "Nothing  -        -        0 of 2; not available yet: needs method nothing,",
        "                           which is not installed here",
        "",
        "# done, + partly, x failed, . missing, - not available yet",
    ]


def test_a_cell_with_some_of_its_runs_is_partly_done(capsys: pytest.CaptureFixture[str]) -> None:
    measure(12, 0.25)
    assert run("status", "tiny", "--seeds", "2") == 0
    assert "LSH      +        .        0 of 2" in capsys.readouterr().out.splitlines()


def test_headings_that_do_not_fit_are_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "root" / "experiments" / "tables" / "tiny.toml"
    labels = {bits: f"a long heading of {bits} bits" for bits in (12, 24, 32, 48)}
    columns = ", ".join(f'{{ label = "{label}", settings = {{ bits = {bits} }} }}' for bits, label in labels.items())
    text = path.read_text().replace("values = [0.25, 0.5]", "values = []").replace("values = [0.5, 0.5]", "values = []")
    path.write_text(re.sub(r"columns = .*", f"columns = [{columns}]", text))
    measure(12, 0.25)
    assert run("status", "tiny") == 0
    names = ", ".join(f"{number} {label}" for number, label in enumerate(labels.values(), 1))
    assert capsys.readouterr().out.splitlines()[3:7] == [
        names,
        "           1  2  3  4  measured",
        "  LSH      #  .  .  .  1 of 4",
        "  Nothing  -  -  -  -  0 of 4; not available yet: needs method nothing, which is",
    ]


def test_status_without_a_table_has_a_line_for_each_table(capsys: pytest.CaptureFixture[str]) -> None:
    measure(12, 0.25)
    measure(24, 0.0, status="failed")
    assert run("status") == 0
    heading, *lines = (line.split() for line in capsys.readouterr().out.splitlines())
    assert heading == ["table", "runs", "done", "missing", "failed", "cells", "not", "yet", "hours", "left"]
    assert lines[0] == ["other", "1", "of", "2", "0", "1", "2", "unknown"]
    assert lines[1] == ["tiny", "1", "of", "2", "0", "1", "2", "unknown"]
    assert run("status", "--format", "csv") == 0
    first, *_ = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (first["table"], first["done"], first["missing"]) == ("other", "1", "0")
    assert run("status", "tiny", "--format", "csv") == 0
    states = [line["state"] for line in csv.DictReader(io.StringIO(capsys.readouterr().out))]
    assert states == ["done", "failed", "not available yet", "not available yet"]


def test_status_of_all_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    measure(12, 0.25)
    assert run("status", "--json") == 0
    other, tiny = json.loads(capsys.readouterr().out)["tables"]
    assert (other["table"], tiny["table"]) == ("other", "tiny")
    assert (tiny["done"], tiny["missing"], tiny["unavailable"]) == (1, 1, 2)
    assert "cells" not in tiny


def test_hours_left_are_those_that_past_runs_took(capsys: pytest.CaptureFixture[str]) -> None:
    measure(12, 0.25)
    changes = {
        "seconds": {"train": 3600.0, "encode": 1000.0, "score": 800.0},
        "config": Run.resolve("digits", "s1", "lsh", {"bits": 12}).name.config,
    }
    stored_rows.edit(Store.default().folder, lambda row: row.update(changes))
    assert run("status", "tiny", "--seeds", "2") == 0  # three runs are missing
    assert "hours left: 4.5" in " ".join(capsys.readouterr().out.split())


def test_status_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    measure(24, 0.0, status="failed")
    assert run("status", "tiny", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {key: found[key] for key in ("table", "seeds", "done", "failed", "missing", "unavailable")} == {
        "table": "tiny",
        "seeds": 1,
        "done": 0,
        "failed": 1,
        "missing": 1,
        "unavailable": 2,
    }
    (failed,) = (cell for cell in found["cells"] if cell["failed"])
    assert failed["failed"] == {"0": "it diverged"} and failed["settings"] == {"bits": 24}


def test_status_counts_runs_that_several_cells_share_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "root" / "experiments" / "tables" / "tiny.toml"
    path.write_text(
        TINY.replace(
            'label = "24 bits", settings = { bits = 24 }', 'label = "NDCG", metric = "ndcg", settings = { bits = 12 }'
        )
    )
    measure(12, 0.25)
    assert run("status", "tiny") == 0
    assert capsys.readouterr().out.startswith("tiny: 1 runs done, 0 failed, 0 missing; 2 of 4 cells measured, 2 not")


def test_a_table_at_a_budget_is_named_so_and_the_former_option_is_translated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("status", "tiny@full", "--json") == 0
    at_budget = capsys.readouterr().out
    for words in (("tiny", "--budget", "full"), ("--budget", "full", "tiny"), ("tiny", "--budget=full")):
        assert run("status", *words, "--json") == 0
        captured = capsys.readouterr()
        assert captured.out == at_budget
        assert captured.err == "note: --budget of hashbench status is now TABLE@full\n"
    assert run("status", "--budget", "full") == 2
    assert "--budget of hashbench status is gone: a table at a budget is TABLE@BUDGET" in capsys.readouterr().err
