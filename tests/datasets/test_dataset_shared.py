"""The real CIFAR-10, MNIST, USPS, ISOLET and CIFAR-100: downloaded from folders as people have them, and split."""

import json

import pytest
from support.command_line import status

from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.store import open_dataset

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


REAL_FAULTS = {
    "another value": ("usps", "usps", lambda data: data.replace(b"0.862", b"0.861", 1), "the card states"),
    "a row twice": ("isolet", "isolet5.data", lambda data: data + data.splitlines(keepends=True)[0], "more than the"),
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
