"""Files of many rows keep once what rows have alike, and give each row back to the last sign."""

import re
from pathlib import Path

import pytest
from support import stored_rows
from support.fake_rows import SAMPLE_CELLS, fake_row

from hashbench.foundation.errors import CheckFailed
from hashbench.running.runs import blocks
from hashbench.running.runs.row import MOST_OF_ROW, to_line
from hashbench.running.runs.store import Store, lines_in

COMMITTED = Store(Path(__file__).resolve().parents[2] / "results")
LINES = [to_line(fake_row(SAMPLE_CELLS[0], seed, ap=0.5)) for seed in range(blocks.FEWEST_ROWS)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = Store(tmp_path).rows_path("digits", "s1")
    path.parent.mkdir()
    path.write_text(blocks.text_of_file(LINES))
    return path


def test_a_file_of_few_rows_has_them_as_they_are() -> None:
    assert blocks.text_of_file(LINES[1:]) == "".join(f"{line}\n" for line in LINES[1:])


def test_a_row_is_the_same_before_and_after(path: Path) -> None:
    assert [line.text for line in Store(path.parents[1]).lines()] == LINES
    assert path.stat().st_size < 0.9 * len("\n".join(LINES))


@pytest.mark.parametrize("file", COMMITTED.files(), ids=lambda file: file.stem)
def test_a_committed_file_is_written_as_it_is(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert blocks.text_of_file(line.text for line in lines_in(text, file)) == text


def test_an_edited_block_is_found_by_the_digest_of_each_row(path: Path) -> None:
    path.write_text(re.sub(r'("block":.*"version":")0', r"\g<1>1", path.read_text()))
    with pytest.raises(CheckFailed, match="row_sha256 is not the digest of the row"):
        list(Store(path.parents[1]).rows())


def test_the_lines_of_two_branches_are_one_file(path: Path) -> None:
    """As git's union leaves them: rows of before among those with references, and every block twice."""
    path.write_text(path.read_text() + "".join(f"{line}\n" for line in LINES[:3]) + path.read_text())
    store = Store(path.parents[1])
    assert [line.text for line in store.lines()] == LINES
    store.write(fake_row(SAMPLE_CELLS[0], 100, ap=0.25))
    assert {*LINES} < {*stored_rows.texts(store.folder).values()}
    assert len(path.read_text().splitlines()) < 120


def test_a_file_from_elsewhere_does_not_grow_without_end() -> None:
    """A line of references to blocks of references."""
    reference = '{"@":"0123456789"}'
    value = reference * 800
    text = "\n".join([f'{{"run":"x",{reference * 3000}}}', f'{{"block":"0123456789","value":{value}}}'])
    (line,) = lines_in(text, Path("digits-s1.jsonl"))
    assert len(line.text) < 32 * MOST_OF_ROW
