"""``hashbench bench vectors.npy``: which code for vectors without labels, in a folder of one's own."""

import csv
import tomllib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine

from hashbench.datasets.custom.add import remove

RNG = np.random.default_rng(3)
FEW = "--methods sign,itq,rabitq --bits 8,16"


@pytest.fixture
def hashbench(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """In a folder with ``mine.npy``, 400 vectors of 16 numbers around 20 centres."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("HASHBENCH_ROOT", raising=False)
    monkeypatch.delenv("HASHBENCH_RESULTS", raising=False)
    centres = RNG.standard_normal((20, 16))
    np.save("mine.npy", (centres[RNG.integers(0, 20, 400)] + RNG.standard_normal((400, 16))).astype(np.float32))
    return partial(call, capsys)


def points(table: str = "bench_mine") -> list[dict[str, str]]:
    return list(csv.DictReader(Path(f"results/bench/{table}.csv").read_text().splitlines()))


def test_a_file_ends_in_a_table_a_picture_and_a_sentence_with_a_command_that_works(hashbench: CommandLine) -> None:
    code, out, err = hashbench(f"bench mine.npy {FEW} --target 0.3")
    assert code == 0, err
    table, sentence = out[: out.index("results/bench")], out.splitlines()[-1]
    assert max(map(len, table.splitlines())) <= 120
    assert sentence.startswith(
        "The smallest of these codes that finds 0.3 of the 10 nearest after 4 x 10 candidates are rescored"
    )
    assert Path("results/bench/bench_mine.png").read_bytes()[1:4] == b"PNG"
    assert [(line["code"], line["bits"], line["query"]) for line in points() if line["code"] == "RaBitQ"] == [
        ("RaBitQ", "16", "float")
    ]
    assert {line["bytes"] for line in points()} == {"1", "2", "10"}  # 2 of the bits and 8 of the factors
    for line in points():
        recalls = [float(line[f"recall@10{after}"]) for after in ("", "_after_2x", "_after_4x", "_after_10x")]
        assert recalls == sorted(recalls)
        if line["query"] == "bits":
            assert float(line["recall@10_worst"]) <= recalls[0] <= float(line["recall@10_best"])
    smallest = next(line for line in points() if float(line["recall@10_after_4x"]) >= 0.3)
    assert f"hashbench encode {smallest['run']} mine.npy --out codes.npz" in sentence
    assert hashbench(f"encode {smallest['run']} mine.npy --out codes.npz").code == 0
    before = sorted(path for path in Path().rglob("*") if path.is_file())
    code, again, err = hashbench(f"bench mine.npy {FEW} --target 0.3")
    assert (code, again, "6 done, 0 to do" in err) == (0, out, True), err
    assert sorted(path for path in Path().rglob("*") if path.is_file()) == before
    assert hashbench("table bench_mine").code == 0


def test_the_recalls_of_sign_are_those_of_a_search_and_a_rescoring_by_hand(hashbench: CommandLine) -> None:
    assert hashbench("bench mine.npy --methods sign --bits 16 --rescore 3 --k 5").code == 0
    card = tomllib.loads((Path(hashbench_data()) / "cards/mine.toml").read_text())
    assert card["protocols"]["own_k5"]["relevance"] == {"kind": "neighbours", "k": 5, "metric": "l2"}
    from hashbench.datasets.card import load_card
    from hashbench.datasets.split import split
    from hashbench.datasets.store import open_dataset

    data = open_dataset(load_card("mine"))
    ids = split(data.labels, load_card("mine").protocol("own_k5"), "mine", "own_k5")
    queries, base = data.items[ids.query_ids].astype(float), data.items[ids.database_ids].astype(float)
    found = []
    for query in queries:
        exact = np.square(base - query).sum(axis=1)
        nearest = np.argsort(exact)[:5]
        candidates = np.argsort(-(np.where(base > 0, 1, -1) @ query))[:15]
        rescored = candidates[np.argsort(exact[candidates])][:5]
        found.append(len(np.intersect1d(rescored, nearest)) / 5)
    line = next(line for line in points() if line["code"] == "Sign" and line["query"] == "float")
    assert float(line["recall@5_after_3x"]) == pytest.approx(np.mean(found), abs=1e-6)


def hashbench_data() -> Path:
    from hashbench.foundation import paths

    return paths.data()


def test_a_file_that_has_changed_is_not_the_data_set_any_more(hashbench: CommandLine) -> None:
    assert hashbench("bench mine.npy --methods sign --bits 16").code == 0
    np.save("mine.npy", RNG.standard_normal((400, 16)))
    code, _, err = hashbench("bench mine.npy --methods sign --bits 16")
    assert (code, err.count("\n")) == (2, 1)
    assert "mine.npy: it has changed since it was added as mine: hashbench dataset add mine " in err


def test_a_data_set_that_was_made_of_the_file_with_options_is_another_one(hashbench: CommandLine) -> None:
    assert hashbench("dataset add few mine.npy --queries 390").code == 0
    assert hashbench("bench mine.npy --methods sign --bits 16").code == 0
    assert points()
    assert hashbench("dataset add same mine.npy").code == 0
    remove("mine")
    code, out, _ = hashbench("bench mine.npy --methods sign --bits 16")
    assert code == 0 and "Codes for the vectors of same" in out
    code, out, _ = hashbench("bench few --methods sign --bits 16 --target 0")
    command = out.splitlines()[-1].partition("hashbench ")[2].split()
    assert (code, command[0], Path(command[2]).resolve()) == (0, "encode", Path("mine.npy").resolve())
    assert hashbench(*command).code == 0
    Path("mine.npy").unlink()
    assert " ITEMS.npy --out" in hashbench("bench few --methods sign --bits 16 --target 0").out


def test_repeated_vectors_tie_by_float_queries_too_and_candidates_may_be_the_whole_base(hashbench: CommandLine) -> None:
    vectors = np.load("mine.npy")
    np.save("mine.npy", np.concatenate([vectors, vectors]))
    options = ("--methods", "sign,pq", "--bits", "16", "--k", "1", "--rescore", "1,2,720")
    code, out, err = hashbench("bench mine.npy", *options)
    assert code == 0, err
    for line in points():
        worst, mean, best = (float(line[f"recall@1{end}"]) for end in ("_worst", "", "_best"))
        assert worst < mean < best
    assert [key for key in points()[0] if "after" in key] == [f"recall@1_after_{f}" for f in ("2x", "720x")] + [
        "recall@1_after_2x_without_floats"
    ]
    assert "- 720x: these candidates are the whole base" in out
    assert "of the nearest after 2 x 1 candidates are rescored" in out.splitlines()[-1]
    assert "queries have another item as near as number 1" in Path("results/bench/bench_mine.md").read_text()
    code, out, err = hashbench("bench mine.npy --methods pq --bits 16 --rescore 1")
    assert code == 0 and "no floats" not in out and " 1x" not in out.splitlines()[2]
