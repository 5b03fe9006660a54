"""A database read block by block is the database read whole."""

from pathlib import Path
from typing import Any

import damaged_codes
import numpy as np
import pytest
from damaged_codes import ROLES, h5, npy, npz

from hashbench import saved_codes
from hashbench.errors import HashbenchError
from hashbench.saved_codes import Explicit

RNG = np.random.default_rng(5)
SAID = Explicit(bits=20, bit_order="little")


def streamed(path: Path, explicit: Explicit) -> tuple[np.ndarray, Any]:
    opened = saved_codes.stream(path, explicit=explicit)
    blocks = list(opened.blocks())
    assert [rows.start for rows, _ in blocks][1:] == [rows.stop for rows, _ in blocks][:-1]
    return np.vstack([codes.bits() for _, codes in blocks]), opened


def packed(order: Any) -> dict[str, Any]:
    arrays = damaged_codes.sound(RNG)
    bits = [RNG.integers(0, 2, (len(arrays[role]), 20), np.uint8) for role in ROLES[:2]]
    return arrays | {
        role: np.packbits(side, axis=1, bitorder=order) for role, side in zip(ROLES[:2], bits, strict=True)
    }


@pytest.mark.parametrize("write", [npz, h5, npy])
@pytest.mark.parametrize("kind", ["signed", "real", "packed"])
def test_blocks_are_the_whole(tmp_path: Path, write: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashbench.saved_codes._stored.SLAB_BYTES", 24)
    arrays = packed("little") if kind == "packed" else damaged_codes.sound(RNG)
    if kind == "real":
        arrays["database_codes"] = RNG.normal(size=arrays["database_codes"].shape)
    path = write(tmp_path / "codes", arrays)
    said = SAID if kind == "packed" else Explicit()
    bits, opened = streamed(path, said)
    assert write is h5 or len(list(opened.blocks())) > 3  # HDF5 is read in its own chunks
    whole = saved_codes.load(path, explicit=said)
    assert np.array_equal(bits, whole.database.bits())
    assert np.array_equal(opened.query.bits(), whole.query.bits())
    assert opened.n_database == len(whole.database)
    assert tuple(opened.notes) == whole.notes  # said once, however often the blocks are gone through


def test_what_a_stream_cannot_do_is_said(tmp_path: Path) -> None:
    with pytest.raises(HashbenchError, match="say --bit-order big or --bit-order little"):
        saved_codes.stream(npz(tmp_path / "packed", packed("big")), explicit=Explicit(bits=20))
    with pytest.raises(HashbenchError, match="bits beyond n_bits = 20 are set"):
        saved_codes.stream(npz(tmp_path / "other", packed("big")), explicit=SAID)
    arrays = damaged_codes.sound(RNG)
    turned = arrays | {role: np.ascontiguousarray(arrays[role].T) for role in ROLES[:2]}
    with pytest.raises(HashbenchError, match="cannot be read item by item"):
        saved_codes.stream(npz(tmp_path / "turned", turned))


def test_a_bad_value_ends_the_stream(tmp_path: Path) -> None:
    arrays = damaged_codes.sound(RNG)
    arrays["database_codes"][-1, -1] = 5
    stream = saved_codes.stream(npz(tmp_path / "codes", arrays | {"database_codes": abs(arrays["database_codes"])}))
    with pytest.raises(HashbenchError, match=r"database_codes: 5\.0 is in it"):
        list(stream.blocks())
