from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hashbench.codes.files import mat
from hashbench.errors import HashbenchError

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
        return [plain(each) for each in value.ravel(order="F")]
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
    found = mat.read(path)
    assert_same(found["value"], plain(scipy.io.loadmat(path)["value"]))
    np.testing.assert_array_equal(found["first"], [[0, 1, 2]])


def small(path: Path, compressed: bool) -> bytes:
    value = {"layers": cell([{"name": "conv1", "weights": cell([np.ones((2, 2, 3, 4), "f4"), np.ones((1, 4))])}])}
    scipy.io.savemat(path, value, do_compression=compressed)
    return path.read_bytes()


@pytest.mark.parametrize("compressed", [False, True])
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


@pytest.mark.parametrize("compressed", [False, True])
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
