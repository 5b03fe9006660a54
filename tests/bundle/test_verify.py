"""``hashbench verify``: each kind of damage is found and named in one line."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.bundles import Change, changed, content, row_changed, row_in
from support.command_line import call

from hashbench.codes.files import _stored
from hashbench.histogram import Histogram
from hashbench.runs.store import Store

LSH, LSH1 = "digits-s1-lsh-12b-s0-b0b63c62f4", "digits-s1-lsh-12b-s1-7579a34798"
ROWS = "results/rows/digits-s1.jsonl"
SAME = "no difference; 3 of 3 runs scored again"
HISTOGRAM, CODES, IDS = (
    f"results/runs/{LSH}/histogram.npz",
    f"results/runs/{LSH}/codes.npz",
    "splits/digits/s1-seed0.npz",
)


def arrays(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """Changes the arrays of an .npz file."""

    def apply(old: bytes) -> bytes:
        with np.load(io.BytesIO(old)) as archive:
            found = dict(archive)
        change(found)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **found)
        return buffer.getvalue()

    return apply


def histogram_in(data: bytes) -> Histogram:
    with np.load(io.BytesIO(data)) as archive:
        return Histogram(archive["counts"], archive["levels"])


def differences(capsys: pytest.CaptureFixture[str], path: Path) -> list[str]:
    """The lines of the differences, of which there are some."""
    code, out, error = call(capsys, "verify", path)
    found = [line.removeprefix("difference: ") for line in out.splitlines() if line.startswith("difference: ")]
    n = f"{len(found)} difference{'s' if len(found) > 1 else ''}"
    assert (code, error) == (1, f"error: {path}: {n}\n") and out.splitlines()[-1].startswith(f"{n}; ")
    return found


@pytest.fixture
def damaged(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """The differences that are found after some files were changed, and their checksums with them."""
    return lambda changes, listed=True: differences(
        capsys, changed(bundle, tmp_path / "changed.zip", changes, listed=listed)
    )


def set_ap(mean: float) -> Callable[[dict[str, Any]], object]:
    return lambda row: row["searches"]["database"]["ap"].update(mean=mean)


def move_one(found: dict[str, Any]) -> None:
    """Puts one item of the first query at another distance: the number of items stays."""
    distance, level = map(int, np.argwhere(found["counts"][0] > 0)[0])
    found["counts"][0, distance, level] -= 1
    found["counts"][0, distance + 1, level] += 1


def flip_bit(found: dict[str, Any]) -> None:
    found["query_codes"][0, 0] ^= 1


def test_an_edited_value(damaged: Callable[..., list[str]], bundle: Path) -> None:
    was = row_in(content(bundle, ROWS), LSH)["searches"]["database"]["ap"]
    edit = row_changed(lambda row: row["searches"]["database"]["ap"].update(mean=0.4, n_empty=1), LSH)
    assert damaged({ROWS: edit}) == [
        f"{LSH}: database.ap.mean is 0.4, histogram.npz gives {was['mean']:.10g}",
        f"{LSH}: database.ap.n_empty is 1, histogram.npz gives 0",
    ]


def test_an_edited_row_that_the_manifest_knows_otherwise(damaged: Callable[..., list[str]]) -> None:
    found = damaged({ROWS: row_changed(set_ap(0.4), LSH)}, listed=False)
    assert found[0].startswith(f"{ROWS}: not the file that was packed: SHA-256 is ")
    assert found[1].startswith(f"{LSH}: database.ap.mean is 0.4, histogram.npz gives 0.3")
    assert len(found) == 2


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda row: row["config"].update(budget="full "), "config.budget is 'full ', budget is full"),
        (lambda row: row["config"]["settings"].update(lr=13.0), "cell_hash is not the digest of config"),
        (
            lambda row: row.update(seed=7),
            f"run is {LSH}: of these names, seed and configuration it is lsh-...-s7-b0b63c62f4",
        ),
        (lambda row: row.update(protocol="s2"), "it is of digits-s2, and the file is of digits-s1"),
        (set_ap(1.5), "database.ap.mean is 1.5"),
        (set_ap(0.4), "row_sha256 is not the digest of the row: it was edited after it was written"),
    ],
)
def test_a_row_that_contradicts_itself(
    edit: Callable[[dict[str, Any]], object], complaint: str, damaged: Callable[..., list[str]]
) -> None:
    assert damaged({ROWS: row_changed(edit, LSH, sign=False)}) == [
        f"{ROWS}:2: not a row that hashbench wrote: {complaint}",
        f"results/runs/{LSH}: no readable row of this run is in the bundle",
    ]


def test_a_row_of_an_unknown_schema(damaged: Callable[..., list[str]]) -> None:
    assert damaged({ROWS: row_changed(lambda row: row.update(schema=3), LSH)}) == [
        f"{ROWS}:2: a row of schema version 3; this hashbench reads 2 here: use the version of hashbench that wrote it",
        f"results/runs/{LSH}: no readable row of this run is in the bundle",
    ]


def test_a_row_under_a_name_that_is_not_its_own(damaged: Callable[..., list[str]], bundle: Path) -> None:
    other = LSH.replace("-b0b63c62f4", "-0000000000")
    found = damaged({ROWS: row_changed(lambda row: row.update(run=other), LSH), HISTOGRAM: None, CODES: None})
    fault = f"run is {other}: of these names, seed and configuration it is lsh-...-s0-b0b63c62f4"
    assert f"{ROWS}:2: not a row that hashbench wrote: {fault}" in found


def test_a_row_that_is_there_twice(damaged: Callable[..., list[str]]) -> None:
    def twice(text: bytes) -> bytes:
        return text + row_changed(set_ap(0.4), LSH)(text)

    assert f"{ROWS}: {LSH} is there twice" in damaged({ROWS: twice})


def test_an_edited_histogram(damaged: Callable[..., list[str]], bundle: Path) -> None:
    (found,) = damaged({HISTOGRAM: arrays(move_one)})
    stated = row_in(content(bundle, ROWS), LSH)["artefacts"]["histogram"]
    assert found.startswith(f"{LSH}: histogram.npz is not what the row was scored from: SHA-256 is ")
    assert found.endswith(f", the row says {stated}")


def test_swapped_histograms_of_two_runs(damaged: Callable[..., list[str]], bundle: Path) -> None:
    other = HISTOGRAM.replace(LSH, LSH1)
    found = damaged({HISTOGRAM: content(bundle, other), other: content(bundle, HISTOGRAM)})
    assert [line.partition(" is not")[0] for line in found] == [f"{LSH}: histogram.npz", f"{LSH1}: histogram.npz"]


def test_a_histogram_of_other_codes_with_a_row_that_says_so_too(
    damaged: Callable[..., list[str]], bundle: Path
) -> None:
    other = row_in(content(bundle, ROWS), LSH1)
    stolen = {key: other[key] for key in ("searches", "artefacts", "distinct_codes")}
    changes = {
        HISTOGRAM: content(bundle, HISTOGRAM.replace(LSH, LSH1)),
        ROWS: row_changed(lambda row: row.update(stolen), LSH),
    }
    distinct, counted = damaged(changes)
    assert distinct.startswith(f"{LSH}: distinct_codes are ") and "codes.npz gives" in distinct
    assert counted.startswith(f"{LSH}: codes.npz gives another histogram: SHA-256 is ")


def test_edited_codes(damaged: Callable[..., list[str]]) -> None:
    found = damaged({CODES: arrays(flip_bit)})
    assert found[-1].startswith(f"{LSH}: codes.npz gives another histogram: SHA-256 is ")


def test_edited_ids(damaged: Callable[..., list[str]]) -> None:
    found = damaged({IDS: arrays(lambda found: found["query_ids"].__setitem__(0, 1796))})
    assert found[0].startswith(f"{IDS}: its ids have SHA-256 ") and len(found) == 1


def test_other_ids_with_their_own_checksum(damaged: Callable[..., list[str]], tmp_path: Path) -> None:
    from hashbench.datasets.split import Split, write

    nobody = np.arange(3)
    write(tmp_path / "ids.npz", Split(nobody, nobody + 3, nobody + 6))
    assert damaged({IDS: (tmp_path / "ids.npz").read_bytes()}) == [f"{IDS}: no row has these ids"]


def test_fewer_items_than_the_id_lists_name(damaged: Callable[..., list[str]], bundle: Path) -> None:
    fewer = arrays(lambda found: found.update(counts=found["counts"][:-1]))
    sha256 = histogram_in(fewer(content(bundle, HISTOGRAM))).sha256()
    found = damaged(
        {HISTOGRAM: fewer, CODES: None, ROWS: row_changed(lambda row: row.update(artefacts={"histogram": sha256}), LSH)}
    )
    assert found[0] == f"{LSH}: histogram.npz is of 499 queries and 1297 items, the id lists of 500 and 1297"
    assert f"{LSH}: database.ap.n_queries is 500, histogram.npz gives 499" in found


def test_other_files_than_those_that_were_packed(damaged: Callable[..., list[str]]) -> None:
    table = "root/experiments/tables/digits.toml"
    found = damaged({"README.md": b"hello", table: lambda old: old + b"#"}, listed=False)
    assert [line.partition(":")[0] for line in found] == ["README.md", table]


@pytest.mark.parametrize(
    ("new", "complaint"),
    [
        (b"", "histogram.npz: not a .npz file"),
        (b"\x89HDF\r\n\x1a\n", "histogram.npz: not a .npz file"),
        (b"PK\x03\x04 and no more", "histogram.npz: not a readable .npz file: File is not a zip file"),
        (arrays(lambda found: found.pop("levels")), "histogram.npz: it holds counts: counts, levels go"),
        (
            arrays(lambda found: found.update(counts=found["counts"].astype(float))),
            "histogram.npz: counts (500, 13, 2), levels (2,): integers [q, d, v] and [v] go",
        ),
        (
            arrays(lambda found: found.update(counts=found["counts"][..., :1])),
            "histogram.npz: counts (500, 13, 1), levels (2,): integers [q, d, v] and [v] go",
        ),
        (
            arrays(lambda found: found["counts"].__setitem__((0, 0, 0), -5)),
            "histogram.npz: its counts are negative or too large",
        ),
        (
            arrays(lambda found: found["counts"].__setitem__((0, 0, 0), 9)),
            "histogram.npz: its queries have different numbers of items",
        ),
        (arrays(lambda found: found["levels"].__setitem__(0, 1)), "histogram.npz: its levels do not ascend from 0"),
    ],
)
def test_a_file_that_is_no_histogram(new: Change, complaint: str, damaged: Callable[..., list[str]]) -> None:
    assert damaged({HISTOGRAM: new}) == [f"{LSH}: {complaint}"]


def test_nothing_is_unpickled(damaged: Callable[..., list[str]]) -> None:
    (found,) = damaged({HISTOGRAM: arrays(lambda found: found.update(counts=np.array([print], object)))})
    assert found.startswith(f"{LSH}: histogram.npz: counts: Python objects, that is a pickle, which can run code")


def test_a_bomb_is_not_read(damaged: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_stored, "BOMB_BYTES", 1 << 20)
    zeros = np.zeros((2000, 65, 2), np.int64)
    (found,) = damaged({HISTOGRAM: arrays(lambda found: found.update(counts=zeros))})
    assert found.startswith(f"{LSH}: histogram.npz: counts: ") and "is taken for a bomb" in found


def test_a_flipped_byte(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(bundle.read_bytes())
    with zipfile.ZipFile(bundle) as archive:
        info = next(info for info in archive.infolist() if info.filename.endswith(HISTOGRAM))
    data[info.header_offset + 30 + len(info.filename) + info.file_size // 2] ^= 1
    (tmp_path / "flipped.zip").write_bytes(data)
    (found,) = differences(capsys, tmp_path / "flipped.zip")
    assert found.startswith(f"{HISTOGRAM}: damaged (Bad CRC-32 for file ")


def test_a_metric_that_this_hashbench_does_not_have(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit = row_changed(
        lambda row: row["searches"]["database"].update(quality={**row["searches"]["database"]["ap"]}), LSH
    )
    path = changed(bundle, tmp_path / "other.zip", {ROWS: edit}, listed=True)
    code, out, _ = call(capsys, "verify", path)
    assert (code, out.splitlines()[3:]) == (
        0,
        [f"not checked: {LSH}: database.quality: no metric of this name", SAME],
    )


def test_json(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = changed(bundle, tmp_path / "b.zip", {HISTOGRAM: arrays(move_one)}, listed=True)
    code, out, _ = call(capsys, "verify", path, "--json")
    found = json.loads(out)
    assert code == 1 and len(found.pop("differences")) == 1
    numbers = {
        "n_rows": 3,
        "n_runs": 3,
        "n_values": 30,
        "n_histograms": 3,
        "n_retrievals": 0,
        "n_codes": 3,
        "n_id_lists": 1,
    }
    lists: dict[str, list[str]] = {"not_checked": [], "not_scored": []}
    assert found.pop("n_files") > 20
    assert found == {"bundle": str(path), "table": "digits", **numbers, **lists}


def test_the_rows_of_the_bundle_are_those_that_were_stored(bundle: Path, trained: Path) -> None:
    assert content(bundle, ROWS) == Store(trained).rows_path("digits", "s1").read_bytes()
