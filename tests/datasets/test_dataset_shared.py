"""The real CIFAR-10, MNIST, USPS, ISOLET and CIFAR-100: downloaded from folders as people have them, and split."""

import gzip
import json
import zipfile

import numpy as np
import pytest
from support.command_line import status
from support.lzw_writer import compress

from hashbench.datasets.card import load_card
from hashbench.datasets.download import download
from hashbench.datasets.store import open_dataset

SETS = ["cifar10", "mnist", "usps", "isolet", pytest.param("cifar100", marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def downloaded(kept, unpacked, monkeypatch):
    """Downloads a data set that is at hand by the command line, or finds it done, and opens it."""

    def run(name):
        monkeypatch.setenv("HASHBENCH_DATA", str(kept))
        folder = unpacked(name)  # the folder of the files will do as well as the one above
        assert status("download", name, "--from-dir", str(folder / name if name == "usps" else folder)) == 0
        return open_dataset(load_card(name))

    return run


@pytest.mark.parametrize("name", SETS)
def test_each_protocol_is_proven_by_the_command_line(name, downloaded, capsys):
    card = load_card(name)
    assert downloaded(name).sha256 == card.content_sha256
    capsys.readouterr()
    for protocol, rule in card.protocols.items():
        check = ["--check"] if protocol == next(iter(card.protocols)) else []
        assert status("split", name, "--protocol", protocol, *check, "--json") == 0
        report = json.loads(capsys.readouterr().out)
        assert report["sha256"] == rule.ids_sha256
        stated = {"query": rule.n_queries, "database": rule.n_database, "train": rule.n_train}
        assert report["sizes"] == stated | ({"validation": rule.n_validation} if rule.n_validation else {})


def test_cifar10_has_the_official_rows_in_the_official_order(downloaded, unpacked):
    data = downloaded("cifar10")
    for item, batch, row in [(0, "data_batch_1", 0), (23456, "data_batch_3", 3456), (59999, "test_batch", 9999)]:
        raw = (unpacked("cifar10") / "cifar-10-batches-bin" / f"{batch}.bin").read_bytes()[row * 3073 :][:3073]
        assert data.labels[item] == raw[0]
        assert data.items[item].transpose(2, 0, 1).tobytes() == raw[1:]
    # the first image of the first training batch is a frog, and begins with these R, G, B values
    assert load_card("cifar10").class_names[data.labels[0]] == "frog"
    assert data.items[0, 0, 0].tolist() == [59, 62, 63]


def test_mnist_is_what_the_pack_holds(downloaded, shared_data):
    data = downloaded("mnist")
    with np.load(shared_data / "mnist.npz") as pack:  # the other images are those of the checksum
        np.testing.assert_array_equal(data.items[60_000:, ..., 0], pack["x_test"])
        np.testing.assert_array_equal(data.labels, np.concatenate([pack["y_train"], pack["y_test"]]))


def usps(pack):
    values = np.concatenate([pack["x_train"], pack["x_test"]])
    return (values / 1000).astype(np.float32), np.concatenate([pack["y_train"], pack["y_test"]])


def test_usps_is_what_the_pack_holds(downloaded, shared_data):
    data = downloaded("usps")
    with np.load(shared_data / "usps.npz") as pack:
        values, digits = usps(pack)
    np.testing.assert_array_equal(data.items, values)
    np.testing.assert_array_equal(data.labels, digits)


def test_usps_from_its_archives_is_the_same(shared_data, tmp_path):
    with np.load(shared_data / "usps.npz") as pack:
        for part, name in (("train", "zip.train.gz"), ("test", "zip.test.gz")):
            rows = np.column_stack([pack[f"y_{part}"].astype(int) * 1000, pack[f"x_{part}"]])
            words = {value: f"{value / 1000:.4f}" for value in np.unique(rows).tolist()}
            text = "".join(" ".join([words[value] for value in row]) + " \n" for row in rows.tolist())
            (tmp_path / name).write_bytes(gzip.compress(text.replace(" 0.0000", " -0.0000").encode(), 1))
    download(load_card("usps"), tmp_path)
    assert open_dataset(load_card("usps")).sha256 == load_card("usps").content_sha256


def test_isolet_is_what_the_pack_holds(downloaded, shared_data):
    data = downloaded("isolet")
    with np.load(shared_data / "isolet.npz") as pack:
        official = {
            (int(part == 5), int(letter) - 1, (row / 10000).astype(np.float32).tobytes())
            for row, letter, part in zip(pack["x"], pack["y"], pack["part"], strict=True)
        }
    stored = zip(data.items, data.labels.tolist(), strict=True)
    assert {(int(row >= 6238), label, item.tobytes()) for row, (item, label) in enumerate(stored)} == official


@pytest.mark.slow
def test_isolet_from_its_archive_in_another_order_is_the_same(unpacked, tmp_path):
    with zipfile.ZipFile(tmp_path / "isolet.zip", "w") as archive:
        for file in sorted((unpacked("isolet") / "isolet").iterdir()):
            rows = file.read_bytes().splitlines(keepends=True)
            archive.writestr(f"{file.name}.Z", compress(b"".join(rows[::-1])))
    download(load_card("isolet"), tmp_path)
    assert open_dataset(load_card("isolet")).sha256 == load_card("isolet").content_sha256


@pytest.mark.slow
def test_cifar100_is_read_by_its_fine_labels(unpacked, downloaded):
    folder = unpacked("cifar100") / "cifar-100-binary"
    data = downloaded("cifar100")
    card = load_card("cifar100")
    assert card.class_names == (folder / "fine_label_names.txt").read_text().split()
    rows = np.fromfile(folder / "test.bin", np.uint8).reshape(-1, 3074)
    np.testing.assert_array_equal(data.labels[50_000:], rows[:, 1])
    np.testing.assert_array_equal(data.items[50_000:].transpose(0, 3, 1, 2).reshape(10_000, -1), rows[:, 2:])
    assert np.bincount(data.labels[:50_000]).tolist() == [500] * 100


REAL_FAULTS = {
    "cut": ("usps", "usps", lambda data: data[:-5000], "items; the card states 9298|damaged"),
    "another value": ("usps", "usps", lambda data: data.replace(b"0.862", b"0.861", 1), "the card states"),
    "a row twice": ("isolet", "isolet5.data", lambda data: data + data.splitlines(keepends=True)[0], "more than the"),
    "wrong labels": (
        "mnist",
        "t10k-labels-idx1-ubyte",
        lambda data: data[:-1] + b"\x00",
        "t10k-labels-idx1-ubyte: md5 is",
    ),
    "cut images": (
        "mnist",
        "t10k-images-idx3-ubyte",
        lambda data: data[:-1],
        "t10k-images-idx3-ubyte: 7,840,015 bytes; it should have 7,840,016",
    ),
}


@pytest.mark.parametrize("fault", REAL_FAULTS)
def test_a_garbled_copy_puts_nothing_in_place(unpacked, tmp_path, refused, fault):
    name, file, change, message = REAL_FAULTS[fault]
    for official in (unpacked(name) / name).iterdir():
        copy = tmp_path / official.name
        if official.name == file:
            copy.write_bytes(change(official.read_bytes()))
        else:
            copy.symlink_to(official)
    refused(name, message, tmp_path)
