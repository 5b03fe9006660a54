"""Variables of .mat files: as SciPy reads sound ones; damaged ones are refused in one line, and never crash."""

import struct
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.together import together

from hashbench.codes.files import arrays_in, mat
from hashbench.foundation.errors import HashbenchError

NUMBERS = st.sampled_from(["f4", "f8", "u1", "i2", "u4", "i8"]).flatmap(
    lambda kind: st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3)).map(
        lambda shape: (np.arange(np.prod(shape)) * 3 % 7).reshape(shape).astype(kind)
    )
)
TEXT = st.text("abc xyz_09", min_size=1, max_size=6)


def cell(items):
    array = np.empty((1, len(items)), dtype=object)
    array[0, :] = items
    return array


FIELDS = st.text("abcdef", min_size=1, max_size=8)
VALUES = st.recursive(
    NUMBERS | TEXT,
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(cell) | st.dictionaries(FIELDS, inner, min_size=1),
    max_leaves=8,
)


def plain(value):
    """What SciPy's reader gives, in our terms."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        assert value.shape == (1, 1)
        return {name: plain(value[0, 0][name]) for name in value.dtype.names}
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [plain(cell) for cell in value.ravel(order="F")]
    return str(value[0]) if value.dtype.kind == "U" else value


def assert_same(ours, theirs):
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for key, value in ours.items():
            assert_same(value, theirs[key])
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    elif isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    else:
        assert ours == theirs


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=VALUES, compressed=st.booleans())
def test_nested_variables_are_read_as_scipy_reads_them(tmp_path: Path, value, compressed) -> None:
    path = tmp_path / "some.mat"
    scipy.io.savemat(path, {"first": np.arange(3.0), "value": value}, do_compression=compressed)
    variables = mat.read(path)
    assert_same(variables["value"], plain(scipy.io.loadmat(path)["value"]))
    np.testing.assert_array_equal(variables["first"], [[0, 1, 2]])


def small(path: Path, compressed: bool) -> bytes:
    value = {"layers": cell([{"name": "conv1", "weights": cell([np.ones((2, 2, 3, 4), "f4"), np.ones((1, 4))])}])}
    scipy.io.savemat(path, value, do_compression=compressed)
    return path.read_bytes()


@together("compressed", [False, True])
def test_a_damaged_file_is_read_or_refused_in_one_line(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "some.mat"
    whole = small(path, compressed)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(400):
        damaged = bytearray(whole)
        for at in rng.integers(126, len(whole), rng.integers(1, 4)):
            damaged[at] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            mat.read(path)
        except HashbenchError as error:
            refused += 1
            assert "\n" not in str(error)
            assert str(path) in str(error)
    assert refused > 50


@together("compressed", [False, True])
def test_a_file_cut_short_is_refused(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "some.mat"
    whole = small(path, compressed)
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        if length == 128:
            assert mat.read(path) == {}
            continue
        with pytest.raises(HashbenchError, match=r"not a readable \.mat file"):
            mat.read(path)


def test_a_variable_that_inflates_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.mat"
    scipy.io.savemat(path, {"zeros": np.zeros(1 << 20)}, do_compression=True)
    monkeypatch.setattr(mat, "MOST_BYTES", 1 << 20)
    with pytest.raises(HashbenchError, match="more than 1 MiB"):
        mat.read(path)


def test_the_hdf5_version_is_named(tmp_path: Path) -> None:
    path = tmp_path / "new.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    with pytest.raises(HashbenchError, match="save it with -v7"):
        mat.read(path)


def element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content.ljust(-(-len(content) // 8) * 8, b"\0")


def matrix(of_class: int, shape: tuple[int, ...] | None, name: bytes, *rest: bytes) -> bytes:
    head = element(6, struct.pack("<II", of_class, 0))
    lengths = element(5, struct.pack(f"<{len(shape)}i", *shape)) if shape is not None else b""
    return element(14, b"".join([head, lengths, element(1, name), *rest]))


def write(path: Path, *variables: bytes) -> Path:
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM" + b"".join(variables))
    return path


SMALL = matrix(6, (1, 3), b"small", element(3, np.array([1, -2, 300], "<i2").tobytes()))
TABLE = matrix(
    17, None, b"a_table", element(1, b"MCOS"), element(1, b"table"), matrix(13, (1, 1), b"", element(6, b"wxyz"))
)


def test_numbers_in_a_smaller_type_become_those_of_the_matrix(tmp_path: Path) -> None:
    """MATLAB stores doubles that are whole in as few bytes as they need."""
    path = write(tmp_path / "some.mat", SMALL)
    for values in (mat.read(path)["small"], arrays_in(path)["small"]().whole()):
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, [[1, -2, 300]])


def test_an_object_is_left_unread_beside_others(tmp_path: Path) -> None:
    path = write(tmp_path / "some.mat", TABLE, SMALL)
    variables = mat.read(path)
    assert variables["a_table"] is None
    assert variables["small"].shape == (1, 3)
    arrays = arrays_in(path)
    assert arrays["small"]().shape == (1, 3)
    with pytest.raises(HashbenchError, match=r"a_table: not numeric \(MATLAB object\)"):
        arrays["a_table"]()


CELL = matrix(1, (1, 1), b"", matrix(6, (1, 2), b"", element(9, bytes(16))))
SHORTER = CELL[:4] + struct.pack("<I", len(CELL) - 16) + CELL[8:]  # says that it ends inside its matrix

WRONG = {
    "flags of bytes": (element(14, element(2, b"\6".ljust(8, b"\0"))), "type 2 in place of flags"),
    "negative length": (matrix(1, (-1, -3), b"x"), r"x of shape \(-1, -3\)"),
    "no variable": (element(200, b"12345678"), "type 200 in place of a variable"),
    "too few values": (matrix(6, (1, 4), b"x", element(9, bytes(24))), r"24 bytes for float64 of shape \(1, 4\)"),
    "values of no numbers": (matrix(6, (1, 4), b"x", element(16, b"abcd")), "values of type 16"),
    "values that do not fit": (matrix(9, (1, 2), b"x", element(3, bytes(4))), "int16 do not fit a matrix of uint8"),
    "a tag with too much in it": (matrix(6, (1, 1), b"x", struct.pack("<IIQ", 8 << 16 | 9, 0, 0)), "8 bytes in a tag"),
    "a cell without its matrices": (matrix(1, (2, 2), b"x", matrix(6, (1, 1), b"", element(2, b"1"))), "ends early"),
    "a number in a cell": (matrix(1, (1, 1), b"x", element(9, bytes(8))), "type 9 in place of a matrix"),
    "a matrix that outgrows its cell": (matrix(1, (1, 1), b"x", SHORTER), "longer than the one around it"),
}


@together("fault", WRONG)
def test_a_wrong_element_is_refused(tmp_path: Path, fault: str) -> None:
    content, says = WRONG[fault]
    with pytest.raises(HashbenchError, match=says) as caught:
        mat.read(write(tmp_path / "some.mat", content))
    assert "\n" not in str(caught.value)


def test_cells_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix of no bytes takes eight in the file and much more in memory."""
    many = write(tmp_path / "many.mat", matrix(1, (1, 100), b"x", *[element(14, b"")] * 100))
    assert len(mat.read(many)["x"]) == 100
    monkeypatch.setattr(mat, "MOST_MATRICES", 100)
    with pytest.raises(HashbenchError, match="more than 100 matrices"):
        mat.read(many)
    deep = SMALL
    for _ in range(mat.MOST_DEPTH + 1):
        deep = matrix(1, (1, 1), b"x", deep)
    with pytest.raises(HashbenchError, match="more than 16 deep"):
        mat.read(write(tmp_path / "deep.mat", deep))
