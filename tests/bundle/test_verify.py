"""``hashbench verify``: each kind of damage is actual and named in one line."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.bundles import Change, changed, content, row_changed, row_in
from support.command_line import CommandLine

from hashbench.running.datasets.split import Split, write
from hashbench.scoring.codes.files import _stored
from hashbench.scoring.histogram import Histogram

LSH = "digits-s1-lsh-12b-s0-b0b63c62f4"
LSH1 = "digits-s1-lsh-12b-s1-7579a34798"
ROWS = "results/rows/digits-s1.jsonl"
SAME = "no difference; 3 of 3 runs scored again"
HISTOGRAM = f"results/runs/{LSH}/histogram.npz"
CODES = f"results/runs/{LSH}/codes.npz"
IDS = "splits/digits/s1-seed0.npz"


def arrays(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """Changes the arrays of an .npz file."""

    def apply(old: bytes) -> bytes:
        with np.load(io.BytesIO(old)) as archive:
            actual = dict(archive)
        change(actual)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **actual)
        return buffer.getvalue()

    return apply


def histogram_in(data: bytes) -> Histogram:
    with np.load(io.BytesIO(data)) as archive:
        return Histogram(archive["counts"], archive["levels"])


def differences(hashbench: CommandLine, path: Path) -> list[str]:
    """The lines of the differences, of which there are some."""
    code, out, error = hashbench("verify", path)
    actual = [line.removeprefix("difference: ") for line in out.splitlines() if line.startswith("difference: ")]
    n = f"{len(actual)} difference{'s' if len(actual) > 1 else ''}"
    assert code == 1
    assert error == f"error: {path}: {n}\n"
    assert out.splitlines()[-1].startswith(f"{n}; ")
    return actual


@pytest.fixture
def damaged(bundle: Path, tmp_path: Path, hashbench: CommandLine) -> Callable[..., list[str]]:
    """The differences that are actual after some files were changed, and their checksums with them."""
    return lambda changes, listed=True: differences(
        hashbench, changed(bundle, tmp_path / "changed.zip", changes, listed=listed)
    )


def set_ap(mean: float) -> Callable[[dict[str, Any]], object]:
    return lambda row: row["searches"]["database"]["ap"].update(mean=mean)


def move_one(actual: dict[str, Any]) -> None:
    """Puts one item of the first query at another distance: the number of items stays."""
    distance, level = map(int, np.argwhere(actual["counts"][0] > 0)[0])
    actual["counts"][0, distance, level] -= 1
    actual["counts"][0, distance + 1, level] += 1


def histogram_with(**changes: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """A histogram with other arrays, each made of the one that is there."""
    return arrays(lambda actual: actual.update({name: change(actual[name]) for name, change in changes.items()}))


def with_value(place: Any, value: int) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


def twice(text: bytes) -> bytes:
    return text + row_changed(set_ap(0.4), LSH)(text)


OTHER = HISTOGRAM.replace(LSH, LSH1)
CONTRADICTION = f"{ROWS}:2: not a row that hashbench wrote: "
UNREADABLE = f"results/runs/{LSH}: no readable row of this run is in the bundle"
NO_SCHEMA = f"{ROWS}:2: a row of schema version 3; this hashbench reads 2 here: "
# what is changed, and how the lines of the differences begin
DAMAGES: dict[str, tuple[dict[str, Change], list[str]]] = {
    "edited values": (
        {ROWS: row_changed(lambda row: row["searches"]["database"]["ap"].update(mean=0.4, n_empty=1), LSH)},
        [
            f"{LSH}: database.ap.mean is 0.4, histogram.npz gives 0.3",
            f"{LSH}: database.ap.n_empty is 1, histogram.npz gives 0",
        ],
    ),
    "an edited row": (
        {ROWS: row_changed(set_ap(0.4), LSH, sign=False)},
        [f"{CONTRADICTION}row_sha256 is not the digest of the row: it was edited after it was written", UNREADABLE],
    ),
    "a row of another schema": ({ROWS: row_changed(lambda row: row.update(schema=3), LSH)}, [NO_SCHEMA, UNREADABLE]),
    "a row twice": ({ROWS: twice}, [f"{ROWS}: {LSH} is there twice"]),
    "an edited histogram": (
        {HISTOGRAM: arrays(move_one)},
        [f"{LSH}: histogram.npz is not what the row was scored from: SHA-256 is "],
    ),
    "a file that is none": ({HISTOGRAM: b""}, [f"{LSH}: histogram.npz: not a .npz file"]),
    "an array less": (
        {HISTOGRAM: arrays(lambda actual: actual.pop("levels"))},
        [f"{LSH}: histogram.npz: it holds counts: counts, levels go"],
    ),
    "fractions": (
        {HISTOGRAM: histogram_with(counts=lambda counts: counts.astype(float))},
        [f"{LSH}: histogram.npz: counts (500, 13, 2), levels (2,): integers [q, d, v] and [v] go"],
    ),
    "a negative count": (
        {HISTOGRAM: histogram_with(counts=lambda counts: counts + np.resize([-5000, 5000], counts.shape))},
        [f"{LSH}: histogram.npz: its counts are negative, too large, or not of as many items for each query"],
    ),
    "other levels": (
        {HISTOGRAM: histogram_with(levels=with_value(0, 1))},
        [f"{LSH}: histogram.npz: its levels do not ascend from 0"],
    ),
    "a pickle": (
        {HISTOGRAM: histogram_with(counts=lambda _: np.array([print], object))},
        [f"{LSH}: histogram.npz: counts: Python objects, that is a pickle, which can run code"],
    ),
    "edited ids": (
        {IDS: arrays(lambda actual: actual["query_ids"].__setitem__(0, 1796))},
        [f"{IDS}: its ids have SHA-256 "],
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_each_damage_is_named(damaged: Callable[..., list[str]], name: str) -> None:
    changes, expected = DAMAGES[name]
    actual = damaged(changes)
    assert len(actual) == len(expected) and all(map(str.startswith, actual, expected)), actual


def test_a_histogram_of_other_codes_with_a_row_that_says_so_too(
    damaged: Callable[..., list[str]], bundle: Path
) -> None:
    other = row_in(content(bundle, ROWS), LSH1)
    stolen = {key: other[key] for key in ("searches", "artefacts", "distinct_codes")}
    distinct, counted = damaged(
        {HISTOGRAM: content(bundle, OTHER), ROWS: row_changed(lambda row: row.update(stolen), LSH)}
    )
    assert distinct.startswith(f"{LSH}: distinct_codes are ") and "codes.npz gives" in distinct
    assert counted.startswith(f"{LSH}: codes.npz gives another histogram: SHA-256 is ")


def test_other_ids_with_their_own_checksum(damaged: Callable[..., list[str]], tmp_path: Path) -> None:
    nobody = np.arange(3)
    write(tmp_path / "ids.npz", Split(nobody, nobody + 3, nobody + 6))
    assert damaged({IDS: (tmp_path / "ids.npz").read_bytes()}) == [f"{IDS}: no row has these ids"]


def test_fewer_items_than_the_id_lists_name(damaged: Callable[..., list[str]], bundle: Path) -> None:
    fewer = histogram_with(counts=lambda counts: counts[:-1])
    sha256 = histogram_in(fewer(content(bundle, HISTOGRAM))).sha256()
    actual = damaged(
        {HISTOGRAM: fewer, CODES: None, ROWS: row_changed(lambda row: row.update(artefacts={"histogram": sha256}), LSH)}
    )
    assert actual[0] == f"{LSH}: histogram.npz is of 499 queries and 1297 items, the id lists of 500 and 1297"
    assert f"{LSH}: database.ap.n_queries is 500, histogram.npz gives 499" in actual


def test_other_files_than_those_that_were_packed(damaged: Callable[..., list[str]]) -> None:
    table = "root/experiments/tables/digits.toml"
    actual = damaged({"README.md": b"hello", table: lambda old: old + b"#"}, listed=False)
    assert [line.partition(":")[0] for line in actual] == ["README.md", table]


def test_a_bomb_is_not_read(damaged: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_stored, "BOMB_BYTES", 1 << 20)
    (actual,) = damaged({HISTOGRAM: histogram_with(counts=lambda _: np.zeros((2000, 65, 2), np.int64))})
    assert actual.startswith(f"{LSH}: histogram.npz: counts: ") and "is taken for a bomb" in actual


def test_a_flipped_byte(bundle: Path, tmp_path: Path, hashbench: CommandLine) -> None:
    data = bytearray(bundle.read_bytes())
    with zipfile.ZipFile(bundle) as archive:
        info = next(info for info in archive.infolist() if info.filename.endswith(HISTOGRAM))
    data[info.header_offset + 30 + len(info.filename) + info.file_size // 2] ^= 1
    (tmp_path / "flipped.zip").write_bytes(data)
    (actual,) = differences(hashbench, tmp_path / "flipped.zip")
    assert actual.startswith(f"{HISTOGRAM}: damaged (Bad CRC-32 for file ")


def test_a_metric_that_this_hashbench_does_not_have(bundle: Path, tmp_path: Path, hashbench: CommandLine) -> None:
    edit = row_changed(
        lambda row: row["searches"]["database"].update(quality={**row["searches"]["database"]["ap"]}), LSH
    )
    path = changed(bundle, tmp_path / "other.zip", {ROWS: edit}, listed=True)
    lines = hashbench.done("verify", path).lines
    assert lines[3:] == [f"not checked: {LSH}: database.quality: no metric of this name", SAME]


def test_json(bundle: Path, tmp_path: Path, hashbench: CommandLine) -> None:
    path = changed(bundle, tmp_path / "b.zip", {HISTOGRAM: arrays(move_one)}, listed=True)
    code, out, _ = hashbench("verify", path, "--json")
    actual = json.loads(out)
    assert code == 1 and len(actual.pop("differences")) == 1
    numbers = {"n_rows": 3, "n_runs": 3, "n_values": 30, "n_codes": 3, "n_id_lists": 1}
    lists: dict[str, list[str]] = {"not_checked": [], "not_scored": []}
    assert actual.pop("n_files") > 20
    assert actual == {"bundle": str(path), "table": "digits", **numbers, **lists}
