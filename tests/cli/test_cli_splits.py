"""``--splits N`` of run, status and table: N splits a cell, and a table that says over what its deviation is."""

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


def test_each_cell_is_run_on_each_split_with_each_seed(hashbench: CommandLine, tmp_path: Path) -> None:
    names = hashbench("run tiny --splits 3 --seeds 2 --dry-run").out.split()
    assert [name.rsplit("-", 1)[0].removeprefix("digits-s1-lsh-4b-") for name in names] == [
        *("s0", "s1", "split1-s0", "split1-s1", "split2-s0", "split2-s1")
    ]
    hashbench.done("run tiny --seeds 2")
    assert hashbench("run tiny --splits 3 --seeds 2 --dry-run").out.split() == names[2:]
    code, _, err = hashbench("run tiny --splits 2 --seeds 2")
    assert code == 0 and "4 runs, 2 done, 2 to do" in err
    rows = {row.run: row for row in Store(tmp_path / "results").rows()}
    assert set(rows) == set(names[:4])
    assert [rows[name].split_seed for name in names[:4]] == [None, None, 1, 1]
    assert len({row.ids_sha256 for row in rows.values()}) == 2


def test_a_table_shows_the_own_split_or_says_over_how_many_its_deviation_is(
    hashbench: CommandLine, tmp_path: Path
) -> None:
    hashbench("run tiny --splits 2 --seeds 2")
    own = hashbench("table tiny --format csv").out
    both = hashbench("table tiny --splits 2 --format csv").out
    (one,), (two,) = (list(csv.DictReader(io.StringIO(text))) for text in (own, both))
    numbers = [(cell["n_splits"], cell["n_seeds"], cell["n_runs"]) for cell in (one, two)]
    assert numbers == [("1", "2", "2"), ("2", "2", "4")]
    means = {(row.split_seed, row.seed): row.metrics["ap"].mean or 0 for row in Store(tmp_path / "results").rows()}
    assert float(one["measured"]) == pytest.approx((means[None, 0] + means[None, 1]) / 2, abs=1e-6)
    assert float(two["measured"]) == pytest.approx(sum(means.values()) / 4, abs=1e-6)
    text = hashbench("table tiny").out
    assert "standard deviation over 2 seeds of one split: the spread of training alone)" in text
    text = hashbench("table tiny --splits 2").out
    assert text.startswith("## Tiny, on 2 splits\n") and "standard deviation over 2 splits x 2 seeds)" in text
    written = hashbench("table tiny --splits 2 --write")
    assert written[0] == 0
    assert {path.stem for path in (tmp_path / "results" / "tables").glob("*.md")} == {"tiny_splits2"}


def test_status_counts_the_runs_of_each_split(hashbench: CommandLine) -> None:
    hashbench("run tiny --splits 2")
    status = hashbench.json("status tiny --splits 3 --seeds 2")
    assert status["done"] == 2
    assert status["missing"] == 4
    (cell,) = status["cells"]
    assert cell["done"] == [0, "0 of split 1"]
    assert cell["missing"] == [1, "1 of split 1", "0 of split 2", "1 of split 2"]


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
