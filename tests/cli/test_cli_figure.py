"""``hashbench figure``, and figures in run, status, list and show, through main() as a user meets them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.declared_figures import declare, row_of, tiny
from support.toy_root import toy_root

from hashbench.running.runs.store import Store
from hashbench.showing import figures
from hashbench.showing.report import files

BLANK = """
[[groups]]
dataset = "digits"
protocol = "s1"
metric = "ap"
columns = [{ label = "12", settings = { bits = 12 } }, { label = "24", settings = { bits = 24 } }]
rows = [{ label = "LSH", method = "lsh" }]
"""


@pytest.fixture(autouse=True)
def two_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A root whose figures are ``tiny``, with published values, and ``blank``, with none."""
    toy_root(tmp_path, monkeypatch, "methods", "papers.toml", alone=True)
    declare(tmp_path, "lines")
    declare(tmp_path, "lines", "", BLANK, name="blank")
    yield


def folder() -> Path:
    return Store.default().folder / "figures"


def test_prints_the_points_as_csv(tmp_path: Path, hashbench: CommandLine) -> None:
    figure = tiny(tmp_path, "lines")
    Store.default().write(row_of(figure, "LSH", "12 bits", ap=0.3))
    code, out, error = hashbench("figure tiny")
    assert code == 0
    assert error == "tiny: 1 of 4 points are measured\n"
    assert out.splitlines()[0] == "panel,series,axis,x,metric,published,measured,std,n_seeds,worst,best"
    assert out.splitlines()[1] == "Digits,LSH,bits,12,ap,0.250000,0.300000,,1,,"
    assert not folder().exists()


def test_all_are_written_and_a_blank_one_is_not(hashbench: CommandLine) -> None:
    folder().mkdir(parents=True)
    (folder() / "blank.png").write_bytes(b"of rows that are gone")
    code, out, error = hashbench("figure --all --write")
    assert code == 0
    assert out.splitlines() == [str(folder() / f"tiny{suffix}") for suffix in (".png", ".pdf", ".csv")]
    assert error.splitlines() == [
        "blank: nothing is measured; nothing is drawn: the paper prints no values",
        "tiny: nothing is measured; drawn: the published values",
    ]
    assert sorted(path.name for path in folder().iterdir()) == ["tiny.csv", "tiny.pdf", "tiny.png"]
    before = {path.name: path.read_bytes() for path in folder().iterdir()}
    hashbench.done("figure --all --write")
    assert {path.name: path.read_bytes() for path in folder().iterdir()} == before
    (folder() / "tiny.pdf").unlink()  # or neither picture would be drawn again
    hashbench.done("figure --all --write")
    assert {path.name: path.read_bytes() for path in folder().iterdir()} == before


def test_pictures_are_drawn_again_where_the_points_or_the_figure_have_changed(
    tmp_path: Path, hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    draw = figures.pictures
    monkeypatch.setattr(files, "pictures", lambda drawing, stamp: drawn.append(stamp) or draw(drawing, stamp))
    for _ in range(2):
        hashbench.done("figure tiny --write")
    assert len(drawn) == 1
    Store.default().write(row_of(tiny(tmp_path, "lines"), "LSH", "12 bits", ap=0.3))
    hashbench.done("figure tiny --write")
    assert len(drawn) == 2
    declare(tmp_path, "lines", 'width = "column"\n')
    hashbench.done("figure tiny --write")
    assert len(set(drawn)) == 3


def test_json_has_all_points(hashbench: CommandLine) -> None:
    out = hashbench.done("figure tiny blank --json").out
    first, second = json.loads(out)["figures"]
    assert first["name"] == "tiny"
    assert first["kind"] == "lines"
    assert first["paper"] == "he2018tieaware"
    assert first["n_measured"] == 0
    assert [point["published"] for point in first["points"]] == [0.25, 0.5, None, 0.75]
    assert second["name"] == "blank"
    assert second["points"] == []


def test_a_broken_figure_does_not_hide_the_others(tmp_path: Path, hashbench: CommandLine) -> None:
    path = declare(tmp_path, "lines", "colour = 3\n", name="broken")
    code, out, error = hashbench("figure --all --write")
    assert code == 2
    assert str(folder() / "tiny.png") in out.splitlines()
    assert f"error: {path}: unknown key 'colour': " in error
    assert error.splitlines()[-1] == "error: 1 of 3 figures cannot be drawn: see the errors above"


def test_a_damaged_row_is_refused_where_a_figure_is_kept(tmp_path: Path, hashbench: CommandLine) -> None:
    row = row_of(tiny(tmp_path, "lines"), "LSH", "12 bits", ap=0.3)
    Store.default().write(row)
    path = Store.default().rows_path(row.dataset, row.protocol)
    path.write_text(path.read_text().replace("0.3", "1.3"))
    code, out, error = hashbench("figure tiny")
    assert code == 1 and out and error.startswith(f"left out: {path}")
    assert error.endswith("error: 1 left out: see the line above\n") and error.count("\n") == 3
    assert hashbench("figure tiny --write").code == 1
    assert not folder().exists()


def test_run_and_status_take_the_cells_of_a_figure(hashbench: CommandLine) -> None:
    lines = hashbench.done("run blank --dry-run").lines
    assert [name.rsplit("-", 2)[0] for name in lines] == ["digits-s1-lsh-12b", "digits-s1-lsh-24b"]
    lines = hashbench.done("status blank").lines
    assert lines[0] == "blank" and "2: 0 done, 0 failed, 2 missing" in lines[3]
    lines = hashbench.done("status").lines
    assert [line.split()[0] for line in lines] == ["table", "blank", "tiny"]


def test_list_and_show(hashbench: CommandLine) -> None:
    assert figures.names() == ["blank", "tiny"]
    lines = hashbench.done("list figures").lines
    assert lines == ["blank  Tiny. He et al. (2018)", "tiny   Tiny. He et al. (2018)"]
    lines = hashbench.done("show tiny").lines
    assert "drawn  nothing is measured; drawn: the published values" in lines
    assert lines[-3:] == [f"$ hashbench {verb} tiny" for verb in ("run", "status", "figure")]
