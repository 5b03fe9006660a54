"""Data sets made of published lists of image names: the order of ids, what is refused, labels without images."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line
from support.toy_lists import CLASSES, ORDER, make_lists, pixels
from support.toy_root import REPOSITORY

from hashbench.foundation.errors import HashbenchError
from hashbench.running.datasets import store
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.download import download
from hashbench.running.datasets.readers import image_lists
from hashbench.running.datasets.readers.image_lists import label_rows, read_list
from hashbench.running.datasets.split import split

FORMS = ["", "image/", "./data/lists/image/", "/home/somebody/lists/val_image/", "C:\\\\Data\\\\image\\\\"]


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path / "root"))
    return tmp_path / "root"


@pytest.fixture
def lists(root):
    return make_lists(root)


@pytest.mark.parametrize("before", FORMS)
def test_roles_are_ranges_of_ids_in_the_order_of_names_whatever_the_folders(root, tmp_path, before):
    make_lists(root, before).write(tmp_path / "given")
    path = download(load_card("lists"), tmp_path / "given", labels_only=True)
    stored = store.open_labels(load_card("lists"))
    assert path == store.labels_path_of(load_card("lists"))
    assert [name.decode() for name in stored.names] == ORDER
    assert stored.labels.tolist() == CLASSES
    chosen = split(stored.labels, load_card("lists").protocol("published"), "lists", "published")
    assert {role: len(ids) for role, ids in chosen.lists().items()} == {"query": 2, "database": 5, "train": 2}


def test_a_role_may_come_in_several_files(lists, tmp_path):
    first, second = lists.lines.pop("test")
    lists.lines |= {"test0": [first], "test1": [second]}
    lists.write_card()
    download(load_card("lists"), lists.write(tmp_path / "given"), labels_only=True)
    assert [name.decode() for name in store.open_labels(load_card("lists")).names] == ORDER


def test_several_labels_an_image_and_none(lists, tmp_path):
    lists.lines["test"] = ["val_2.JPEG 0 0 0", "val_1.JPEG 1 0 1"]
    lists.write_card(labels="multi")
    download(load_card("lists"), lists.write(tmp_path / "given"), labels_only=True)
    labels = store.open_labels(load_card("lists")).labels
    assert labels.dtype == np.uint8
    assert labels[5:].tolist() == [[1, 0, 1], [0, 0, 0]]


FAULTS = {
    "val_3.JPEG 0 1": "test.txt: line 3 has .*: 3 labels, each 0 or 1, are expected",
    "val_3.JPEG 0 1 0 0": "test.txt: line 3 has .*: 3 labels, each 0 or 1, are expected",
    "val_3.JPEG": "test.txt: line 3 has .*: 3 labels, each 0 or 1, are expected",
    "val 3.JPEG 0 1 0": "test.txt: line 3 has .*: 3 labels, each 0 or 1, are expected",
    "val_3.JPEG 0 2 0": "test.txt: line 3 has .*: 3 labels, each 0 or 1, are expected",
    "val_3.JPEG 0 -1 0": "test.txt: line 3 has .*: 3 labels, each 0 or 1, are expected",
    "val_3.JPEG 01 0 1": "test.txt: line 3 has .*: 3 labels, each 0 or 1, are expected",
    "val_3.JPEG 0 \u0661 0": "test.txt: line 3 has .*: 3 labels, each 0 or 1, are expected",
    "val_3.JPEG 1 1 0": "lists: val_3.JPEG has 2 labels; one class is expected",
    "val_3.JPEG 0 0 0": "lists: val_3.JPEG has 0 labels; one class is expected",
    "image/val_1.JPEG 0 1 0": "lists: val_1.JPEG is twice in the test list",
    "n02_1.JPEG 0 1 0": "lists: n02_1.JPEG is in the test list and in the database list",
    "n01_5.JPEG 1 0 0": "lists: n01_5.JPEG is in the test list and in the train list",
    "val_3.JPEG 0 1 0": "lists: more than the 7 items that the card states",
    "../val_3.JPEG 0 1 0": r"\.\./val_3.JPEG: not the path of an image below a folder",
    "a\\..\\val_3.JPEG 0 1 0": "not the path of an image below a folder",
    "/ 0 1 0": "/: not the path of an image below a folder",
}


@pytest.mark.parametrize("line", FAULTS)
def test_a_wrong_line_is_named_and_nothing_put_in_place(lists, tmp_path, refused, line):
    lists.lines["test"].append(line)
    refused("lists", FAULTS[line], lists.write(tmp_path / "given"), labels_only=True)


def two_opinions(lists, folder):
    lists.lines["train"][0] = "n03_7.JPEG 0 1 0"
    lists.write(folder)


def empty(_, folder):
    (folder / "database.txt").write_bytes(b"\n \n")


def missing(_, folder):
    (folder / "database.txt").unlink()


def misnamed(lists, folder):
    lists.lines["validation"] = lists.lines["test"]
    lists.write_card()
    lists.write(folder)


FAULTS_OF_LISTS = {
    two_opinions: "n03_7.JPEG has other labels in the train list than in the database list",
    empty: "database.txt: empty: a line for each image was expected",
    missing: "given: holds neither .*database.txt; to get it, make it",
    misnamed: "validation.txt: a list is called train, database or test",
}


@pytest.mark.parametrize("fault", FAULTS_OF_LISTS)
def test_a_list_that_is_not_as_it_should_be_is_refused(lists, tmp_path, refused, fault):
    folder = lists.write(tmp_path / "given")
    fault(lists, folder)
    refused("lists", FAULTS_OF_LISTS[fault], folder, labels_only=True)


def test_what_is_much_too_long_is_not_read(monkeypatch):
    monkeypatch.setattr(image_lists, "MOST_BYTES", 1 << 20)
    with one_line("list: more than 1 MiB: this is no list of images"):
        read_list("list", io.BytesIO(b"a 0 1 0\n" * (1 << 18)), 3)


@given(st.lists(st.lists(st.integers(0, 1), min_size=4, max_size=4), min_size=1), st.sampled_from([" ", "  ", "\t"]))
def test_rows_of_labels_are_read_as_they_were_written(rows, between):
    written = [between.join(map(str, row)).encode() + b"\r" for row in rows]
    assert label_rows("list", written, 4).tolist() == rows


def test_lists_that_the_folder_of_the_images_has_not_are_fetched(lists, tmp_path, data_folder, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    lists.write_card(urls=True)
    images = lists.write_images(tmp_path / "images")
    with one_line(r"images: holds neither .*, and http://127.0.0.1:9/none: "):
        download(load_card("lists"), images)
    lists.write(data_folder / "lists" / "sources")  # where fetched files are kept
    download(load_card("lists"), images)
    assert np.array_equal(store.open_dataset(load_card("lists")).items, [pixels(row) for row in range(7)])


def test_without_images_it_says_what_is_missing_and_that_labels_can_be_had_alone(lists, tmp_path, refused):
    message = "lists: 7 of 7 images are not in .*given, the first is n01_5.JPEG: "
    message += r"unpack pictures.tar.gz \(ask the authors; wait\) .*--labels-only$"
    refused("lists", message, lists.write(tmp_path / "given"))


def test_without_a_folder_the_images_are_looked_for_beside_the_data(lists, data_folder):
    lists.write_card(urls=True)
    lists.write(data_folder / "lists" / "sources")
    with one_line(r"7 of 7 images are not in .*data/lists/images, "):
        download(load_card("lists"))
    lists.write_images(data_folder / "lists" / "images")
    assert download(load_card("lists")) == store.path_of(load_card("lists"))


def test_labels_first_and_images_later(lists, tmp_path):
    folder = lists.write(tmp_path / "given")
    alone = download(load_card("lists"), folder, labels_only=True)
    stamp = alone.stat().st_mtime_ns
    assert download(load_card("lists"), folder, labels_only=True) == alone
    assert alone.stat().st_mtime_ns == stamp  # whole: left alone
    lists.write_images(folder)
    whole = download(load_card("lists"), folder)
    assert whole == store.path_of(load_card("lists"))
    assert download(load_card("lists"), folder, labels_only=True) == whole  # it has the labels too
    assert store.open_labels(load_card("lists")).labels.tolist() == CLASSES


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """A folder with lists/NAME/{train,test,database}.txt."""
    shared = Path(os.environ.get("HASHBENCH_SHARED", REPOSITORY.parent / "shared")) / "data"
    if not (shared / "lists").is_dir():
        pytest.skip(f"needs the packed lists: no lists in {shared} (HASHBENCH_SHARED names the folder above)")
    folder = tmp_path_factory.mktemp("published")
    subprocess.run([sys.executable, str(shared / "unpack.py"), str(folder), "lists"], check=True)
    return folder


@pytest.mark.parametrize("name", ["imagenet100", "mirflickr25k"])
def test_the_published_lists_are_what_the_card_says(published, name):
    # class counts and the checksum of the labels are compared there
    download(load_card(name), published, labels_only=True)
    card = load_card(name)
    stored = store.open_labels(load_card(name))
    assert card.labels_sha256 == stored.sha256
    (protocol_name,) = card.protocols
    rule = card.protocol(protocol_name)
    chosen = split(stored.labels, rule, name, protocol_name)
    assert rule.ids_sha256 == chosen.sha256
    assert len(np.unique(stored.names)) == card.n_items


@pytest.mark.parametrize("name, folder", [("nuswide21_lists", "nuswide21_partial"), ("nuswide81", "nuswide81_partial")])
def test_a_set_without_its_database_list_says_so(published, monkeypatch, name, folder):
    monkeypatch.setattr("hashbench.running.datasets.download.fetch", _no_network)
    message = (
        "partial: holds neither .*database.txt(, and https://.*/nuswide_81/database.txt|; to get it, run .*code.py)"
    )
    with one_line(message):
        download(load_card(name), published / "lists" / folder, labels_only=True)


def _no_network(sources, *_):
    raise HashbenchError(f"{sources[0].urls[0]}: not downloaded (no network)")
