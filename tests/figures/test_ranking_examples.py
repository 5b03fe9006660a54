"""Ranking examples: the images nearest by Hamming distance, false ones boxed; kept where the codes are not here."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.declared_figures import axes_of, declare, filled, row_of, tiny
from support.one_line import one_line

from hashbench.running.runs.data import open_data
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import files
from hashbench.showing import figures
from hashbench.showing.figures import csv_text

KEYS = "queries = 5\ntop = 6\n"
CELL = """
[defaults]
dataset = "digits"
protocol = "s1"
metric = "ap"
[[groups]]
section = "Digits"
columns = [{ label = "16 bits", settings = { bits = 16 } }]
rows = [{ label = "LSH", method = "lsh" }]
"""


def test_the_nearest_images_are_shown_and_false_ones_boxed(tmp_path: Path, hashbench: CommandLine) -> None:
    hashbench.done("train lsh digits --protocol s1 --bits 16")
    figure = tiny(tmp_path, "ranking_examples", KEYS, CELL)
    store = Store.default()
    (row,) = store.rows()
    drawing = filled(figure, row)
    opened = open_data(Run.from_row(row))
    labels = opened.dataset.labels
    ids = opened.ids
    saved = files.load(store.run_folder(row.run) / "codes.npz")
    expected = []
    for q in range(0, 500, 100):
        distances = (saved.query.bits()[q] != saved.database.bits()).sum(axis=1)
        nearest = np.argsort(distances, kind="stable")[:6]
        expected += [
            (
                int(ids.query_ids[q]),
                int(ids.database_ids[n]),
                int((distances < distances[n]).sum()) + 1,
                int((distances <= distances[n]).sum()),
                int(distances[n]),
                bool(labels[ids.database_ids[n]] == labels[ids.query_ids[q]]),
            )
            for n in nearest
        ]
    keys = ("query_item", "item", "first_rank", "last_rank", "distance", "relevant")
    assert [tuple(point[key] for key in keys) for point in drawing.points] == expected
    n_false = sum(not relevant for *_, relevant in expected)
    (ax,) = axes_of(drawing).axes
    assert 0 < n_false < 30 and len(ax.patches) == n_false
    (sheet,) = (image.get_array() for image in ax.images)
    items = opened.dataset.items
    shown = [items[ids.query_ids[0]], *(items[item] for _, item, *_ in expected[:6])]  # the first line
    for place, image in enumerate(shown):
        left = 1 + place * 9 + (place > 0)  # 8 x 8 pixels and a gap of 1, two beside the query
        tile = sheet[1:9, left : left + 8]
        np.testing.assert_array_equal(tile, np.rint(image.repeat(3, axis=2) * (255 / 16)))
    lines = csv_text(drawing).splitlines()
    assert lines[0] == "query,query_item,place,item,first_rank,last_rank,distance,relevant" and len(lines) == 31

    shutil.rmtree(store.run_folder(row.run))
    gone = filled(figure, row)
    assert gone.points == []
    assert gone.keeps_files is True
    assert gone.missing is not None
    assert gone.missing.startswith("not drawn here: ") and gone.missing.endswith(
        "this trains it again: hashbench train lsh digits --protocol s1 --bits 16 --again"
    )


def test_pictures_of_before_stay_where_the_codes_are_not_here(tmp_path: Path, hashbench: CommandLine) -> None:
    figure = tiny(tmp_path, "ranking_examples", KEYS, CELL)
    Store.default().write(row_of(figure, "LSH", "16 bits", ap=0.5))
    picture = Store.default().folder / "figures" / "tiny.png"
    picture.parent.mkdir()
    picture.write_bytes(b"of before")
    code, out, error = hashbench("figure tiny --write")
    assert code == 0
    assert out == ""
    assert error.count("\n") == 1
    assert error.startswith("tiny: not drawn here: ")
    assert picture.read_bytes() == b"of before"


def test_nothing_measured_is_said(tmp_path: Path) -> None:
    drawing = filled(tiny(tmp_path, "ranking_examples", KEYS, CELL))
    assert drawing.points == []
    assert drawing.missing == "nothing is measured; nothing is drawn"
    assert drawing.keeps_files is False


@pytest.mark.parametrize(
    "cells, complaint",
    [
        (
            CELL.replace("rows = [", 'rows = [{ label = "ITQ", method = "itq" }, '),
            "2 cells; ranking_examples draws the images of one run, so one cell is expected",
        ),
        (
            CELL.replace('"digits"', '"isolet"').replace('"s1"', '"structhash"'),
            "isolet has features, and no images to show",
        ),
    ],
)
def test_what_has_no_images_is_one_line(tmp_path: Path, cells: str, complaint: str) -> None:
    path = declare(tmp_path, "ranking_examples", KEYS, cells)
    with one_line() as error:
        figures.load("tiny")
    assert str(error.value) == f"{path}: {complaint}"
