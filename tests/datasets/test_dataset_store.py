import re

import h5py
import numpy as np
import pytest
from support.one_line import one_line
from support.stored_toy import store_toy

from hashbench.running.datasets import store, stored_file
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.download import download
from hashbench.running.datasets.readers import Block
from hashbench.running.datasets.status import dataset_status
from hashbench.running.datasets.store import open_dataset, open_labels, path_of, verify
from hashbench.running.datasets.stored_file import array_sha256, content_sha256


@pytest.fixture
def stored(toy, tmp_path):
    """The path of the toy, converted."""
    return download(load_card("toy"), toy.write_files(tmp_path / "toy-bin"))


def test_what_is_stored_is_what_is_opened(toy, stored):
    data = open_dataset(load_card("toy"))
    np.testing.assert_array_equal(data.items, toy.images)
    np.testing.assert_array_equal(data.labels, toy.labels)
    assert data.items.dtype == np.uint8
    assert data.labels.dtype == np.int64
    assert data.items.flags.c_contiguous
    assert data.sha256 == content_sha256(toy.images, toy.labels.astype(np.int64))
    assert stored == path_of(load_card("toy"))


def test_the_checksum_knows_values_types_and_shapes():
    items = np.zeros((4, 2), np.float32)
    labels = np.zeros(4, np.int64)
    others = [(items.reshape(2, 4), labels), (items.astype(np.uint8), labels), (items + 1, labels), (items, labels + 1)]
    assert len({content_sha256(*pair) for pair in [(items, labels), *others]}) == 5
    assert content_sha256(np.asfortranarray(items), labels) == content_sha256(items, labels)
    assert content_sha256(items.astype(">f4"), labels) == content_sha256(items, labels)


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garble(path):
    path.write_bytes(b"<!DOCTYPE html>" * 500)


def flip_a_pixel(path):
    with h5py.File(path) as file:
        offset = file["items"].id.get_offset()
    data = bytearray(path.read_bytes())
    data[offset + 100] ^= 1
    path.write_bytes(data)


def drop_checksum(path):
    with h5py.File(path, "a") as file:
        del file.attrs["content_sha256"]


@pytest.mark.parametrize("damage", [truncate, garble, flip_a_pixel, drop_checksum])
def test_damage_is_one_line_and_download_mends_it(toy, stored, tmp_path, damage):
    damage(stored)
    with one_line(r"run hashbench download toy again$") as caught:
        open_dataset(load_card("toy"))
    assert str(caught.value).startswith(f"{stored}: damaged (")
    if damage is not flip_a_pixel:  # the status looks at the head alone
        status = dataset_status(load_card("toy"))
        assert status.state == "damaged"
        assert status.fault[-32:] == "run hashbench download toy again"
    download(load_card("toy"), tmp_path / "toy-bin")
    np.testing.assert_array_equal(open_dataset(load_card("toy")).items, toy.images)


def test_verify_reads_every_byte_of_a_set_too_large_for_memory(toy, stored, monkeypatch):
    monkeypatch.setattr(stored_file, "IN_MEMORY_BYTES", 0)
    flip_a_pixel(stored)
    assert isinstance(open_dataset(load_card("toy")).items, np.memmap)
    with one_line("another checksum than when it was written"):
        verify(load_card("toy"))


def test_the_status_looks_at_the_head_alone(toy, stored, tmp_path):
    status = dataset_status(load_card("toy"))
    assert status.state == "stored"
    assert status.pinned is False
    assert status.size_bytes == stored.stat().st_size
    sha256 = store.stated_sha256(load_card("toy"))
    assert sha256 == open_dataset(load_card("toy")).sha256
    toy.card.write_text(f'content_sha256 = "{sha256}"\n{toy.card.read_text()}')
    flip_a_pixel(stored)
    assert dataset_status(load_card("toy")).pinned  # what the file says of itself; verify reads the bytes
    with one_line("another checksum"):
        verify(load_card("toy"))
    stored.unlink()
    assert dataset_status(load_card("toy")).state == "missing"


def test_labels_alone_are_opened_where_there_are_no_items(tmp_path):
    names = np.array([b"a.jpg", b"b.jpg", b"c.jpg"])
    hot = np.array([[1, 0], [1, 1], [0, 1]], np.uint8)
    card = store_toy(tmp_path, np.zeros((3, 2, 2, 3), np.uint8), hot, "", names=names, labels_only=True)
    opened = open_labels(load_card("toy"))
    assert dataset_status(load_card("toy")).state == "labels only"
    assert opened.labels.tolist() == hot.tolist()
    assert opened.names.tolist() == names.tolist()
    with one_line(r"^toy is not downloaded: run hashbench download toy \(or --from-dir DIR"):
        open_dataset(load_card("toy"))
    store.write(card, [Block(np.zeros((3, 2, 2, 3), np.uint8), hot, names)], {})
    assert dataset_status(load_card("toy")).state == "stored"
    assert open_labels(load_card("toy")).sha256 == opened.sha256 == array_sha256(open_dataset(load_card("toy")).labels)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("[8, 8, 8]", "[9, 8, 7]", "class counts are [8, 8, 8]; the card states [9, 8, 7]"),
        ("n_classes", f'content_sha256 = "{"0" * 64}"\nn_classes', "the card states 000000000000"),
    ],
)
def test_a_file_of_another_card_is_noticed(toy, stored, old, new, message):
    toy.edit(old, new)
    with one_line(re.escape(message)):
        open_dataset(load_card("toy"))
    if "content" in new:
        assert message in dataset_status(load_card("toy")).fault


def long_names(file):
    file.create_dataset("names", (10**12,), "S10", chunks=(1024,))


def numbered_names(file):
    file["names"] = np.arange(24)


@pytest.mark.parametrize("spoil", [long_names, numbered_names])
def test_names_that_are_not_one_an_item_are_damage(toy, stored, spoil):
    with h5py.File(stored, "a") as file:
        spoil(file)
    assert dataset_status(load_card("toy")).state == "damaged"
    for opened in (open_dataset, open_labels):
        with one_line(r"toy\.h5: damaged \(names are .* again$"):
            opened(load_card("toy"))


def test_a_changed_name_is_noticed(tmp_path):
    names = np.array([b"a.jpg", b"b.jpg", b"c.jpg"])
    card = store_toy(tmp_path, np.zeros((3, 2, 2, 3), np.uint8), np.arange(3), "", names=names)
    assert open_dataset(load_card("toy")).names.tolist() == names.tolist()
    with h5py.File(path_of(card), "a") as file:
        file["names"][1] = b"x.jpg"
    for opened in (open_dataset, open_labels):
        with one_line("the names have another checksum than when they were written"):
            opened(load_card("toy"))


def test_files_that_do_not_fit_their_card_are_one_line():
    card = load_card("digits").model_copy(update={"item_shape": [8, 9, 1]})
    stated = r"\(item_shape \[8, 9, 1\], n_items 1797\)"
    with one_line(f"^digits: its files do not fit its card {stated}: cannot reshape array"):
        open_dataset(card)
    blocks = [Block(np.zeros((1797, 8, 8, 1), np.uint8), np.zeros(1797, np.int64))]
    with one_line(f"^digits: its files do not fit its card {stated}: .*broadcast"):
        store.write(card, blocks, {})
    assert list(path_of(card).parent.iterdir()) == []
