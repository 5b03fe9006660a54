"""Results are kept while a block runs, and no longer."""

from pathlib import Path

import pytest

from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.keeping import keeping, kept
from hashbench.tables.collect import cell_hash
from hashbench.tables.spec import load


def test_a_file_is_looked_for_once_inside_a_block_and_each_time_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "experiments" / "tables"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path))
    with keeping():
        assert "mine" not in paths.entries("experiments", "tables")
        (folder / "mine.toml").write_text("")
        with keeping():
            assert "mine" not in paths.entries("experiments", "tables")
        assert "mine" not in paths.entries("experiments", "tables")
    assert "mine" in paths.entries("experiments", "tables")


def test_an_error_is_not_kept() -> None:
    calls: list[int] = []

    @kept
    def fails_once(n: int) -> int:
        calls.append(n)
        if len(calls) == 1:
            raise ValueError
        return n

    with keeping():
        with pytest.raises(ValueError):
            fails_once(1)
        assert [fails_once(1), fails_once(1)] == [1, 1]
    assert calls == [1, 1]


def test_the_digest_of_a_cell_is_the_same_inside_a_block() -> None:
    cells = load("digits").cells
    plain = [cell_hash(cell) for cell in cells]
    with keeping():
        assert [cell_hash(cell) for cell in cells] == [cell_hash(cell) for cell in cells] == plain


def test_what_is_equal_to_a_setting_is_not_the_setting_inside_a_block() -> None:
    """1 and true are one key of a dict; 1 is not a value of a setting that is true or false."""
    cell = next(each for each in load("digits").cells if each.method == "lsh")
    true, one = (cell.model_copy(update={"settings": {**cell.settings, "centre": value}}) for value in (True, 1))
    with keeping():
        cell_hash(true)
        with pytest.raises(HashbenchError, match="centre"):
            cell_hash(one)
