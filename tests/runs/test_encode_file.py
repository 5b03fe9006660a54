"""A file of items is encoded piece by piece, into the bits that it has as a whole."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from support.command_line import CommandLine
from support.stored_toy import parts, store_toy

from hashbench import TrainedRun, train
from hashbench.running.runs import encode

D = 20


@pytest.fixture
def run(tmp_path: Path) -> str:
    items = np.random.default_rng(0).standard_normal((150, D), np.float32)
    store_toy(tmp_path, items, np.arange(150) % 3, parts(30, 90, 150))
    return train("itq", "toy", bits=12).row.run


@pytest.fixture
def network(run: str) -> TrainedRun:
    return train("csq", "toy", bits=12, epochs=1)


def test_the_bits_are_those_of_the_whole(
    hashbench: CommandLine, tmp_path: Path, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "BLOCK_BYTES", 1)  # a batch at a time
    items = np.random.default_rng(1).standard_normal((2500, D), np.float32)
    np.save(tmp_path / "items.npy", items)
    codes = {}
    for suffix in ("npz", "npy", "h5"):
        out = tmp_path / f"codes.{suffix}"
        assert hashbench("encode", run, tmp_path / "items.npy", "--out", out)[:2] == (0, f"{out}\n")
    with np.load(tmp_path / "codes.npz") as archive:
        codes["whole"] = np.packbits(archive["codes"], axis=1)
    with h5py.File(tmp_path / "codes.h5") as file:
        codes["h5"] = file["codes"][:]
        assert file["n_bits"][()] == 12
    codes["npy"] = np.load(tmp_path / "codes.npy")
    assert codes["whole"].shape == (2500, 2)
    assert np.array_equal(codes["npy"], codes["whole"])
    assert np.array_equal(codes["h5"], codes["whole"])


@pytest.mark.parametrize(
    "items, message",
    [
        (None, "name one, or name a FILE.npz with --out"),
        (".", "name one, or name a FILE.npz with --out"),
        (np.zeros((3, D + 1), np.float32), "shape (3, 21); the hasher takes [n, 20]"),
        (np.array([["a"] * D]), "items must be numbers"),
        (np.where(np.arange(1500 * D) == 1400 * D, np.nan, 1).reshape(1500, D), "not finite"),
    ],
)
def test_what_cannot_be_encoded_is_one_line_and_no_file(
    hashbench: CommandLine, tmp_path: Path, run: str, items: object, message: str
) -> None:
    out = tmp_path / "codes.npy"
    given = [] if items is None else [tmp_path / str(items)]
    if isinstance(items, np.ndarray):
        np.save(tmp_path / "items.npy", items)
        given = [tmp_path / "items.npy"]
    assert message in hashbench.refused("encode", run, *given, "--out", out)
    assert not out.exists()


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i2", np.uint16, np.float16, np.longdouble])
def test_a_network_takes_items_of_any_type(
    hashbench: CommandLine, tmp_path: Path, network: TrainedRun, dtype: str | type
) -> None:
    items = np.random.default_rng(1).integers(0, 9, (70, D))
    expected = network.encode(items.astype(np.float32))
    assert 0 < expected.mean() < 1
    assert np.array_equal(network.encode(items.astype(dtype)), expected)
    np.save(tmp_path / "items.npy", items.astype(dtype))
    out = tmp_path / "codes.npy"
    hashbench.done("encode", network.row.run, tmp_path / "items.npy", "--out", out)
    assert np.array_equal(np.load(out), np.packbits(expected, axis=1))
