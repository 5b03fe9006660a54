"""``hashbench table`` and ``hashbench status``: what they print and write of stored rows."""

import csv
import re
from pathlib import Path

import pytest
from support import stored_rows
from support.command_line import CommandLine
from support.fake_rows import row_of_cell
from support.on_digits import on_digits
from support.toy_root import declare_table, table_of, toy_root

from hashbench.running.runs.store import Store
from hashbench.showing.figures import picture
from hashbench.showing.report import files
from hashbench.showing.tables import spec

PUBLISHED = {"lsh": [0.25, 0.5], "itq": [0.5, 0.5]}
TINY = table_of(PUBLISHED, defaults="tolerance = 0.02")


@pytest.fixture(autouse=True)
def two_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables ``tiny`` and ``other`` of LSH, and of ITQ as if it were of a package that is not here."""
    toy_root(tmp_path, monkeypatch, "methods", "papers.toml", alone=True)
    declare_table(TINY)
    declare_table(table_of({**PUBLISHED, "lsh": [0.9, 0.9]}, title="Other", defaults="tolerance = 0.02"), "other")
    load = spec.load
    monkeypatch.setattr(spec, "load", lambda *names: load(*names).model_copy(update={"not_installed": ["itq"]}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results" / "tables"


def measure(bits: int, *means: float, status: str = "ok", first_seed: int = 0) -> None:
    """Stores rows for the cell of LSH of so many bits, a seed a mean."""
    cell = next(cell for cell in spec.load("tiny").cells if cell.settings["bits"] == bits)
    for seed, mean in enumerate(means, first_seed):
        means_of = {"ap": mean, "ap_worst": mean / 2, "ap_best": mean} if status == "ok" else {}
        Store.default().write(row_of_cell(cell, seed, status, **means_of))


def test_measured_values_stand_beside_the_published(hashbench: CommandLine) -> None:
    measure(12, 0.24, 0.26)
    out = hashbench.done("table tiny").out
    assert "| LSH | 0.25 / 0.250±0.014‡ |  0.50 / |" in out
    assert "[0.12" not in out
    both = hashbench.done("table tiny other").out
    assert both.startswith(out.strip()) and "\n\n## Other" in both


@pytest.mark.parametrize("format_", ["markdown", "latex"])
def test_interval(hashbench: CommandLine, format_: str) -> None:
    measure(12, 0.25)
    assert "0.125, 0.250]" in hashbench.done(f"table tiny --interval --format {format_}").out


def test_write_prints_the_table_then_the_paths_and_twice_gives_the_same_bytes(
    hashbench: CommandLine, folder: Path
) -> None:
    measure(12, 0.25, 0.5)
    lines = hashbench.done("table tiny --write").lines
    names = [*(f"tiny{suffix}" for suffix in (".csv", ".tex", ".md", ".html", ".png")), "hashbench.bib"]
    assert lines[-6:] == [str(folder / name) for name in names]
    assert (folder / "tiny.md").read_text().splitlines() == lines[:-6]
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert first.keys() == set(names)
    hashbench.done("table tiny --write")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first
    (folder / "tiny.png").unlink()  # or it would not be drawn again
    hashbench.done("table tiny --write")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first


def test_a_picture_is_drawn_again_where_the_table_has_changed_or_the_file_is_not_whole(
    hashbench: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(files, "picture", lambda drawing, stamp: drawn.append("tiny") or picture(drawing, stamp))
    measure(12, 0.25, 0.5)
    for _ in range(2):
        hashbench.done("table tiny --write")
    assert len(drawn) == 1
    path = folder / "tiny.png"
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])
    hashbench.done("table tiny --write")
    assert len(drawn) == 2
    assert path.read_bytes() == whole
    measure(24, 0.5)
    hashbench.done("table tiny --write")
    assert len(drawn) == 3 and path.read_bytes() != whole


def test_all_write_prints_only_paths_and_draws_nothing_unmeasured(hashbench: CommandLine, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "tiny.png").write_bytes(b"of rows that are gone")
    names = [f"{table}{suffix}" for table in ("other", "tiny") for suffix in (".csv", ".tex", ".md", ".html")]
    names.append("hashbench.bib")
    readme = folder.parent / "README.md"
    assert hashbench.done("table --all --write").lines == [*(str(folder / name) for name in names), str(readme)]
    assert "| [tiny](tables/tiny.md) " in readme.read_text()
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


def test_a_check_of_cells_passes_fails_or_finds_nothing_to_check(hashbench: CommandLine) -> None:
    assert hashbench("table tiny --check")[::2] == (
        1,
        "error: tiny: nothing to check: no measured cell has a published value and a tolerance\n",
    )
    measure(12, 0.26)
    assert "within their tolerance: 1 of 1" in hashbench.done("table tiny --check").err
    measure(24, 0.47)
    code, out, err = hashbench("table tiny --check")
    assert code == 1 and "0.50 ≠ 0.470" in out
    assert "outside: tiny: LSH / 24 bits: published 0.5000, measured 0.4700, difference -0.0300" in err
    assert "error: 1 of 2 measured cells lie outside their tolerance" in err
    declare_table(table_of(PUBLISHED))
    code, _, err = hashbench("table tiny --check")
    assert code == 1 and "error: tiny: nothing to check: no measured cell has" in err


def test_as_json_it_has_labels_published_and_measured(hashbench: CommandLine) -> None:
    measure(12, 0.24, 0.26)
    tiny, other = hashbench.json("table tiny other")["tables"]
    assert tiny["table"] == "tiny"
    assert tiny["title"] == "Tiny"
    assert other["table"] == "other"
    (section,) = tiny["sections"]
    assert section["rows"] == ["LSH", "ITQ"]
    assert section["columns"] == ["12 bits", "24 bits"]
    first, second = section["cells"][:2]
    cell = {"row": "LSH", "column": "12 bits", "published": 0.25, "settings": {"bits": 12}}
    cell |= {"measured": 0.25, "n_seeds": 2, "within_tolerance": True}
    assert {key: first[key] for key in cell} == cell
    assert second["measured"] is None
    assert second["n_seeds"] == 0
    assert second["difference"] is None


def test_the_bibliography_has_every_paper_that_the_latex_cites(hashbench: CommandLine, folder: Path) -> None:
    hashbench.done("table tiny --write")
    latex = (folder / "tiny.tex").read_text()
    assert re.findall(r"\\cite\{([^}]*)\}", latex) == ["he2018tieaware"]
    entries = re.findall(r"^@\w+\{(.*),$", (folder / "hashbench.bib").read_text(), re.MULTILINE)
    assert "he2018tieaware" in entries and len(entries) == len(set(entries))
    assert r"\bibliography{hashbench}" in latex


def test_a_damaged_row_is_named_and_nothing_is_written(hashbench: CommandLine, folder: Path) -> None:
    measure(12, 0.25)
    place = stored_rows.damage(Store.default().folder)
    code, _, err = hashbench("table tiny --write")
    assert code == 1 and place in err
    assert not folder.exists()


def test_status_of_a_table_is_a_map_of_its_cells(hashbench: CommandLine) -> None:
    measure(12, 0.25)
    assert "LSH  +        .        0 of 2" in hashbench.done("status tiny --seeds 2").lines  # some of its runs
    measure(12, 0.5, first_seed=1)
    measure(24, 0.0, status="failed", first_seed=1)
    assert hashbench.done("status tiny --seeds 2").lines == [
        "tiny",
        "",
        "cells       4: 1 measured, 1 failed, 2 not available yet",
        "runs        4: 2 done, 1 failed, 1 missing",
        "hours left  unknown: no stored row tells; hashbench speed measures a run",
        "",
        "     12 bits  24 bits  measured",
        "LSH  #        x        1 of 2; seed 1 failed: it diverged",
        "ITQ  -        -        0 of 2; not available yet: needs method itq, which is not",
        "                       installed here",
        "",
        "# done, + partly, x failed, . missing, - not available yet",
    ]


def test_headings_that_do_not_fit_are_numbers(hashbench: CommandLine) -> None:
    text = table_of({"lsh": [], "itq": []}, [12, 24, 32, 48])
    declare_table(re.sub(r'label = "(\d+) bits"', r'label = "a long heading of \1 bits"', text))
    measure(12, 0.25)
    assert hashbench.done("status tiny").lines[6:10] == [
        ", ".join(f"{number} a long heading of {bits} bits" for number, bits in enumerate((12, 24, 32, 48), 1)),
        "       1  2  3  4  measured",
        "  LSH  #  .  .  .  1 of 4",
        "  ITQ  -  -  -  -  0 of 4; not available yet: needs method itq, which is not",
    ]


def test_status_without_a_table_has_a_line_for_each_table(hashbench: CommandLine) -> None:
    measure(12, 0.25)
    measure(24, 0.0, status="failed")
    heading, *lines = (line.split() for line in hashbench.done("status").lines)
    assert heading == ["table", "cells", "measured", "runs", "done", "failed", "hours", "left"]
    assert lines[:2] == [[name, "1", "of", "4", "1", "of", "2", "1", "unknown"] for name in ("other", "tiny")]
    first, *_ = csv.DictReader(hashbench.done("status --format csv").lines)
    assert first["table"] == "other"
    assert first["done"] == "1"
    assert first["missing"] == "0"
    other, tiny = hashbench.json("status")["tables"]
    assert other["table"] == "other"
    assert tiny["table"] == "tiny"
    assert tiny["done"] == 1
    assert tiny["missing"] == 0
    assert tiny["unavailable"] == 2
    assert "cells" not in tiny
    states = [line["state"] for line in csv.DictReader(hashbench.done("status tiny --format csv").lines)]
    assert states == ["done", "failed", "not available yet", "not available yet"]
    tiny = hashbench.json("status tiny")
    facts = {"table": "tiny", "seeds": 1, "done": 1, "failed": 1, "missing": 0, "unavailable": 2}
    assert {key: tiny[key] for key in facts} == facts
    (failed,) = (cell for cell in tiny["cells"] if cell["failed"])
    assert failed["failed"] == {"0": "it diverged"} and failed["settings"] == {"bits": 24}


def test_hours_left_are_those_that_past_runs_took(hashbench: CommandLine) -> None:
    measure(12, 0.25)
    seconds = {"train": 3600.0, "encode": 1000.0, "score": 800.0}
    config = on_digits("lsh", {"bits": 12}).name.config
    stored_rows.edit(Store.default().folder, lambda row: row.update(seconds=seconds, config=config))
    assert "hours left 4.5" in hashbench.done("status tiny --seeds 2").text  # three runs are missing


def test_status_counts_runs_that_several_cells_share_once(hashbench: CommandLine) -> None:
    of_24 = 'label = "24 bits", settings = { bits = 24 }'
    declare_table(TINY.replace(of_24, 'label = "NDCG", metric = "ndcg", settings = { bits = 12 }'))
    measure(12, 0.25)
    lines = hashbench.done("status tiny").lines
    assert lines[2:4] == [
        "cells       4: 2 measured, 2 not available yet",
        "runs        1: 1 done, 0 failed, 0 missing",
    ]
