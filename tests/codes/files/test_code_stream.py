"""A database read piece by piece is the database read whole."""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.damaged_codes import ROLES, Arrays, h5, mat, mat_73, npy, npz, npz_deflated, pt
from support.small_pieces import small_pieces
from support.together import together

from hashbench.codes import files
from hashbench.codes.files import CodeStream, Explicit, SavedCodes

# from the module itself: no file gives slabs of every size, empty ones among them
from hashbench.codes.files._saved import regrouped
from hashbench.foundation.errors import HashbenchError
from hashbench.histogram import count, count_blocks

stream = partial(files.opened, held_bytes=0)
N_QUERY = 6
N_DATABASE = 73
N_BITS = 20
N_LABELS = 7


def h5_chunked(path: Path, arrays: Arrays) -> Path:
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        for name, array in arrays.items():
            chunks = tuple(min(3, length) for length in np.shape(array)) or None
            file.create_dataset(name, data=array, chunks=chunks, compression="gzip" if chunks else None)
    return path.with_suffix(".h5")


def turned(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array.T)


def codes(kind: str, rng: np.random.Generator, n_items: int) -> np.ndarray:
    bits = rng.integers(0, 2, (n_items, N_BITS), np.uint8)
    values: dict[str, np.ndarray] = {
        "bits": bits,
        "bool": bits.astype(bool),
        "signed": 2 * bits.astype(np.int8) - 1,
        "real": rng.normal(size=bits.shape),
        "real with zeros": rng.integers(-2, 3, bits.shape).astype(np.float32),
        "packed big": np.packbits(bits, axis=1),
        "packed little": np.packbits(bits, axis=1, bitorder="little"),
    }
    return values[kind]


def labels(kind: str, rng: np.random.Generator, n_items: int) -> np.ndarray:
    ids = rng.integers(-1, N_LABELS, n_items)
    hot = rng.integers(0, 2, (n_items, N_LABELS), np.uint8)
    values: dict[str, np.ndarray] = {
        "ids": ids,
        "column": ids[:, None].astype(np.int16),
        "row": ids[None],
        "one-hot": (ids[:, None] == np.arange(N_LABELS)).astype(np.uint8),
        "multi-hot": hot,
        "multi-hot at the end": hot * (np.arange(n_items) >= n_items - 3)[:, None].astype(np.uint8),
        "multi-hot of -1": 2.0 * hot - 1,
        "labels by items": turned(hot),
    }
    return values[kind]


CODES = ("bits", "bool", "signed", "real", "real with zeros", "packed big", "packed little")
LABELS = (
    "ids", "column", "row", "one-hot", "multi-hot", "multi-hot at the end", "multi-hot of -1", "labels by items",
)  # fmt: skip


