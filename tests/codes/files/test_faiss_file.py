"""The file of an IndexBinaryFlat is read without faiss, and every other or damaged one ends in one line."""

import struct
from pathlib import Path

import numpy as np
import pytest
from support.one_line import one_line

from hashbench.scoring.codes import files, pack
from hashbench.scoring.codes.files import Explicit

BITS = np.random.default_rng(0).integers(0, 2, (9, 16), np.uint8)


def index(kind: bytes = b"IBxF", n_bits: int = 16, width: int = 2, n: int = 9, n_bytes: int = 18) -> bytes:
    head = struct.pack("<4siiq?iQ", kind, n_bits, width, n, True, 1, n_bytes)
    return head + np.packbits(BITS, axis=1).tobytes()


def test_the_codes_are_read(tmp_path: Path) -> None:
    (tmp_path / "database_codes.faiss").write_bytes(index())
    codes, notes = files.load_database(str(tmp_path / "database_codes.faiss"))
    assert np.array_equal(codes.bits(), BITS)
    assert notes == []
    np.save(tmp_path / "query_codes.npy", np.packbits(BITS[:4], axis=1))
    query, database, _ = files.load_codes(tmp_path)  # the index says that the bytes are packed, and how many bits
    assert query.bits().tolist() == BITS[:4].tolist()
    assert database.bits().tolist() == BITS.tolist()


def test_a_padded_code_is_read_by_its_length(tmp_path: Path) -> None:
    (tmp_path / "codes.faiss").write_bytes(index().replace(np.packbits(BITS, axis=1).tobytes(), b"\xf0\xf0" * 9))
    codes, _ = files.load_database(str(tmp_path / "codes.faiss"), explicit=Explicit(bits=12))
    assert codes.bits().tolist() == [[1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]] * 9


def test_the_file_of_faiss_itself(tmp_path: Path) -> None:
    faiss = pytest.importorskip("faiss", reason="needs the extra search")
    of_faiss = faiss.IndexBinaryFlat(16)
    of_faiss.add(np.packbits(BITS, axis=1))
    faiss.write_index_binary(of_faiss, str(tmp_path / "codes.faiss"))
    assert (tmp_path / "codes.faiss").read_bytes() == index()
    codes, _ = files.load_database(str(tmp_path / "codes.faiss"), explicit=Explicit(bit_order="little"))
    assert np.array_equal(codes.words, pack(BITS.reshape(9, 2, 8)[:, :, ::-1].reshape(9, 16)).words)


@pytest.mark.parametrize(
    "content",
    [
        index(kind=b"IBwF"),
        index(n_bits=24),
        index(width=3),
        index(n=10),
        index(n=-9),
        index(n=0, n_bytes=0)[: -len(BITS) * 2],
        index(n=1 << 60, n_bytes=1 << 61),
        index(n_bytes=17),
        index(n_bits=0, width=0, n=1, n_bytes=0),
        index()[:-1],
        index()[:33],
        index()[:20],
        index() + b"\0",
    ],
)
def test_other_and_damaged_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "database_codes.faiss"
    path.write_bytes(content)
    with one_line() as refused:
        files.load_database(str(path))
    assert str(refused.value).startswith(f"{path}: ")
