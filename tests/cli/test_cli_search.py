"""hashbench search: what the sheet shows, read back from its pixels."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.command_line import call

from hashbench.codes import files
from hashbench.evaluation.report.contact_sheet import FRAME, GAP, INK, TEXT, TILE, WRONG
from hashbench.runs.data import open_data
from hashbench.runs.run import Run
from hashbench.runs.store import Store

TRAIN = ["train", "lsh", "digits", "--protocol", "s1", "--bits", "16", "--json"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> str:
    name: str = json.loads(call(capsys, *TRAIN)[1])["run"]
    return name


def frames(path: Path, n_rows: int, n_columns: int) -> list[list[str]]:
    sheet = Image.open(path).convert("RGB")
    step_x, step_y = TILE + 2 * FRAME + GAP, TILE + 2 * FRAME + GAP + TEXT
    corners = [
        [sheet.getpixel((GAP + x * step_x + 2 * GAP * (x > 0), GAP + y * step_y)) for x in range(n_columns)]
        for y in range(n_rows)
    ]
    return [["#%02x%02x%02x" % corner for corner in row] for row in corners]  # noqa: UP031  (a tuple of three)


def test_wrong_classes_are_framed_in_red(capsys: pytest.CaptureFixture[str], run: str, tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"
    assert call(capsys, "search", run, "--out", str(out), "--top", "6", "--queries", "5") == (0, f"{out}\n", "")
    seen = frames(out, 5, 7)
    store = Store.default()
    row = store.named(run)
    data, ids = (opened := open_data(Run.from_row(row))).dataset, opened.ids
    saved = files.load(store.run_folder(row.run) / "codes.npz")
    n_wrong = 0
    for line, q in zip(seen, range(0, 500, 100), strict=True):
        distances = (saved.query.bits()[q] != saved.database.bits()).sum(axis=1)
        nearest = ids.database_ids[np.argsort(distances, kind="stable")[:6]]
        wrong = data.labels[nearest] != data.labels[ids.query_ids[q]]
        assert line[0] == INK
        assert [frame == WRONG for frame in line[1:]] == wrong.tolist()
        n_wrong += int(wrong.sum())
    assert 0 < n_wrong < 30


def test_a_digit_is_as_bright_as_its_values_out_of_16(
    capsys: pytest.CaptureFixture[str], run: str, tmp_path: Path
) -> None:
    """Each of its 8 x 8 pixels is a square of 12 x 12."""
    out = tmp_path / "sheet.png"
    assert call(capsys, "search", run, "--out", str(out), "--top", "1", "--queries", "1")[0] == 0
    opened = open_data(Run.from_row(Store.default().named(run)))
    digit = opened.dataset.items[opened.ids.query_ids[0]][:, :, 0]
    shown = Image.open(out).convert("L").crop((GAP + FRAME, GAP + FRAME, GAP + FRAME + TILE, GAP + FRAME + TILE))
    expected = np.rint(digit.repeat(12, axis=0).repeat(12, axis=1) * (255 / 16))
    assert digit.max() == 15
    np.testing.assert_array_equal(np.asarray(shown), expected)


def test_own_images_have_no_class(capsys: pytest.CaptureFixture[str], run: str, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    Image.new("L", (30, 20), 9).save(tmp_path / "own" / "a.png")
    out = tmp_path / "sheet.png"
    assert call(capsys, "search", run, str(tmp_path / "own"), "--out", str(out), "--top", "3")[0] == 0
    assert WRONG not in frames(out, 1, 4)[0]


def test_a_wrong_question_is_one_line(capsys: pytest.CaptureFixture[str], run: str, tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"
    for arguments in ([run, str(tmp_path / "none")], ["no-such-run"]):
        code, printed, error = call(capsys, "search", *arguments, "--out", str(out))
        assert (code, printed, error.count("\n")) == (2, "", 1)
        assert error.startswith("error: ")
    assert not out.exists()
