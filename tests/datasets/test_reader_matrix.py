"""A matrix in each format that people keep features in, whole and damaged."""

import io
import struct
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.reader_inputs import card, read, refusal

from hashbench.foundation.errors import HashbenchError

N = 25
D = 6
OF = card("matrix", [D], N, 0)
ROWS = np.random.default_rng(2).normal(size=(N, D)).astype(np.float32)
BYTES = np.random.default_rng(3).integers(0, 256, (N, D), np.uint8)


def npy(matrix, version=None) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asanyarray(matrix), version)
    return buffer.getvalue()


def hdf5(**matrices) -> bytes:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for name, matrix in matrices.items():
            file.create_dataset(name.replace("__", "/"), data=matrix)
    return buffer.getvalue()


def hdf5_of_matlab(matrix) -> bytes:
    """MATLAB 7.3: columns first, after 512 bytes of a header of its own."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=512) as file:
        file["gist"] = matrix.T
        file["other"] = np.zeros((3, 3))
    data = bytearray(buffer.getvalue())
    data[:19] = b"MATLAB 7.3 MAT-file"
    return bytes(data)


def mat(compress=False, **matrices) -> bytes:
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, matrices, do_compression=compress)
    return buffer.getvalue()


def vectors(matrix) -> bytes:
    return b"".join(struct.pack("<i", matrix.shape[1]) + row.tobytes() for row in matrix)


GOOD = {
    "npy": npy(ROWS),
    "npy 2.0": npy(ROWS, (2, 0)),
    "npy by columns": npy(np.asfortranarray(ROWS)),
    "npy big-endian": npy(ROWS.astype(">f4")),
    "npy float64": npy(ROWS.astype(np.float64)),
    "hdf5": hdf5(train=ROWS, test=ROWS[:3], neighbors=np.zeros((3, 100), int)),
    "hdf5 in a group": hdf5(a__b=ROWS),
    "hdf5 transposed": hdf5(gist=ROWS.T),
    "mat 7.3": hdf5_of_matlab(ROWS),
    "mat": mat(gnd=np.zeros((N, 1)), gist=ROWS),
    "mat transposed": mat(gist=ROWS.T),
    "mat compressed": mat(compress=True, gist=ROWS),
    "fvecs": vectors(ROWS),
}
GOOD_BYTES = {
    "npy": npy(BYTES),
    "hdf5": hdf5(x=BYTES),
    "mat": mat(x=BYTES),
    "bvecs": vectors(BYTES),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("hashbench.running.datasets.readers.matrix.BLOCK", 10)


@pytest.mark.parametrize("form", GOOD)
def test_rows_in_blocks_whatever_the_format(tmp_path, form):
    items, labels, blocks = read(OF, tmp_path, {"x.features": GOOD[form]})
    assert items.tobytes() == ROWS.tobytes()
    assert items.dtype == np.float32
    assert labels.shape == (N, 0)
    assert labels.dtype == np.uint8
    assert blocks == [10, 10, 5]


@pytest.mark.parametrize("form", GOOD_BYTES)
def test_bytes_become_floats(tmp_path, form):
    np.testing.assert_array_equal(read(OF, tmp_path, {"x": GOOD_BYTES[form]})[0], BYTES)


@pytest.mark.parametrize("form", GOOD)
@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.95])
def test_a_matrix_cut_short_is_one_line(tmp_path, form, share):
    cut = GOOD[form][: int(share * len(GOOD[form]))]
    assert refusal(OF, tmp_path, {"x.features": cut}).startswith("x.features: ")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(st.sampled_from([form for form in GOOD if form.startswith("npy")]), st.data())
def test_a_wrong_byte_gives_a_matrix_or_one_line(tmp_path, form, data):
    changed = bytearray(GOOD[form])
    # where the formats keep what they say of the matrix
    changed[data.draw(st.integers(0, min(len(changed), 2100) - 1))] = data.draw(st.integers(0, 255))
    with suppress(HashbenchError):
        assert read(OF, tmp_path, {"x": bytes(changed)})[0].shape == (N, D)


def not_finite(value):
    matrix = ROWS.astype(np.float64)
    matrix[20, 3] = value
    return npy(matrix)


def header(shape: str, descr: str = "<f4") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def another_length() -> bytes:
    whole = bytearray(vectors(ROWS))
    whole[22 * (4 + 4 * D)] = D + 1
    return bytes(whole)


FAULTS = {
    "fewer rows": (
        npy(ROWS[:-1]),
        "one matrix (25, 6) of float32, float64, uint8 is expected, found array float32 (24, 6)",
    ),
    "one axis": (npy(ROWS.ravel()), "found array float32 (150,)"),
    "integers": (npy(ROWS.astype(np.int32)), "found array int32"),
    "objects": (npy(ROWS.astype(object)), "found array object"),
    "a shape beyond all memory": (header("(4000000000000, 6)"), "mmap length is greater than file size"),
    "a header that is code": (header("__import__('os').system('true')"), "x: "),
    "NaN": (not_finite(np.nan), "not a finite number"),
    "too large for float32": (not_finite(1e300), "not a finite number"),
    "two that could be it": (hdf5(a=ROWS, b=ROWS), "found a float32 (25, 6), b float32 (25, 6)"),
    "no matrix": (hdf5(), "found nothing"),
    "mat: none": (mat(a=ROWS[:3]), "found nothing"),
    "mat: cells": (mat(a=np.ones((N, D)).astype(object)), "found a object (25, 6)"),
    "vectors of another length": (vectors(ROWS[:, :5]), "600 bytes are not 25 vectors of 6 floats or bytes"),
    "one vector of another length": (another_length(), "a vector of another length than 6"),
    "fewer vectors": (vectors(ROWS[:-1]), "672 bytes are not 25 vectors of 6 floats or bytes"),
    "a page": (b"<!DOCTYPE html>", "neither .npy, HDF5 or .mat"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_matrix_is_one_line(tmp_path, fault):
    data, message = FAULTS[fault]
    assert message in refusal(OF, tmp_path, {"x": data})


def test_a_matrix_that_lies_in_another_file_is_refused(tmp_path):
    """HDF5 can name any file of this machine as its data."""
    (tmp_path / "secret").write_bytes(ROWS.tobytes())
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("a", ROWS.shape, np.float32, external=[(str(tmp_path / "secret"), 0, ROWS.nbytes)])
    assert "the data of a are in other files" in refusal(OF, tmp_path, {"x": path.read_bytes()})
    layout = h5py.VirtualLayout(ROWS.shape, np.float32)
    with h5py.File(tmp_path / "real.h5", "w") as file:
        file["a"] = ROWS
    layout[:] = h5py.VirtualSource(tmp_path / "real.h5", "a", ROWS.shape)
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("a", layout)
        file["linked"] = h5py.ExternalLink(tmp_path / "real.h5", "a")
    assert "the data of a are in other files" in refusal(OF, tmp_path, {"x": path.read_bytes()})


def test_a_large_matrix_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """2 GB of zeros that take no room on the disk: a block at a time, a reader needs a few megabytes."""
    import tracemalloc

    from hashbench.running.datasets.readers import READERS, Files

    monkeypatch.setattr("hashbench.running.datasets.readers.matrix.BLOCK", 1000)
    its_card = card("matrix", [512], 1_000_000, 0)
    start = header("(1000000, 512)")
    with (tmp_path / "x").open("wb+") as file:
        file.write(start)
        file.truncate(len(start) + 4 * 512 * 1_000_000)
        file.seek(0)
        tracemalloc.start()
        blocks = READERS.get("matrix").read(its_card, Files([(its_card.sources[0].members[0], file)]))
        assert [next(blocks).items.shape for _ in range(3)] == [(1000, 512)] * 3
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
        tracemalloc.stop()
        blocks.close()
