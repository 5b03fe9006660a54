"""hashbench search: what the sheet shows, read back from its pixels."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw
from support.command_line import call

from hashbench.codes import files
from hashbench.datasets.card import load_card
from hashbench.evaluation.report import Tile, write_contact_sheet
from hashbench.evaluation.report.contact_sheet import FRAME, GAP, INK, TEXT, TILE, TOP, WRONG
from hashbench.runs.contact_sheet import class_texts
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
    step_x, step_y = TILE + 2 * FRAME + GAP, TILE + 2 * FRAME + GAP + 2 * TEXT
    corners = [
        [sheet.getpixel((GAP + x * step_x + 2 * GAP * (x > 0), TOP + y * step_y)) for x in range(n_columns)]
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
    shown = Image.open(out).convert("L").crop((GAP + FRAME, TOP + FRAME, GAP + FRAME + TILE, TOP + FRAME + TILE))
    expected = np.rint(digit.repeat(12, axis=0).repeat(12, axis=1) * (255 / 16))
    assert digit.max() == 15
    np.testing.assert_array_equal(np.asarray(shown), expected)


def test_the_sheet_names_the_run_and_the_class_of_each_image(
    capsys: pytest.CaptureFixture[str], run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(ImageDraw.ImageDraw, "text", lambda self, place, text, **named: drawn.append(text))
    asked = "search", run, "--out", str(tmp_path / "sheet.png"), "--top", "2", "--queries", "3"
    assert call(capsys, *asked)[0] == 0
    opened = open_data(Run.from_row(Store.default().named(run)))
    labels, queries = opened.dataset.labels, opened.ids.query_ids[[0, 166, 333]]
    assert drawn.pop(0).startswith(f"{run}: ")
    assert drawn[::6] == [f"query {query}" for query in queries]
    assert drawn[1::6] == [f"class {labels[query]}" for query in queries]
    saved = files.load(Store.default().run_folder(run) / "codes.npz")
    nearest = opened.ids.database_ids[(saved.query.bits()[0] != saved.database.bits()).sum(axis=1).argmin()]
    assert drawn[3] == f"class {labels[nearest]}"


def test_classes_have_the_names_of_the_card() -> None:
    card = load_card("cifar10")
    assert class_texts(np.array([3, 9]), card) == ["cat", "truck"]
    several = np.zeros((2, 10), np.uint8)
    several[0, [0, 2]] = 1
    assert class_texts(several, card) == ["airplane, bird", ""]


def test_a_line_wider_than_its_image_is_cut(tmp_path: Path) -> None:
    """No ink between the end of the image and the next one, for which there is a gap."""
    black = np.zeros((8, 8, 1), np.uint8)
    write_contact_sheet(tmp_path / "sheet.png", "title", [[Tile(black, "M" * 80), Tile(black, "")]])
    end = GAP + TILE + 2 * FRAME + GAP
    shown = np.asarray(Image.open(tmp_path / "sheet.png").convert("L"))
    below = shown[TOP + TILE + 2 * FRAME :]
    assert (below[:, :end] < 255).any() and (below[:, end + FRAME :] == 255).all()


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


def test_one_image_and_a_folder_are_queries_of_a_run(
    capsys: pytest.CaptureFixture[str], run: str, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for n in range(2):
        Image.fromarray(np.full((8, 8), 3 * n, np.uint8) + np.eye(8, dtype=np.uint8)).save(own / f"{n}.png")
    out = tmp_path / "one.npz"
    assert call(capsys, "encode", run, own / "1.png", "--out", out)[0] == 0
    with np.load(out) as saved:
        assert saved["names"].tolist() == ["1.png"]
        code = saved["codes"][0]
    store = Store.default()
    database = files.load(store.run_folder(store.named(run).run) / "codes.npz").database.bits()
    near = np.argsort((code != database).sum(axis=1), kind="stable")[:3].tolist()
    one = json.loads(call(capsys, "search", run, own / "1.png", "--top", 3, "--json")[1])
    assert (one["names"], one["ids"]) == (["1.png"], [near])
    status, printed, _ = call(capsys, "search", run, own, "--top", 3)
    assert status == 0
    lines = printed.splitlines()[3:]
    assert [line.split()[0] for line in lines] == ["0.png", "1.png"]
    assert [int(word) for word in lines[1].split()[1::2]] == near
    for n in range(2, 12):  # a folder of more than ten images has a line each too
        shutil.copy(own / "1.png", own / f"{n}.png")
    assert len(call(capsys, "search", run, own)[1].splitlines()) == 3 + 12
    call(capsys, "search", run, own, "--top", 3, "--out", tmp_path / "near.npz")
    with np.load(tmp_path / "near.npz") as found:
        assert found["ids"][1].tolist() == near
