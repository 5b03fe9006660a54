"""``hashbench eval``, through its runner and as a process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from hashbench import saved_codes
from hashbench.affinity import ClassAffinity
from hashbench.cli.eval import command
from hashbench.codes import pack
from hashbench.errors import HashbenchError
from hashbench.saved_codes import SavedCodes

app = typer.Typer()
app.command()(command)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """One query of class 0; its only relevant item ties with another at distance 0: AP 3/4, in [1/2, 1]."""
    database = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1]], np.uint8)
    return written(tmp_path / "codes.npz", database, query_class=0)


def written(path: Path, database: np.ndarray, query_class: int) -> Path:
    labels = ClassAffinity(np.array([query_class]), np.array([0, 1, 1]))
    saved_codes.save(path, SavedCodes(pack(np.zeros((1, 3), np.uint8)), pack(database), labels))
    return path


def run_json(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_json_is_one_object_with_the_default_metrics(file: Path) -> None:
    printed = run_json(str(file))
    assert {key: value for key, value in printed.items() if key != "metrics"} == {
        "file": str(file),
        "n_queries": 1,
        "n_database": 3,
        "n_bits": 3,
    }
    assert list(printed["metrics"]) == ["ap", "ap_worst", "ap_best", "ndcg"]
    assert printed["metrics"]["ap"] == {"mean": pytest.approx(0.75), "std": 0.0, "n_queries": 1, "n_empty": 0}
    assert printed["metrics"]["ap_worst"]["mean"] == pytest.approx(0.5)
    assert printed["metrics"]["ap_best"]["mean"] == pytest.approx(1.0)


def test_json_keeps_the_order_asked_and_gives_canonical_names(file: Path) -> None:
    asked = ["ndcg@2", "ap(norm=all)@5", "ap(norm=retrieved)@1000", "ap-best"]
    printed = run_json(str(file), *(part for name in asked for part in ("--metric", name)))
    assert list(printed["metrics"]) == ["ndcg@2", "ap@5", "ap(norm=retrieved)@1000", "ap_best"]


def test_the_table_shows_the_tie_interval_beside_ap(file: Path) -> None:
    result = CliRunner().invoke(app, [str(file), "--metric", "ap", "--metric", "ndcg"], catch_exceptions=False)
    assert result.stdout.splitlines() == [
        f"{file}: 1 queries, 3 items, 3 bits",
        "metric    mean     std  [worst, best]",
        "ap      0.7500  0.0000  [0.5000, 1.0000]",
        "ndcg    0.8155  0.0000",
    ]


def test_without_a_relevant_item_the_mean_is_null_with_a_warning(file: Path) -> None:
    written(file, np.zeros((3, 3), np.uint8), query_class=9)
    result = CliRunner().invoke(app, [str(file), "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "warning" in result.stderr
    assert "NaN" not in result.stdout
    for value in json.loads(result.stdout)["metrics"].values():
        assert value == {"mean": None, "std": None, "n_queries": 1, "n_empty": 1}
    table = CliRunner().invoke(app, [str(file)], catch_exceptions=False)
    assert "nan" not in table.stdout
    assert "1 queries have no relevant item" in table.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--metric", "nddcg"], "did you mean ndcg"),
        (["--metric", "ap@0"], "rank"),
        (["--metric", "precision"], "cutoff"),
    ],
)
def test_a_wrong_metric_is_said_before_anything_is_printed(file: Path, arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(app, [str(file), *arguments])
    assert isinstance(result.exception, HashbenchError)
    assert says in str(result.exception)
    assert result.stdout == ""


def test_a_missing_file_is_a_hashbench_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [str(tmp_path / "none.npz"), "--json"])
    assert isinstance(result.exception, HashbenchError)
    assert "no such file" in str(result.exception)


BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "sklearn", "scipy", "pandas", "matplotlib"}:
            raise ImportError(f"{name} must not be imported to score a file")

sys.meta_path.insert(0, Blocker())
import typer
from hashbench.cli.eval import command

app = typer.Typer()
app.command()(command)
app()
"""


def test_scoring_needs_none_of_the_heavy_libraries(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, str(file), "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"]["ap"]["mean"] == pytest.approx(0.75)


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hashbench", "eval", *arguments], capture_output=True, text=True, check=False
    )


def test_the_program_prints_one_object_and_nothing_else(file: Path) -> None:
    done = process(str(file), "--metric", "ap", "--metric", "ap(norm=retrieved)@1000", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(json.loads(done.stdout)["metrics"]) == ["ap", "ap(norm=retrieved)@1000"]


def test_the_program_says_what_is_wrong_in_one_line_and_exits_2(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])
    done = process(str(file), "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {file}: not a readable .npz file")
    assert done.stderr.count("\n") == 1
