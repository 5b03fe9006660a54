"""The files of rows: sorted, written whole, and no row is lost whoever writes at the same time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import stored_rows
from support.fake_rows import SAMPLE_CELLS, fake_row
from support.one_line import one_line

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import write_text
from hashbench.running.runs.row import Row, to_line
from hashbench.running.runs.store import Line, Store, lines_in

CELL = SAMPLE_CELLS[0]
WRITE = """
import sys
from pathlib import Path
from support.fake_rows import SAMPLE_CELLS, fake_row
from hashbench.running.runs.store import Store
for seed in map(int, sys.argv[2:]):
    Store(Path(sys.argv[1])).write(fake_row(SAMPLE_CELLS[0], seed, ap=0.5))
"""


def row(seed: int, **means: float) -> Row:
    return fake_row(CELL, seed, **means)


@settings(deadline=None, max_examples=20)
@given(st.permutations(range(6)))
def test_a_file_is_the_same_whatever_was_written_first(
    tmp_path_factory: pytest.TempPathFactory, order: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("results")
    for seed in order:
        Store(folder).write(row(seed, ap=0.5))
    text = Store(folder).rows_path("digits", "s1").read_text()
    assert text == "".join(f"{line}\n" for line in sorted(to_line(row(seed, ap=0.5)) for seed in range(6)))
    assert list(Store(folder).rows()) == sorted((row(seed, ap=0.5) for seed in range(6)), key=lambda entry: entry.run)
    assert all(Store(folder).find("digits", "s1", entry.run) == entry for entry in Store(folder).rows())


def test_processes_that_write_at_once_lose_no_row(tmp_path: Path) -> None:
    seeds = [[str(seed) for seed in range(start, 40, 4)] for start in range(4)]
    command = [sys.executable, "-c", WRITE, str(tmp_path)]
    writers = [subprocess.Popen([*command, *entry], cwd=Path(__file__).parents[1]) for entry in seeds]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * 4
    assert sorted(entry.seed for entry in Store(tmp_path).rows()) == list(range(40))
    assert not list((tmp_path / "rows").glob("*.part"))


def test_of_several_files_none_is_changed_where_one_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    store.write(row(0, ap=0.5))
    first, second = (store.rows_path("digits", protocol) for protocol in ("s1", "s2"))
    before = first.read_text()

    def full(path: Path, text: str) -> None:
        if path == second:
            raise HashbenchError("no space left")
        write_text(path, text)

    monkeypatch.setattr("hashbench.running.runs.store.write_text", full)
    with one_line("no space left"), store.changing_all([first, second]) as lines:
        for path, local in lines.items():
            local.append(Line(path, 0, row(1).run, to_line(row(1, ap=0.5))))
    assert first.read_text() == before and not second.exists() and not list(tmp_path.rglob("*.part"))


def test_a_good_row_is_written_once_and_a_failed_one_gives_way(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(fake_row(CELL, 0, "failed"))
    store.write(row(0, ap=0.5))
    with one_line(r"digits-s1\.jsonl:1: the row of .* is written once"):
        store.write(row(0, ap=0.75))
    assert [entry.metrics["ap"].mean for entry in store.rows()] == [0.5]


def test_a_damaged_row_stays_when_others_are_written(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(row(0, ap=0.5))
    stored_rows.damage(tmp_path)
    with one_line("not a readable row"):
        store.write(row(0, ap=0.5))
    store.write(row(1, ap=0.5))
    errors: list[HashbenchError] = []
    assert [entry.seed for entry in store.rows(errors.append)] == [1] and len(errors) == 1


def test_a_second_line_of_a_run_is_a_repeat_and_the_same_line_twice_is_one(tmp_path: Path) -> None:
    """As git leaves a file when two branches have added rows: .gitattributes asks it to keep the lines of both."""
    first = to_line(row(0, ap=0.5))
    second = to_line(row(0, ap=0.75))
    result = lines_in(f"{first}\n{second}\n{first}\n", tmp_path / "digits-s1.jsonl")
    digest = [*json.loads(second).values()][-1]  # of the whole row
    assert [line.name for line in result] == [row(0).run, f"{row(0).run}~{digest[:8]}"]
    assert [line.row().metrics["ap"].mean for line in result] == [0.5, 0.75]
    path = Store(tmp_path).rows_path("digits", "s1")
    path.parent.mkdir()
    path.write_text(f"{second}\n{first}\n")
    Store(tmp_path).write(row(1, ap=0.5))  # the order of the two stays, and with it their names
    assert [entry.metrics["ap"].mean for entry in Store(tmp_path).rows()] == [0.75, 0.5, 0.5]
