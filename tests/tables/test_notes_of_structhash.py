"""The figures that the notes of StructHash's tables quote are those of the committed rows and of the paper."""

import json
import re
from pathlib import Path
from statistics import mean, stdev

import pytest

from hashbench.running.runs.store import read_lines
from hashbench.showing.tables import spec

ROWS = Path(__file__).resolve().parents[2] / "results" / "rows"
SETS = ("usps", "mnist", "cifar10", "isolet")
# NDCG, Precision-at-K and mAP of Tables 1 and 2 of the paper
METRICS = ("structhash_ndcg@100", "precision@100", "ap(norm=retrieved)@10000")
PRINTED = {
    "sth": [[0.688, 0.594, 0.178, 0.766], [0.667, 0.579, 0.174, 0.755], [0.456, 0.397, 0.147, 0.653]],
    "agh": [[0.741, 0.793, 0.286, 0.536], [0.711, 0.780, 0.281, 0.493], [0.333, 0.505, 0.201, 0.298]],
    "lsh": [[0.668, 0.561, 0.168, 0.404], [0.637, 0.540, 0.164, 0.370], [0.418, 0.343, 0.149, 0.267]],
    "bre": [[0.777, 0.805, 0.273, 0.483]],
}
RAW, CENTRED, RANGE = ({"centre": value} for value in (False, True, "range"))
DRAWN, ZERO = ({"at_median": value} for value in ("drawn", "zero"))
ONE_LAYER = {"layers": 1, "nearest": 40}
TWO_LAYERS = {"nearest": 2}
NOTES = {  # the start of the note, and what it quotes of the NDCG in this order; None: what is printed
    "sth": ("STHs: ", [(DRAWN, 5), (ZERO, 5), None]),
    "agh": ("AGH has one layer", [(ONE_LAYER, 5), None, (TWO_LAYERS, 3)]),
    "lsh": ("LSH hashes values", [(RANGE, 5), None, (RAW, 3), (CENTRED, 3)]),
    "bre": ("BREs hash raw features", [(RAW, 3), (CENTRED, 3), None]),
}


def measured(method: str, dataset: str, settings: dict[str, object], n_seeds: int, metric: str) -> list[float]:
    """The values at 64 bits, of the first seeds; a set that another table shows too has more."""
    lines = read_lines(ROWS / f"{dataset}-structhash.jsonl")
    rows = [json.loads(line.text) for line in lines if f"-{method}-64b-" in line.name]
    chosen = [row for row in rows if settings.items() <= row["config"]["settings"].items() and row["seed"] < n_seeds]
    assert sorted(row["seed"] for row in chosen) == [*range(n_seeds)]
    assert not any(row["code"]["dirty"] for row in chosen)
    return [row["searches"]["database"][metric]["mean"] for row in chosen]


def text(values: list[float]) -> str:
    *first, last = (f"{value:.3f}".removeprefix("0") for value in values)
    return f"{', '.join(first)} and {last}"


def distances(method: str, settings: dict[str, object], n_seeds: int) -> list[float]:
    """From the printed figures, of all metrics and sets."""
    return [
        abs(mean(measured(method, dataset, settings, n_seeds, metric)) - figure)
        for metric, printed in zip(METRICS, PRINTED[method], strict=True)
        for dataset, figure in zip(SETS, printed, strict=True)
    ]


@pytest.mark.parametrize("name", ["structhash_table1", "structhash_table2"])
@pytest.mark.parametrize("method", NOTES)
def test_what_a_note_says_is_what_was_measured(name: str, method: str) -> None:
    start, quoted = NOTES[method]
    (note,) = (note for note in spec.load(name).notes if note.startswith(start))
    sets = SETS if method != "bre" else ("usps", "mnist", "isolet")
    expected = []
    for each in quoted:
        if each is None:
            expected.append(text([PRINTED[method][0][SETS.index(dataset)] for dataset in sets]))
        else:
            expected.append(text([mean(measured(method, dataset, *each, METRICS[0])) for dataset in sets]))
    assert re.findall(r"(?:\.\d{3}, )+\.\d{3} and \.\d{3}", note) == expected


@pytest.mark.parametrize("name", ["structhash_table1", "structhash_table2"])
def test_what_was_chosen_by_the_printed_figures_is_nearer_to_them(name: str) -> None:
    text_of_notes = " ".join(spec.load(name).notes)
    drawn, zero = (mean(distances("sth", settings, 5)) for settings in (DRAWN, ZERO))
    assert f"is {drawn:.3f}, with 0 it is {zero:.3f}.".replace("0.", ".") in text_of_notes
    assert drawn < zero
    for method, settings in (("agh", ONE_LAYER), ("lsh", RANGE)):
        assert max(distances(method, settings, 5)) < 0.03
    spread = stdev(measured("lsh", "mnist", RANGE, 5, METRICS[0]))
    assert f"a deviation of {spread:.3f}".replace("0.", ".") in text_of_notes
