"""Every format, value, layout and naming that codes come in gives the same codes and the same relevance."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.damaged_codes import ROLES, Arrays, h5, mat, mat_73, mat_deflated, npy, npz, npz_deflated, pt
from support.one_line import one_line
from support.python import python
from support.small_pieces import small_pieces

import hashbench
from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.codes import files
from hashbench.scoring.codes.files import NAMINGS, Explicit, SavedCodes

rng = np.random.default_rng(3)
BITS = rng.integers(0, 2, (4, 20), np.uint8), rng.integers(0, 2, (30, 20), np.uint8)
IDS = rng.integers(0, 6, 4), rng.integers(0, 6, 30)

OF_TWO_SETS = {origin: naming for origin, naming in NAMINGS.items() if naming[0] != naming[1]}


def arrays(change: Callable[[np.ndarray], Any] = lambda bits: bits, **others: Any) -> Arrays:
    codes = {"query_codes": change(BITS[0]), "database_codes": change(BITS[1])}
    return {**codes, "query_labels": IDS[0], "database_labels": IDS[1], **others}


def npy_fortran(path: Path, content: Arrays) -> Path:
    return npy(path, {name: np.asfortranarray(array) for name, array in content.items()})


WRITERS = [npz, npz_deflated, mat, mat_deflated, mat_73, h5, npy, npy_fortran, pt]


def assert_right(read: SavedCodes, ids: tuple[np.ndarray, np.ndarray] = IDS) -> None:
    assert np.array_equal(read.query.bits(), BITS[0])
    assert np.array_equal(read.database.bits(), BITS[1])
    rows = slice(0, 4)
    columns = slice(0, 30)
    assert np.array_equal(read.relevance.block(rows, columns), ids[0][:, None] == ids[1])


@pytest.mark.parametrize("turn", [False, True], ids=["items-by-bits", "bits-by-items"])
@pytest.mark.parametrize("write", WRITERS)
def test_every_format_both_ways(tmp_path: Path, write: Callable[[Path, Arrays], Path], turn: bool) -> None:
    content = arrays(lambda bits: (2.0 * bits - 1).T if turn else 2.0 * bits - 1)
    read = files.load(write(tmp_path / "codes", content))
    assert_right(read)
    assert any("bits x items" in note for note in read.notes) == turn


VALUES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "bool": lambda bits: bits == 1,
    "0 and 1": lambda bits: bits.astype(np.int32),
    "-1 and +1": lambda bits: 2 * bits.astype(np.int8) - 1,
    "float32": lambda bits: 2 * bits.astype(np.float32) - 1,
    "half": lambda bits: bits.astype(np.float16),
    "big-endian": lambda bits: bits.astype(">f8"),
}


@pytest.mark.parametrize("change", VALUES.values(), ids=VALUES)
def test_values_that_need_no_note(tmp_path: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    read = files.load(npz(tmp_path / "codes", arrays(change)))
    assert_right(read)
    assert read.notes == ()


def test_real_values_are_binarised_above_0_and_zeros_are_counted(tmp_path: Path) -> None:
    strength = np.random.default_rng(0).uniform(0.1, 1, 20)
    database = np.where(BITS[1] == 1, strength, -strength)
    database[0, BITS[1][0] == 0] = 0
    n_zero = int((database == 0).sum())
    content = arrays(lambda bits: np.where(bits == 1, strength, -strength), database_codes=database)
    read = files.load(npz(tmp_path / "codes", content))
    assert_right(read)
    assert n_zero > 0
    assert ["real values, binarised at > 0" in note for note in read.notes] == [True, True]
    assert "query_codes" in read.notes[0]
    assert "0 of 80 values are exactly 0" in read.notes[0]
    assert f"{n_zero} of 600 values are exactly 0" in read.notes[1]


@pytest.mark.parametrize("n_bits", [7, 8, 12, 64, 65])
@pytest.mark.parametrize("order", ["big", "little", None])
def test_packed_bytes_in_either_order(tmp_path: Path, n_bits: int, order: Any) -> None:
    bits = np.random.default_rng(n_bits).integers(0, 2, (34, n_bits), np.uint8)
    packed = np.packbits(bits, axis=1, bitorder=order or "big")
    path = npz(tmp_path / "codes", arrays(query_codes=packed[:4], database_codes=packed[4:]))
    read = files.load(path, explicit=Explicit(bits=n_bits, bit_order=order))
    assert np.array_equal(np.vstack([read.query.bits(), read.database.bits()]), bits)


@pytest.mark.parametrize("write", [npz, mat, h5, npy, npy_fortran, pt])
@pytest.mark.parametrize("n_bits", [8, 20, 64])
def test_signed_bytes_are_packed_bytes_less_128(tmp_path: Path, write: Any, n_bits: int) -> None:
    bits = np.random.default_rng(n_bits).integers(0, 2, (34, n_bits), np.uint8)
    signed = (np.packbits(bits, axis=1).astype(int) - 128).astype(np.int8)  # sentence-transformers' binary precision
    path = write(tmp_path / "codes", arrays(query_codes=signed[:4], database_codes=signed[4:]))
    read = files.load(path, explicit=Explicit(bits=n_bits, layout="items-by-bits"))
    assert np.array_equal(np.vstack([read.query.bits(), read.database.bits()]), bits)
    assert sum("int8, read as packed bytes less 128" in note for note in read.notes) == 2


def hexadecimal(bits: np.ndarray) -> np.ndarray:
    """The texts of imagehash and PDQ."""
    return np.array([np.packbits(row).tobytes().hex() for row in bits])


def txt(path: Path, content: Arrays) -> list[Path]:
    for name in ("query_codes", "database_codes"):
        path.with_name(f"{name}.txt").write_text("\n".join(content.pop(name)) + "\n")
    return [path.with_name("query_codes.txt"), path.with_name("database_codes.txt"), npz(path, content)]


def h5_texts(path: Path, content: Arrays) -> Path:
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        for name, array in content.items():
            file[name] = list(map(str, array)) if array.dtype.kind == "U" else array
    return path.with_suffix(".h5")


@pytest.mark.parametrize("write", [npz, h5_texts, npy, txt])
@pytest.mark.parametrize("change", [hexadecimal, lambda bits: np.strings.upper(hexadecimal(bits))])
@pytest.mark.parametrize("n_bits", [None, 64])
def test_texts_are_hexadecimal_digits(tmp_path: Path, write: Any, change: Any, n_bits: int | None) -> None:
    bits = np.random.default_rng(3).integers(0, 2, (34, 64), np.uint8)
    texts = change(bits)
    place = write(tmp_path / "codes", arrays(query_codes=texts[:4], database_codes=texts[4:]))
    read = files.load(place, explicit=Explicit(bits=n_bits))
    assert np.array_equal(np.vstack([read.query.bits(), read.database.bits()]), bits)


@pytest.mark.parametrize(
    "texts, bits, says",
    [
        (["ff00", "ff", "a0b0", "0000"], None, "hexadecimal digits, as many in each text, are expected"),
        (["ff00", "fg00", "a0b0", "0000"], None, "hexadecimal digits, as many in each text, are expected"),
        (["ff00", "fé00", "a0b0", "0000"], None, "hexadecimal digits, as many in each text, are expected"),
        (["ff00", "", "a0b0", "0000"], None, "hexadecimal digits, as many in each text, are expected"),
        (["0100", "1111", "0010", "0000"], None, "texts of 0 and 1: codes = numpy.array([list(text)"),
        (["fff0", "ff08", "a0b0", "0000"], 12, "bits beyond n_bits = 12 are set"),
        (["ff00", "f000", "a0b0", "0000"], 8, "texts of 4 hexadecimal digits hold 16 bits, not 8"),
    ],
)
def test_texts_that_are_no_codes_are_one_line(tmp_path: Path, texts: list[str], bits: int | None, says: str) -> None:
    both = {"query_codes": np.array(texts), "database_codes": np.array([*texts, *texts])}
    with one_line(text=says):
        files.load(npz(tmp_path / "codes", arrays(**both, database_labels=np.arange(8))), explicit=Explicit(bits=bits))
    with one_line(text=says):
        hashbench.score(texts, texts, IDS[0], IDS[0], "ap", bits=bits, exclude_self=False)


@pytest.mark.parametrize("n_bits, n_characters", [(12, 3), (12, 4), (10, 3), (10, 4), (3, 1), (3, 2)])
def test_texts_may_be_padded(tmp_path: Path, n_bits: int, n_characters: int) -> None:
    bits = np.random.default_rng(5).integers(0, 2, (34, n_bits), np.uint8)
    texts = np.array([text[:n_characters] for text in hexadecimal(bits)])
    path = npz(tmp_path / "codes", {"database_codes": texts})
    database, _ = files.load_database(f"{path}:database_codes", explicit=Explicit(bits=n_bits))
    assert np.array_equal(database.bits(), bits)


def test_texts_and_signed_bytes_score_as_their_bits() -> None:
    bits = [np.random.default_rng(n).integers(0, 2, (n, 64), np.uint8) for n in (4, 30)]
    expected = hashbench.score(*bits, *IDS, "ap").to_dict()
    signed = [(np.packbits(side, axis=1).astype(int) - 128).astype(np.int8) for side in bits]
    assert hashbench.score(*signed, *IDS, "ap", bits=64).to_dict() == expected
    assert hashbench.score(*map(torch.from_numpy, signed), *IDS, "ap", bits=64).to_dict() == expected
    for form in (np.array, lambda texts: np.array(texts, object)):
        assert hashbench.score(*(form(hexadecimal(side).tolist()) for side in bits), *IDS, "ap").to_dict() == expected


@given(shape=st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9)), turn=st.booleans())
def test_a_layout_is_found_or_asked_about(
    shape: tuple[int, int, int], turn: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    n_query, n_database, n_bits = shape
    bits = np.random.default_rng(shape).integers(0, 2, (n_query + n_database, n_bits), np.uint8)
    sides = bits[:n_query], bits[n_query:]
    written = [side.T if turn else side for side in sides]
    labels = np.arange(n_query), np.arange(n_database)
    path = npz(tmp_path_factory.mktemp("layout") / "codes", dict(zip(ROLES, (*written, *labels), strict=True)))
    layout: Any = "bits-by-items" if turn else "items-by-bits"
    read = files.load(path, explicit=Explicit(layout=layout))
    assert np.array_equal(read.query.bits(), sides[0])
    assert np.array_equal(read.database.bits(), sides[1])
    if n_query == n_database == n_bits:
        with one_line("say --layout items-by-bits or --layout bits-by-items"):
            files.load(path)
    else:
        assert np.array_equal(files.load(path).database.bits(), sides[1])


def hot(ids: np.ndarray) -> np.ndarray:
    return np.eye(6)[ids]


LABELS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "column": lambda ids: ids[:, None],
    "row": lambda ids: ids[None],
    "floats": lambda ids: ids.astype(np.float32),
    "one-hot": hot,
    "one-hot, turned": lambda ids: hot(ids).T,
    "-1 for absent": lambda ids: 2 * hot(ids) - 1,
}


@pytest.mark.parametrize("change", LABELS.values(), ids=LABELS)
def test_labels_of_every_kind(tmp_path: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    assert_right(
        files.load(npz(tmp_path / "codes", arrays(query_labels=change(IDS[0]), database_labels=change(IDS[1]))))
    )


def test_minus_1_in_labels_of_one_side_is_noted(tmp_path: Path) -> None:
    content = arrays(query_labels=np.where(hot(IDS[0]) == 0, -1, 1), database_labels=hot(IDS[1]))
    read = files.load(npz(tmp_path / "codes", content))
    assert_right(read)
    assert read.notes == (f"{tmp_path / 'codes.npz'}: query_labels: 20 labels are -1, read as absent",)


def renamed(origin: str, at: int = 0) -> Arrays:
    return {
        names[min(at, len(names) - 1)]: array for names, array in zip(NAMINGS[origin], arrays().values(), strict=True)
    }


@pytest.mark.parametrize("naming", OF_TWO_SETS)
@pytest.mark.parametrize("prefix", ["", "cifar10-0.79-", "imagenet_64_"])
def test_names_of_other_code_bases_as_files_in_a_folder(tmp_path: Path, naming: str, prefix: str) -> None:
    folder = npy(tmp_path / "codes", {prefix + name: array for name, array in renamed(naming).items()})
    (folder / "model.pt").write_bytes(b"\x80\x02 a pickle that is not looked at")
    assert_right(files.load(folder))


@pytest.mark.parametrize("naming", OF_TWO_SETS)
def test_names_of_other_code_bases_as_keys(tmp_path: Path, naming: str) -> None:
    for at in range(max(map(len, NAMINGS[naming]))):
        assert_right(files.load(mat(tmp_path / "codes", renamed(naming, at))))


def test_two_names_of_one_role_are_asked_about(tmp_path: Path) -> None:
    both = renamed("MATLAB hashing", 0) | renamed("MATLAB hashing", 1)
    with one_line(r"B_tst, .* could be meant: name each array"):
        files.load(mat(tmp_path / "codes", both))


def test_a_folder_with_two_runs_is_asked_about(tmp_path: Path) -> None:
    both = {prefix + name: array for prefix in ("a-", "b-") for name, array in renamed("DeepHash-pytorch").items()}
    folder = npy(tmp_path / "codes", both)
    with one_line(r"b-trn_binary\.npy: trn_binary is in .*a-trn_binary\.npy too"):
        files.load(folder)


def test_a_folder_with_one_file_of_codes_is_that_file(tmp_path: Path) -> None:
    npz(tmp_path / "codes", arrays())
    (tmp_path / "log.txt").write_text("epoch 1")
    assert_right(files.load(tmp_path))


def test_what_is_said_wins_over_names(tmp_path: Path) -> None:
    content = arrays(query_codes=BITS[0] * 0, database_codes=BITS[1] * 0, mine=BITS[0], theirs=BITS[1])
    path = npz(tmp_path / "codes", content)
    explicit = Explicit({"query_codes": f"{path}:mine", "database_codes": f"{path}:theirs"})
    assert_right(files.load(path, explicit=explicit))


def test_codes_in_one_file_and_labels_in_others(tmp_path: Path) -> None:
    path = mat(tmp_path / "codes", {"qB": 2.0 * BITS[0] - 1, "rB": 2.0 * BITS[1] - 1})
    with one_line(r"query_labels is missing: .*--array query-labels=FILE:KEY; there is qB, rB"):
        files.load(path)
    folder = npy(tmp_path / "codes", {"test": IDS[0], "train": IDS[1]})
    explicit = Explicit({"query_labels": f"{folder}/test.npy", "database_labels": f"{folder}/train.npy"})
    assert_right(files.load(path, explicit=explicit))


@pytest.mark.parametrize("write", [mat_deflated, mat, mat_73, h5, pt])
@pytest.mark.parametrize("shape", [(5, 4), (5, 4, 3), (5, 4, 3, 2)])
def test_arrays_of_any_number_of_axes_are_read_as_they_are(
    tmp_path: Path, write: Any, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pieces(monkeypatch, slab_bytes=100)
    items = np.random.default_rng(4).uniform(size=shape)
    stored = files.arrays_in(write(tmp_path / "codes", {"items": items}))["items"]()
    assert stored.shape == shape
    np.testing.assert_array_equal(stored.whole(), items)


def test_a_code_length_of_0_is_refused() -> None:
    with one_line("--layout: 0 bits; 1 to 4096"):
        Explicit(bits=0)


def test_a_pickle_is_refused_with_the_lines_that_convert_it(tmp_path: Path) -> None:
    (tmp_path / "48bits-record.pkl").write_bytes(b"\x80\x03}q\x00.")
    with one_line() as caught:
        files.load(tmp_path / "48bits-record.pkl")
    message = str(caught.value)
    assert "import numpy; from pickle import load; saved = load(open('48bits-record.pkl', 'rb'));" in message
    assert "numpy.savez('codes.npz', query_codes=saved['qB'], database_codes=saved['rB'])" in message


def test_npz_and_npy_are_read_without_the_libraries_of_others(tmp_path: Path) -> None:
    paths = npz(tmp_path / "codes", arrays()), npy(tmp_path / "codes", arrays())
    code = (
        "import sys; from pathlib import Path; from hashbench.scoring.codes import files; "
        "[files.load(Path(path)) for path in sys.argv[1:]];"
        "print(*{'torch', 'scipy', 'h5py', 'sklearn', 'pandas'} & {name.split('.')[0] for name in sys.modules})"
    )
    assert python(code, *paths) == "\n"


@pytest.mark.parametrize("kind", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"])
@pytest.mark.parametrize("compressed", [False, True])
def test_matrices_of_every_type_that_matlab_has(tmp_path: Path, kind: str, compressed: bool) -> None:
    path = tmp_path / "codes.mat"
    others = {"cells": np.array([[1, "a"]], object), "options": {"n": 1}, "B": BITS[1] == 1}
    content = arrays(lambda bits: bits.astype(kind), database_codes=BITS[1] == 1)
    scipy.io.savemat(path, content | others, do_compression=compressed)
    assert_right(files.load(path))


@pytest.mark.parametrize("write", [npz, npz_deflated, pt])
def test_a_wrong_byte_anywhere_gives_codes_or_one_line(tmp_path: Path, write: Callable[[Path, Arrays], Path]) -> None:
    path = write(tmp_path / "codes", arrays())
    content = path.read_bytes()
    for at, value in np.random.default_rng(1).integers(0, (len(content), 256), (100, 2)):
        path.write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
        try:
            files.load(path)
        except HashbenchError as error:
            assert len(str(error).splitlines()) == 1
