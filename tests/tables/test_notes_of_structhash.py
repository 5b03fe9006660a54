"""The figures that the notes of StructHash's tables quote are those of the committed rows and of the paper."""

import json
from pathlib import Path
from statistics import mean

import pytest

from hashbench.tables import spec

ROWS = Path(__file__).resolve().parents[2] / "results" / "rows"
SETS = ("usps", "mnist", "cifar10", "isolet")
PRINTED = {"lsh": [0.668, 0.561, 0.168, 0.404], "bre": [0.777, 0.805, 0.273, 0.483]}  # Table 1 of the paper


def measured(method: str, dataset: str, *, centre: bool) -> list[float]:
    """The NDCG at 64 bits, of each seed."""
    lines = (ROWS / f"{dataset}-structhash.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines if f"-{method}-64b-" in line[:100]]
    chosen = [row for row in rows if row["config"]["settings"]["centre"] is centre]
    assert sorted(row["seed"] for row in chosen) == [0, 1, 2]
    assert not any(row["code"]["dirty"] for row in chosen)
    return [row["searches"]["database"]["structhash_ndcg@100"]["mean"] for row in chosen]


def text(values: list[float]) -> str:
    *first, last = (f"{value:.3f}".removeprefix("0") for value in values)
    return f"{', '.join(first)} and {last}"


@pytest.mark.parametrize("name", ["structhash_table1", "structhash_table2"])
@pytest.mark.parametrize(
    ("method", "sets", "start"),
    [("lsh", SETS, "LSH hashes raw features"), ("bre", ("usps", "mnist", "isolet"), "BREs hash raw features too")],
)
def test_what_a_note_says_of_raw_features_is_what_was_measured(
    name: str, method: str, sets: tuple[str, ...], start: str
) -> None:
    (note,) = (note for note in spec.load(name).notes if note.startswith(start))
    raw = [mean(measured(method, each, centre=False)) for each in sets]
    centred = [mean(measured(method, each, centre=True)) for each in sets]
    printed = [PRINTED[method][SETS.index(each)] for each in sets]
    assert f"{text(raw)} (" in note
    assert f"centred {text(centred)}," in note
    assert f"printed {text(printed)}." in note
    for one, other, figure in zip(raw, centred, printed, strict=True):
        assert abs(one - figure) < abs(other - figure)  # so raw features are the nearer ones


def test_raw_features_meet_the_printed_figures_of_lsh_except_on_mnist() -> None:
    raw = [mean(measured("lsh", each, centre=False)) for each in SETS]
    away = [abs(one - figure) for one, figure in zip(raw, PRINTED["lsh"], strict=True)]
    assert [each < 0.03 for each in away] == [True, False, True, True]
