"""Variables of .mat files, as networks and codes are read from them."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy
from support.one_line import one_line

from hashbench.scoring.codes.files import arrays_in, mat


def cell(*items: object) -> np.ndarray:
    array = np.empty((1, len(items)), object)
    array[0, :] = items
    return array


@pytest.mark.parametrize("compressed", [False, True])
def test_a_network_is_read_as_dictionaries_and_lists(tmp_path: Path, compressed: bool) -> None:
    weights = cell(np.arange(24.0, dtype="f4").reshape(1, 2, 3, 4), np.ones((1, 4)))
    layers = cell({"name": "conv1", "weights": weights}, {"name": "pool1", "stride": 2})
    scipy.io.savemat(tmp_path / "net.mat", {"net": {"layers": layers}}, do_compression=compressed)
    conv, pool = mat.read(tmp_path / "net.mat")["net"]["layers"]
    assert conv["name"] == "conv1"
    assert pool["name"] == "pool1"
    assert pool["stride"].item() == 2
    filters, biases = conv["weights"]
    assert filters.dtype == np.float32
    assert biases.tolist() == [[1, 1, 1, 1]]
    np.testing.assert_array_equal(filters, weights[0, 0])


def test_a_damaged_network_is_one_line(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "net.mat", {"net": np.arange(1000)}, do_compression=True)
    content = (tmp_path / "net.mat").read_bytes()
    (tmp_path / "net.mat").write_bytes(content[:-20])
    with one_line(r"net\.mat: not a readable \.mat file: [^\n]+$"):
        mat.read(tmp_path / "net.mat")


def test_what_is_no_matrix_of_numbers_may_be_beside_one(tmp_path: Path) -> None:
    others = {"text": "a", "cells": cell(1, "a"), "sparse": scipy.sparse.eye_array(3).tocsc(), "fields": {"n": 1}}
    path = tmp_path / "codes.mat"
    scipy.io.savemat(path, others | {"matrix": np.arange(6).reshape(2, 3), "complex": np.ones((2, 2)) * 1j})
    arrays = arrays_in(path)
    assert arrays["matrix"]().whole().tolist() == [[0, 1, 2], [3, 4, 5]]
    for name in others:
        with one_line(rf"codes\.mat: {name}: not numeric \(MATLAB \w+\): a matrix"):
            arrays[name]()
    with one_line(r"codes\.mat: complex: cannot be read: .*imaginary part"):
        arrays["complex"]().whole()


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", [0, 8, 14, 25, 9])
def test_values_of_no_type_of_matlabs_are_refused_before_scipy_ends_the_process(
    tmp_path: Path, compressed: bool, kind: int
) -> None:
    path = tmp_path / "codes.mat"
    scipy.io.savemat(path, {"B": np.array([[3.0], [4.0]])})
    content = bytearray(path.read_bytes())
    assert content[176] == 9  # the type of the values, double, behind the class, the shape and the name
    content[176] = kind
    variable = content[128:]
    if compressed:
        deflated = zlib.compress(variable)
        variable = struct.pack("<II", 15, len(deflated)) + deflated
    path.write_bytes(content[:128] + variable)
    if kind == 9:
        assert arrays_in(path)["B"]().whole().tolist() == [[3], [4]]
    else:
        with one_line("damaged: the values of a matrix are no numbers"):
            arrays_in(path)
