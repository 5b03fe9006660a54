"""What is stored and damaged is one line on stderr, the rest is done, and the exit status is 1: in every command."""

import io
from pathlib import Path

import pytest
from support import stored_rows
from support.command_line import CommandLine
from support.fake_rows import row_of_run

import hashbench
from hashbench.cli._output import ErrorOutput, Output
from hashbench.foundation.errors import CheckFailed
from hashbench.runs.run import Run
from hashbench.runs.store import Store

DAMAGES = {
    "no JSON": lambda text: text[:60],
    "another schema version": lambda text: stored_rows.edited(text, lambda row: row.update(schema=3)),
    "an unknown key": lambda text: stored_rows.edited(text, lambda row: row.update(more=1)),
    "no metrics": lambda text: stored_rows.edited(text, lambda row: row.update(searches={})),
    "forged metrics": lambda text: stored_rows.edited(
        text, lambda row: row["searches"]["database"]["ap"].update(mean=5.0)
    ),
}
COMMANDS = [
    "list runs",
    "status",
    "status digits",
    "show digits",
    "table digits",
    "leaderboard --verdicts",
]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the rows of LSH with two seeds."""
    monkeypatch.setenv("HASHBENCH_RESULTS", str(tmp_path / "results"))
    for seed in (0, 1):
        Store.default().write(row_of_run(Run.resolve("digits", "s1", "lsh", {"bits": 12}, seed=seed), ap=0.75))
    return tmp_path / "results"


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_row_fills_no_cell(results: Path, hashbench: CommandLine, damage: str) -> None:
    name, _ = stored_rows.names(results)
    place = stored_rows.replace(results, name, DAMAGES[damage](stored_rows.texts(results)[name]))
    code, out, err = hashbench("status digits")
    assert (code, err.count("\n")) == (1, 2) and err.startswith(f"left out: {place}: ")
    assert "digits: 0 runs done, " in out
    with pytest.raises(CheckFailed, match=rf"^{place}: "):
        hashbench.rows(results)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_names_a_damaged_row_does_the_rest_and_ends_with_1(
    results: Path, hashbench: CommandLine, command: str
) -> None:
    place = stored_rows.damage(results, stored_rows.names(results)[0])
    code, out, err = hashbench(*command.split())
    named = out if command == "results prune" else err
    assert code == 1 and out
    assert err.count("error: ") == 1
    assert place.removeprefix(str(results)) in err.replace(str(results), "")


def test_rows_says_how_many_lines_are_damaged(results: Path) -> None:
    for name in stored_rows.names(results):
        stored_rows.damage(results, name)
    with pytest.raises(CheckFailed, match=r":1: not a readable row: .* \(and 1 other fault: hashbench list runs\)$"):
        hashbench.rows(results)


def test_pruned_of_its_damaged_rows_a_folder_is_in_order(results: Path, hashbench: CommandLine) -> None:
    stored_rows.damage(results, stored_rows.names(results)[0])
    assert hashbench("results prune").code == 1
    assert hashbench("results prune --yes").code == 0
    assert hashbench("results prune").code == 0
    assert len(hashbench.rows(results)) == 1


@pytest.mark.parametrize(("kind", "kept"), [(Output, ""), (ErrorOutput, "\r\x1b[A")])
def test_no_text_controls_the_terminal_but_our_own_bars(kind: type[Output], kept: str) -> None:
    written = io.BytesIO()
    stream = kind(written, "utf-8")
    stream.write("a\x1b[2J\x07\x08\x7f\x9b\u202eb\n\t\x1b[32m#" + kept)
    stream.flush()
    shown = r"a\u001b[2J\u0007\u0008\u007f\u009b\u202eb"
    assert written.getvalue().decode() == f"{shown}\n\t\\u001b[32m#{kept}"
