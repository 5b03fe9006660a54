"""Tables whose repeats are splits, in run, status and table: seed r on split r, and what the deviation is over."""

import csv
import io
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.toy_root import declare_table, table_of, toy_root

from hashbench.running.runs.store import Store


@pytest.fixture(autouse=True)
def tiny_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy_root(tmp_path, monkeypatch, "methods", "papers.toml", alone=True)
    declare_table(table_of({"lsh": [0.25]}, [4]))
    record = table_of({"lsh": [0.25]}, [4], head='repeats = "splits"')
    declare_table(record, "record")


def test_of_a_table_whose_repeats_are_splits_repeat_r_is_seed_r_on_split_r(
    hashbench: CommandLine, tmp_path: Path
) -> None:
    names = hashbench("run record --seeds 3 --dry-run").out.split()
    assert names[:1] == hashbench("run tiny --dry-run").out.split()  # the row of the published split stays
    assert [name.rsplit("-", 1)[0].removeprefix("digits-s1-lsh-4b-") for name in names] == [
        *("s0", "split1-s1", "split2-s2")
    ]
    assert "2 runs, 0 done, 2 to do" in hashbench("run record --seeds 2").err
    assert "2 runs, 2 done, 0 to do" in hashbench("run record --seeds 2").err
    rows = {row.run: row for row in Store(tmp_path / "results").rows()}
    assert rows.keys() == {*names[:2]}
    (cell_runs,) = hashbench.json("status record --seeds 3")["cells"]
    assert cell_runs["done"] == [0, "1 of split 1"]
    assert cell_runs["missing"] == ["2 of split 2"]
    (cell,) = csv.DictReader(io.StringIO(hashbench("table record --format csv").out))
    assert cell["n_splits"] == "2"
    assert cell["n_seeds"] == "1"
    assert cell["runs"] == ";".join(names[:2])
    means = [row.metrics["ap"].mean or 0 for row in rows.values()]
    assert float(cell["measured"]) == pytest.approx(sum(means) / 2, abs=1e-6)


def test_a_cell_without_further_splits_shows_its_seeds_and_a_mark(hashbench: CommandLine) -> None:
    hashbench("run tiny --seeds 2")
    text = hashbench("table record").out
    assert "over 2 seeds of one split: the spread of training alone" in text
    assert "‡¹ |" in text and "¹ rows of one split, so that nothing is claimed." in text
    assert "$^1$" in hashbench("table record --format latex").out
    hashbench("run record --seeds 2")
    text = hashbench("table record").out
    assert "over 2 splits x 1 seed)" in text and "¹" not in text
