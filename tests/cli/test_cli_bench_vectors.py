"""``hashbench bench vectors.npy``: which code for vectors without labels, in a folder of one's own."""

import csv
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine

from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.custom.add import remove
from hashbench.running.datasets.split import split
from hashbench.running.datasets.store import open_dataset

RNG = np.random.default_rng(3)
FEW = "bench mine.npy --methods sign,itq,rabitq --bits 8,16 --target 0.3"
SIGN = "--methods sign --bits 16"


@pytest.fixture(autouse=True)
def mine(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """mine.npy, 400 vectors of 16 numbers around 20 centres, in a folder that tables are written into."""
    monkeypatch.delenv("HASHBENCH_ROOT", raising=False)
    monkeypatch.delenv("HASHBENCH_RESULTS", raising=False)
    centres = RNG.standard_normal((20, 16))
    np.save("mine.npy", (centres[RNG.integers(0, 20, 400)] + RNG.standard_normal((400, 16))).astype(np.float32))


def points(table: str = "bench_mine") -> list[dict[str, str]]:
    return list(csv.DictReader(Path(f"results/bench/{table}.csv").read_text().splitlines()))


def test_a_file_ends_in_a_table_a_picture_and_a_sentence_with_a_command_that_works(hashbench: CommandLine) -> None:
    out = hashbench.done(FEW).out
    table = out[: out.index("results/bench")]
    sentence = out.splitlines()[-1]
    assert max(map(len, table.splitlines())) <= 120
    found = "The smallest of these codes that finds 0.3 of the 10 nearest after 4 x 10 candidates are rescored"
    assert sentence.startswith(found)
    assert Path("results/bench/bench_mine.png").read_bytes()[1:4] == b"PNG"
    assert [(point["bits"], point["query"]) for point in points() if point["code"] == "RaBitQ"] == [("16", "float")]
    assert {point["bytes"] for point in points()} == {"1", "2", "10"}  # 2 of the bits and 8 of the factors
    for point in points():
        recalls = [float(point[f"recall@10{after}"]) for after in ("", "_after_2x", "_after_4x", "_after_10x")]
        assert recalls == sorted(recalls)
        if point["query"] == "bits":
            assert float(point["recall@10_worst"]) <= recalls[0] <= float(point["recall@10_best"])
    smallest = next(point for point in points() if float(point["recall@10_after_4x"]) >= 0.3)
    command = f"encode {smallest['run']} mine.npy --out codes.npz"
    assert f"hashbench {command}" in sentence
    hashbench.done(command)
    before = sorted(path for path in Path().rglob("*") if path.is_file())
    again = hashbench.done(FEW)
    assert again.out == out and "6 done, 0 to do" in again.err
    assert sorted(path for path in Path().rglob("*") if path.is_file()) == before
    hashbench.done("table bench_mine")


def test_the_recalls_of_sign_are_those_of_a_search_and_a_rescoring_by_hand(hashbench: CommandLine) -> None:
    hashbench.done(f"bench mine.npy {SIGN} --rescore 3 --k 5")
    card = load_card("mine")
    rule = card.protocol("own_k5")
    assert rule.relevance.model_dump(exclude_none=True) == {"kind": "neighbours", "k": 5, "metric": "l2"}
    data = open_dataset(card)
    ids = split(data.labels, rule, "mine", "own_k5")
    base = data.items[ids.database_ids].astype(float)
    recalls = []
    for query in data.items[ids.query_ids].astype(float):
        exact = np.square(base - query).sum(axis=1)
        candidates = np.argsort(-(np.where(base > 0, 1, -1) @ query))[:15]
        rescored = candidates[np.argsort(exact[candidates])][:5]
        recalls.append(len(np.intersect1d(rescored, np.argsort(exact)[:5])) / 5)
    (point,) = [point for point in points() if (point["code"], point["query"]) == ("Sign", "float")]
    assert float(point["recall@5_after_3x"]) == pytest.approx(np.mean(recalls), abs=1e-6)


def test_a_file_that_has_changed_is_not_the_data_set_any_more(hashbench: CommandLine) -> None:
    hashbench.done(f"bench mine.npy {SIGN}")
    np.save("mine.npy", RNG.standard_normal((400, 16)))
    line = "mine.npy: it has changed since it was added as mine: hashbench dataset add mine "
    assert line in hashbench.refused(f"bench mine.npy {SIGN}")


def test_a_data_set_that_was_made_of_the_file_with_options_is_another_one(hashbench: CommandLine) -> None:
    hashbench.done("dataset add few mine.npy --queries 390")
    hashbench.done(f"bench mine.npy {SIGN}")
    assert points()
    hashbench.done("dataset add same mine.npy")
    remove("mine")
    assert "Codes for the vectors of same" in hashbench.done(f"bench mine.npy {SIGN}").out
    sentence = hashbench.done(f"bench few {SIGN} --target 0").lines[-1]
    command = sentence.partition("hashbench ")[2]
    verb, _, items, *_ = command.split()
    assert verb == "encode"
    assert Path(items).resolve() == Path("mine.npy").resolve()
    hashbench.done(command)
    Path("mine.npy").unlink()
    assert " ITEMS.npy --out" in hashbench.done(f"bench few {SIGN} --target 0").out


def test_repeated_vectors_tie_by_float_queries_too_and_candidates_may_be_the_whole_base(hashbench: CommandLine) -> None:
    np.save("mine.npy", np.tile(np.load("mine.npy"), (2, 1)))
    answer = hashbench.done("bench mine.npy --methods sign,pq --bits 16 --k 1 --rescore 1,2,720")
    for point in points():
        worst, mean, best = (float(point[f"recall@1{end}"]) for end in ("_worst", "", "_best"))
        assert worst < mean < best
    after = [key.removeprefix("recall@1_after_") for key in points()[0] if "after" in key]
    assert after == ["2x", "720x", "2x_without_floats"]
    assert "- 720x: these candidates are the whole base" in answer.out
    assert "of the nearest after 2 x 1 candidates are rescored" in answer.lines[-1]
    assert "queries have another item as near as number 1" in Path("results/bench/bench_mine.md").read_text()
    answer = hashbench.done("bench mine.npy --methods pq --bits 16 --rescore 1")
    assert "no floats" not in answer.out and " 1x" not in answer.lines[2]