def arrays(of_codes: str, of_labels: str, seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    sizes = {"query": N_QUERY, "database": N_DATABASE}
    content: Arrays = {f"{side}_codes": codes(of_codes, rng, n) for side, n in sizes.items()}
    content |= {f"{side}_labels": labels(of_labels, rng, n) for side, n in sizes.items()}
    return content | ({"n_bits": np.array(N_BITS)} if "packed" in of_codes else {})


@pytest.fixture(autouse=True)
def seven_items_a_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    small_pieces(monkeypatch, slab_bytes=100, items=7)


def assert_the_same(streamed: CodeStream, loaded: SavedCodes) -> None:
    counted = count_blocks(streamed.query, streamed.pieces())
    whole = count(loaded.query, loaded.database, loaded.relevance)
    assert counted.levels.tolist() == whole.levels.tolist()
    assert np.array_equal(counted.counts, whole.counts)
    assert np.array_equal(streamed.query.bits(), loaded.query.bits())
    pieces = list(streamed.pieces())
    assert np.array_equal(np.vstack([piece.bits() for piece, _ in pieces]), loaded.database.bits())
    assert [len(piece) for piece, _ in pieces[:-1]] == [7] * (len(pieces) - 1)
    assert streamed.n_database == loaded.n_database == N_DATABASE
    assert streamed.notes == loaded.notes  # said once, however often the pieces are gone through


@together("write", [npz, npz_deflated, npy, h5, h5_chunked, mat_73, pt], ids=lambda write: write.__name__)
@together("of_codes", CODES)
def test_every_format_streams_what_it_loads(tmp_path: Path, write: Any, of_codes: str) -> None:
    path = write(tmp_path / "codes", arrays(of_codes, "ids"))
    explicit = Explicit(bits=N_BITS)
    assert_the_same(stream(path, explicit=explicit), files.load(path, explicit=explicit))


@together("write", [npz, h5_chunked, mat_73], ids=lambda write: write.__name__)
@together("of_labels", LABELS)
def test_labels_of_every_kind_come_with_their_codes(tmp_path: Path, write: Any, of_labels: str) -> None:
    path = write(tmp_path / "codes", arrays("bits", of_labels))
    assert_the_same(stream(path), files.load(path))


@together("write", [h5, h5_chunked, mat_73], ids=lambda write: write.__name__)
@together("of_codes", ["signed", "real with zeros"])
def test_hdf5_of_bits_by_items_streams_too(tmp_path: Path, write: Any, of_codes: str) -> None:
    content = arrays(of_codes, "ids")
    path = write(tmp_path / "codes", content | {role: turned(content[role]) for role in ROLES[:2]})
    loaded = files.load(path)
    assert loaded.notes[0].endswith("codes are bits x items")
    assert_the_same(stream(path), loaded)


@given(
    sizes=st.lists(st.integers(0, 9), max_size=12), n=st.integers(1, 10), seed=st.integers(0, 100)
)  # fmt: skip
def test_regrouped_rows_are_the_same_rows(sizes: list[int], n: int, seed: int) -> None:
    rows = np.random.default_rng(seed).integers(0, 99, (sum(sizes), 2))
    cuts = np.cumsum([0, *sizes])
    pieces = list(regrouped((rows[a:b] for a, b in pairwise(cuts)), n))
    assert [len(piece) for piece in pieces] == [n] * (len(rows) // n) + [len(rows) % n] * (len(rows) % n > 0)
    assert np.array_equal(np.vstack([rows[:0], *pieces]), rows)


@settings(max_examples=15, deadline=None)
@given(
    block=st.integers(1, 100),
    slab=st.integers(8, 4000),
    of_codes=st.sampled_from(CODES),
    of_labels=st.sampled_from(LABELS),
    seed=st.integers(0, 1000),
)
def test_any_block_size_gives_the_histogram_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, block: int, slab: int, of_codes: str, of_labels: str, seed: int
) -> None:
    path = h5_chunked(tmp_path_factory.mktemp("any") / "codes", arrays(of_codes, of_labels, seed))
    loaded = files.load(path)
    with pytest.MonkeyPatch.context() as patch:
        small_pieces(patch, slab_bytes=slab, items=block)
        streamed = stream(path)
        counted = count_blocks(streamed.query, streamed.pieces())
    assert np.array_equal(counted.counts, count(loaded.query, loaded.database, loaded.relevance).counts)


def test_a_bit_order_said_or_seen_is_that_of_loading(tmp_path: Path) -> None:
    path = npz(tmp_path / "codes", arrays("packed little", "ids"))
    assert any("packed with the lowest bit first" in note for note in files.load(path).notes)
    assert_the_same(
        stream(path, explicit=Explicit(bit_order="little")),
        files.load(path, explicit=Explicit(bit_order="little")),
    )
    for read in (files.load, lambda *a, **k: list(stream(*a, **k).pieces())):
        with pytest.raises(HashbenchError, match=r"bits beyond n_bits = 20 are set"):
            read(path, explicit=Explicit(bit_order="big"))
    mixed = arrays("packed big", "ids") | {"query_codes": codes("bits", np.random.default_rng(1), N_QUERY)}
    path = npz(tmp_path / "mixed", mixed)
    for read in (files.load, stream):
        with pytest.raises(HashbenchError, match="say --layout big or --layout little"):
            read(path)


def both_orders() -> Iterator[Arrays]:
    """Padding that is clear in neither order, in the database, and between the two sides."""
    content = arrays("packed big", "ids")
    spoilt = content["database_codes"].copy()
    spoilt[-1, -1] = 0xFF
    yield content | {"database_codes": spoilt}
    yield content | {"query_codes": codes("packed little", np.random.default_rng(2), N_QUERY)}


@together("content", list(both_orders()), ids=["in the database", "between the sides"])
def test_padding_that_fits_no_order_is_refused_before_counting(tmp_path: Path, content: Arrays) -> None:
    path = npz(tmp_path / "codes", content)
    for read in (files.load, stream):
        with pytest.raises(HashbenchError, match="bits beyond n_bits = 20 are set"):
            read(path)


def test_what_cannot_be_read_item_by_item_is_loaded_and_a_note_says_so(tmp_path: Path) -> None:
    content = arrays("signed", "ids")
    by_bits = npz(tmp_path / "turned", content | {role: turned(content[role]) for role in ROLES[:2]})
    for path in (mat(tmp_path / "codes", content), by_bits):
        assert isinstance(stream(path), SavedCodes)
        note = "cannot be read item by item, so the whole is in memory"
        assert [note in line for line in stream(path).notes].count(True) == 1
        assert not any(note in line for line in files.opened(path).notes)


def test_large_databases_are_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = npz(tmp_path / "codes", arrays("bits", "ids"))
    n_bytes = 16 * N_DATABASE  # of codes and labels
    for most, kind in ((n_bytes, SavedCodes), (n_bytes - 1, CodeStream)):
        monkeypatch.setattr(files, "HELD_BYTES", most)
        assert type(files.opened(path)) is kind
        assert type(files.opened(path, held_bytes=n_bytes)) is SavedCodes


@together("kind", ["integers", "texts", "none", "of one side"])
def test_ids_of_queries_are_found_in_any_piece(tmp_path: Path, kind: str) -> None:
    ids = {"query_ids": np.array([3, 900, 72, 7, 901, 0]), "database_ids": np.arange(N_DATABASE)}
    if kind == "texts":
        ids = {name: array.astype("S") for name, array in ids.items()}
    ids = {"integers": ids, "texts": ids, "none": {}, "of one side": {"query_ids": ids["query_ids"]}}[kind]
    path = npz(tmp_path / "codes", arrays("bits", "ids") | ids)
    counts = [read(path).ids_in_database() for read in (files.load, stream)]
    assert counts == ([4, 4] if kind in ("integers", "texts") else [None, None])


@together(
    ("role", "value", "says"),
    [
        ("database_codes", 5.0, r"database_codes: 5\.0 is in it"),
        ("database_codes", np.nan, "not finite"),
        ("database_labels", 0.5, "whole numbers"),
    ],
)
def test_a_bad_value_at_the_very_end_gives_no_histogram(tmp_path: Path, role: str, value: float, says: str) -> None:
    content = {name: array.astype(float) for name, array in arrays("bits", "ids").items()}
    content[role].flat[-1] = value
    streamed = stream(npz(tmp_path / "codes", content))
    with pytest.raises(HashbenchError, match=says):
        count_blocks(streamed.query, streamed.pieces())
    assert streamed.notes == ()


def test_a_checksum_after_the_last_value_is_compared(tmp_path: Path) -> None:
    """The member's CRC in an .npz is compared when its end is read, for the labels as for the codes."""
    for role in ROLES:
        path = npz(tmp_path / role, arrays("bits", "ids"))
        content = bytearray(path.read_bytes())
        entry = content.rindex(f"{role}.npy".encode()) - 46
        assert content[entry : entry + 4] == b"PK\x01\x02"
        content[entry + 16] ^= 1
        path.write_bytes(content)
        with pytest.raises(HashbenchError, match="CRC"):
            list(stream(path).pieces())
