"""The page of ``hashbench report``, through main(): what it holds, and that no foreign name becomes markup."""

import json
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from support import stored_rows
from support.command_line import CommandLine
from support.declared_figures import declare
from support.fake_rows import row_of_run, with_config
from support.on_digits import on_digits
from support.report_root import MEANS, report_root, tiny_row

from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.showing.report import page as page_module
from hashbench.showing.report.contents import gather

HOSTILE = '</script><script>alert("1")</script><img src=x onerror=alert(2)>'


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return report_root(tmp_path, monkeypatch)


def written(hashbench: CommandLine, status: int = 0) -> str:
    code, out, error = hashbench("report")
    assert code == status, error
    path = Store.default().folder / "report.html"
    assert out.splitlines() == [str(path)]
    return path.read_text(encoding="utf-8")


def data_of(text: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return dict(json.loads(found))


def element(text: str, table: str, n: int) -> str:
    """The n-th cell of a table, counted row by row from 1."""
    (found,) = re.findall(rf'<td id="{table}\.{n}".*?</td>', text)
    return str(found)


def section(text: str, name: str) -> str:
    return text[text.index(f'<section id="{name}"') :].partition("</section>")[0]


def run_name(method: str, bits: int, seed: int = 0) -> str:
    return tiny_row(method, bits, seed, ap=0.5).run


def test_a_cell_has_published_measured_spread_count_and_what_the_filter_needs(
    hashbench: CommandLine,
) -> None:
    assert element(written(hashbench), "tiny", 1) == (
        '<td id="tiny.1" class="measured" data-dataset="digits" data-method="lsh" data-bits="12" '
        'data-features="pixels" data-kinds="unsupervised shallow" '
        'data-published="0.250000" data-measured="0.260000">'
        '<i class="published">0.25</i> / 0.260&#177;0.014 (2)</td>'
    )


def test_a_cell_outside_its_tolerance_and_an_empty_one_say_so(hashbench: CommandLine) -> None:
    text = written(hashbench)
    assert 'class="outside"' in element(text, "tiny", 3) and "&#8800;" in element(text, "tiny", 3)
    assert 'class="missing"' in element(text, "tiny", 4) and "data-measured" not in element(text, "tiny", 4)


def test_every_cell_names_its_runs_with_commit_machine_and_seconds(hashbench: CommandLine) -> None:
    data = data_of(written(hashbench))
    cell = data["cells"]["tiny.1"]
    assert cell["facts"] == {
        "method": "lsh on digits, protocol s1",
        "settings": "bits=12",
        "metric": "ap",
        "paper": "0.25, He et al. (2018), tie-aware",
        "measured": "0.260 ± 0.014, 2 runs",
        "difference": "+0.010, within the tolerance of 0.020",
        "worst, best": "0.250, 0.270",
    }
    runs = [data["runs"][place] for place in cell["runs"]]
    assert runs == [
        [run_name("lsh", 12, seed), seed, f"train {3600 + seed:,}.0 s, encode 0.2 s, score 0.5 s", 0, group, ap]
        for seed, ap, group in ((0, 0.25, runs[0][4]), (1, 0.27, runs[0][4]))
    ]
    assert data["groups"][runs[0][4]][:5] == ["lsh", "digits", "12", "s1", "pixels"]
    assert data["makers"] == [
        "hashbench 0.1.0, commit 0123456789ab with local changes; A processor, 4 cores, Linux",
    ]


def test_a_trained_run_says_rate_epochs_and_batch(hashbench: CommandLine) -> None:
    untrained = tiny_row("lsh", 24, 1, ap=0.5)
    settings = {"bits": 24, "lr": 0.25, "epochs": 7, "batch_size": 64}
    trained = with_config(tiny_row("lsh", 24, 2, ap=0.5), settings=settings)
    for row in (untrained, trained):
        Store.default().write(row)
    how = {run[0]: run[2] for run in data_of(written(hashbench))["runs"]}
    assert how[untrained.run].startswith("train 3,601.0 s, ")
    assert how[trained.run].startswith("rate 0.25, epochs 7, batch 64, train 3,602.0 s, ")


def test_a_page_of_one_table_has_its_runs_and_figures_only(hashbench: CommandLine) -> None:
    store = Store.default()
    other = on_digits("lsh", {"bits": 32})
    store.write(row_of_run(other, ap=0.5))
    whole = hashbench.json("report")
    assert whole["tables"] == 2
    assert whole["figures"] == 1
    assert whole["runs"] == 6
    for name, figures, runs in (("tiny", 1, 5), ("other", 0, 1)):
        found = hashbench.json("report", name)
        assert found["tables"] == 1
        assert found["figures"] == figures
        assert found["runs"] == runs
        text = (store.folder / "report.html").read_text(encoding="utf-8")
        assert f'id="{name}.1"' in text and (str(other.name) in text) == (name == "other")
    before = (store.folder / "report.html").read_bytes()
    assert "unknown table 'tinny': did you mean tiny?" in hashbench.refused("report tiny tinny")
    assert (store.folder / "report.html").read_bytes() == before


def test_a_page_of_one_table_has_its_picture_and_the_figures_drawn_of_its_cells(
    hashbench: CommandLine, tmp_path: Path
) -> None:
    declare(tmp_path, "lines", 'table = "tiny"\n', cells="", name="of_tiny")
    for name in ("tiny", "other"):
        hashbench.done("report", name)
        text = (Store.default().folder / "report.html").read_text(encoding="utf-8")
        shown = set(re.findall(r'<figure id="([^"]+)"><div class="scroll"><img src="data:image/png', text))
        assert shown == ({"picture-tiny", "figure-tiny", "figure-of_tiny"} if name == "tiny" else set())
    hashbench.done("report")
    assert "picture-tiny" not in (Store.default().folder / "report.html").read_text(encoding="utf-8")


def test_a_panel_says_its_ranks_what_they_rest_on_and_whose_values_they_are(hashbench: CommandLine) -> None:
    board = section(written(hashbench), "leaderboard")
    assert [*re.findall(r"<th scope=\"row\">(\d\. \w+)", board)][:3] == ["1. ITQ", "2. Spherical", "3. LSH"]
    assert "ONE split" in board and '<a href="#tiny">tiny</a>' in board


def test_a_wrong_leaderboard_leaves_the_rest_of_the_page(hashbench: CommandLine, root: Path) -> None:
    (root / "experiments" / "leaderboard.toml").write_text("[panels.x]\n")
    text = written(hashbench, 1)
    assert 'id="leaderboard"' not in text and 'id="tiny"' in text and "leaderboard.toml" in text


def test_machines_are_summed(hashbench: CommandLine) -> None:
    text = section(written(hashbench), "machines")
    n_runs = sum(map(len, MEANS.values()))
    assert f'A processor, 4 cores, Linux</th><td data-measured="{n_runs}.000000" class="number">{n_runs}</td>' in text
    assert "2000-01-01" in text and "3.11.7" in text


def test_what_is_missing_has_the_command_that_makes_it(hashbench: CommandLine) -> None:
    text = section(written(hashbench), "missing")
    assert "<code>hashbench run tiny</code>" in text
    assert (
        '<li data-dataset="digits" data-method="itq" data-bits="24" data-kinds="unsupervised shallow">'
        "AP / ITQ / 24 bits: not run yet<br>"
        "<code>hashbench train itq digits --protocol s1 --bits 24</code></li>"
    ) in text
    assert "AP / Nothing / 12 bits: needs method nothing, which is not installed here</li>" in text
    assert "All of them (about 2.0 hours)" in text  # two runs whose methods took an hour at another size


def test_the_commands_name_the_runs_that_the_cells_wait_for(hashbench: CommandLine) -> None:
    commands = [shlex.split(unescape(found)) for found in re.findall(r"<code>(.*?)</code>", written(hashbench))]
    training = [words[1:] for words in commands if words[1] == "train"]
    assert len(training) == 4
    found = [hashbench.json(*words, "--dry-run")["run"] for words in training]
    assert found[:2] == [run_name("itq", 24), run_name("spherical", 24)]


def test_a_failed_run_says_why(hashbench: CommandLine) -> None:
    Store.default().write(tiny_row("itq", 24, status="failed"))
    assert "AP / ITQ / 24 bits: failed: it diverged" in section(written(hashbench), "missing")


def test_figures_are_inside_the_page(hashbench: CommandLine) -> None:
    text = section(written(hashbench), "figures")
    assert re.search(r'<figure id="figure-tiny"><div class="scroll"><img src="data:image/png;base64,[\w+/=]+" ', text)
    assert "Tiny</b> (He et al. (2018), Figure 0)" in text


def test_a_kept_picture_of_a_figure_that_cannot_be_drawn_here_is_shown(tmp_path: Path) -> None:
    from types import SimpleNamespace

    from PIL import Image

    from hashbench.showing.figures import Drawing
    from hashbench.showing.report.contents import picture

    nothing = Drawing([], (1, 1), lambda _: None, 0, f"not drawn here: {tmp_path}/runs/a: no codes", keeps_files=True)
    spec: Any = SimpleNamespace(name="kept")
    assert picture(spec, nothing, tmp_path).missing == "not drawn here: runs/a: no codes"
    (tmp_path / "figures").mkdir()
    Image.new("RGB", (2760, 100)).save(tmp_path / "figures" / "kept.png")
    assert picture(spec, nothing, tmp_path).size == (690, 25)
    (tmp_path / "figures" / "kept.png").write_bytes(b"damaged")
    assert picture(spec, nothing, tmp_path).data_uri == ""


def test_needs_nothing_from_elsewhere_and_names_no_folder_of_this_machine(
    hashbench: CommandLine, tmp_path: Path
) -> None:
    text = written(hashbench)
    assert not re.findall(r"(?:src|href)=(?!\"(?:data:|#))[^ >]*", text)
    assert "://" not in text and "url(" not in text and "@import" not in text
    assert str(tmp_path) not in text


def test_only_its_own_script_and_style_may_act(hashbench: CommandLine) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', written(hashbench))
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-") and "unsafe" not in policy


def hostile(row: Row) -> Row:
    """The row as a stranger may have written it: well-formed, with markup in all names that can hold it."""
    code = row.code.model_copy(update={"commit": HOSTILE, "version": HOSTILE})
    changes: dict[str, Any] = {"settings": {"note": HOSTILE, "bits": HOSTILE}, "code": code}
    changes |= {"hardware": {"cpu": HOSTILE, "cores": 1}, "versions": {"python": HOSTILE}, "maker": HOSTILE}
    return with_config(row, settings={"lr": [HOSTILE]}).model_copy(update=changes)


def test_names_of_foreign_rows_are_text(hashbench: CommandLine) -> None:
    Store.default().write(hostile(tiny_row("lsh", 24, 5, ap=0.4)))
    known = tiny_row("lsh", 24, 6, ap=0.4)  # this one fills a cell: its machine is in the data of the page
    Store.default().write(known.model_copy(update={"hardware": {"cpu": HOSTILE}}))
    text = written(hashbench)
    assert text.count("<script") == text.count("</script>") == 2 and "<img src=x" not in text
    assert "&lt;img src=x onerror=alert(2)&gt;" in text
    assert any(HOSTILE in maker for maker in data_of(text)["makers"])


def test_texts_of_a_foreign_table_are_text(hashbench: CommandLine, root: Path) -> None:
    path = root / "experiments" / "tables" / "tiny.toml"
    path.write_text(path.read_text().replace('"LSH"', f"'LSH {HOSTILE}'").replace('"Tiny"', f"'{HOSTILE}'"))
    text = written(hashbench)
    assert text.count("<script") == 2 and "<img src=x" not in text and "&lt;/script&gt;" in text


def test_a_damaged_row_is_left_out_and_named_and_the_rest_is_written(hashbench: CommandLine) -> None:
    (name,) = [name for name in stored_rows.names(Store.default().folder) if "itq" in name]
    place = stored_rows.damage(Store.default().folder, name)
    code, _, error = hashbench("report")
    assert code == 1
    assert error.splitlines()[0].startswith(f"error: {place}: not a readable row")
    assert error.splitlines()[-1] == "error: left out of the report: 1: see the errors above"
    text = (Store.default().folder / "report.html").read_text()
    assert f"<li>rows/{Path(place).name}: not a readable row" in section(text, "missing")
    assert 'class="measured"' in element(text, "tiny", 1)


def test_a_broken_table_is_left_out_and_named(hashbench: CommandLine, root: Path) -> None:
    (root / "experiments" / "tables" / "broken.toml").write_text("title = ")
    text = written(hashbench, 1)
    assert "broken.toml" in section(text, "missing") and 'id="tiny"' in text


def test_json_says_what_was_written(hashbench: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    code, out, _ = hashbench("report --out", path, "--json")
    said = json.loads(out)
    assert code == 0
    assert said.pop("size_bytes") == path.stat().st_size
    assert said == {
        "path": str(path),
        "tables": 2,
        "cells": 10,
        "measured": 4,
        "figures": 1,
        "runs": 5,
        "missing_runs": 6,
        "left_out": [],
    }
    assert not (Store.default().folder / "report.html").exists()


def test_an_interrupt_leaves_the_old_page(hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = written(hashbench)

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("hashbench.cli.report.render", interrupted)
    assert hashbench("report").code == 130
    folder = Store.default().folder
    assert (folder / "report.html").read_text(encoding="utf-8") == before
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "rows"]


def test_without_any_row_the_page_is_written_too(hashbench: CommandLine) -> None:
    for path in (Store.default().folder / "rows").glob("*.jsonl"):
        path.unlink()
    text = written(hashbench)
    assert "0 methods, 0 stored runs on 0 machines. 0 of 10 cells of 2 tables are measured." in text


def test_the_page_links_to_the_documentation_where_it_is_built(hashbench: CommandLine) -> None:
    written(hashbench)
    contents = gather(Store.default(), pytest.fail)
    assert ">Documentation</a>" not in page_module.render(contents)
    assert '<a href="../docs/index.html">Documentation</a>' in page_module.render(contents, "../docs/index.html")
