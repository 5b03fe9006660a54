import hashlib
import re
import selectors
import subprocess
import sys
import threading

import numpy as np
import pytest
from support.fault_server import Answer, FaultServer
from support.toy_dataset import make_toy

from hashbench.foundation import paths
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.download import download
from hashbench.running.datasets.store import open_dataset


def assert_is_toy(toy):
    data = open_dataset(load_card("toy"))
    np.testing.assert_array_equal(data.items, toy.images)
    np.testing.assert_array_equal(data.labels, toy.labels)


@pytest.mark.parametrize("inside", ["", "toy-bin"])
def test_a_folder_may_hold_the_files_or_the_folder_of_files(toy, tmp_path, data_folder, stored_files, inside):
    toy.write_files(tmp_path / "given" / inside)
    path = download(load_card("toy"), tmp_path / "given")
    assert path == data_folder / "toy" / "toy.h5"
    assert_is_toy(toy)
    assert stored_files() == [path]


def test_an_archive_is_read_without_being_extracted(toy, tmp_path, stored_files):
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "toy.tar.gz").write_bytes(toy.archive())
    path = download(load_card("toy"), tmp_path / "given")
    assert_is_toy(toy)
    assert stored_files() == [path]
    assert [file.name for file in (tmp_path / "given").iterdir()] == ["toy.tar.gz"]


def test_a_second_call_does_nothing(toy, tmp_path):
    path = download(load_card("toy"), toy.write_files(tmp_path / "given"))
    before = path.stat()
    assert download(load_card("toy"), tmp_path / "nowhere") == path
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_ino == before.st_ino


def shorter(toy):
    toy.files["one.bin"] = toy.files["one.bin"][:-1]


def other_bytes(toy):
    toy.files["two.bin"] = bytes([toy.files["two.bin"][0] ^ 1]) + toy.files["two.bin"][1:]


FOLDER_FAULTS = {
    shorter: "one.bin: 189 bytes; it should have 190",
    other_bytes: "two.bin: md5 is [0-9a-f]{32}; it should be [0-9a-f]{32}",
}


@pytest.mark.parametrize("fault", FOLDER_FAULTS)
def test_a_faulty_folder_or_archive_puts_nothing_in_place(toy, tmp_path, refused, fault):
    fault(toy)
    refused("toy", FOLDER_FAULTS[fault], toy.write_files(tmp_path / "given"))
    (tmp_path / "toy.tar.gz").write_bytes(toy.archive())
    refused("toy", r"toy.tar.gz: toy-bin/(one|two)\.bin: ", tmp_path)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("n_items = 24", "n_items = 23", "more than the 23 items"),
        ("n_items = 24", "n_items = 25", "24 items; the card states 25"),
        ("[8, 8, 8]", "[7, 8, 9]", "class counts are"),
    ],
)
def test_content_that_is_not_what_the_card_says_is_refused(toy, tmp_path, refused, old, new, message):
    toy.edit(old, new)
    folder = toy.write_files(tmp_path / "given")
    refused("toy", message, folder)
    assert {path.name for path in folder.iterdir()} == toy.files.keys()  # files of the user stay


@pytest.fixture
def served_toy(tmp_path, monkeypatch):
    """A toy whose card has the archive's checksum and an address on loopback; and the server."""
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    archive = make_toy(tmp_path / "root").archive()
    checksum = f'size_bytes = {len(archive)}\nsha256 = "{hashlib.sha256(archive).hexdigest()}"'
    with FaultServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield make_toy(tmp_path / "root", checksum, server.serve("/toy.tar.gz", archive)), server
        server.shutdown()


def test_the_network_gives_the_same_and_the_archive_is_kept(served_toy, capfd):
    toy, server = served_toy
    path = download(load_card("toy"))
    assert_is_toy(toy)
    assert capfd.readouterr().out == ""  # progress goes to stderr
    path.unlink()
    assert download(load_card("toy")) == path  # from the archive that was kept
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "always, message", [(Answer(status=404), "404"), (Answer(body=b"<html>"), "announces 6 bytes")]
)
def test_a_server_that_fails_or_lies_leaves_nothing(served_toy, refused, always, message):
    _, server = served_toy
    server.always["/toy.tar.gz"] = always
    refused("toy", f"^http://127.0.0.1:.*not downloaded .*{message}.*--from-dir$")
    assert not paths.data().joinpath("toy").exists()  # no folder, no lock


def test_two_processes_download_once(served_toy):
    toy, server = served_toy
    server.script["/toy.tar.gz"] = [Answer(stall_after=100)]
    command = [sys.executable, "-m", "hashbench", "download", "toy"]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    with selectors.DefaultSelector() as selector:
        for process in running:
            selector.register(process.stderr, selectors.EVENT_READ)
        assert "another process is at work in it" in selector.select(60)[0][0].fileobj.readline()
    server.closing.set()  # the stall ends
    assert [process.communicate()[0] for process in running] == [None, None]
    assert [process.returncode for process in running] == [0, 0]
    assert_is_toy(toy)
    assert len(server.requests) == 1


def unpin(toy):
    """Leaves the archive without a checksum."""
    pinned = r'size_bytes = \d+\nsha256 = "\w+"\n'
    toy.card.write_text(re.sub(pinned, 'note = "none"\n', toy.card.read_text(), count=1))


def test_what_no_checksum_vouches_for_is_fetched_anew_once_refused(served_toy, refused):
    toy, server = served_toy
    archive = server.files["/toy.tar.gz"]
    unpin(toy)
    server.files["/toy.tar.gz"] = archive[: len(archive) // 2]
    refused("toy", "damaged")
    server.files["/toy.tar.gz"] = archive
    download(load_card("toy"))
    assert_is_toy(toy)
