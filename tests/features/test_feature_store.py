import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import h5py
import numpy as np
import pytest
import torch
from support.one_line import one_line
from support.toy_dataset import make_toy

from hashbench.foundation import paths
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.download import download
from hashbench.running.datasets.store import open_dataset
from hashbench.running.features import extract, named, open_features

Pixels = torch.nn.Flatten


def stop_at(monkeypatch: pytest.MonkeyPatch, row: int) -> None:
    """Interrupts the batch that begins with the item ``row``, whichever thread takes it, and when."""
    stops = open_dataset(load_card("digits")).items[row].ravel()
    forward = Pixels.forward

    def stopping(self, items):
        if np.array_equal(items[0].numpy().ravel(), stops):
            raise KeyboardInterrupt
        return forward(self, items)

    monkeypatch.setattr(Pixels, "forward", stopping)


def interrupted(monkeypatch: pytest.MonkeyPatch, batches: int = 3, batch: int = 100) -> Path:
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        stop_at(patched, batches * batch)
        extract(load_card("digits"), "pixels", batch=batch)
    part = paths.data() / "digits" / "features" / "pixels.h5.part"
    assert part.is_file()
    assert not part.with_suffix("").exists()
    return part


def test_activations_that_do_not_fit_into_memory_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried")

    monkeypatch.setattr(Pixels, "forward", full)
    with one_line(r"^no memory for the activations of \d+ x 50 images: .*--batch N"):
        extract(load_card("digits"), "pixels", batch=50)
    assert not list((paths.data() / "digits" / "features").glob("*.h5"))


def test_an_interrupted_extraction_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(monkeypatch)
    with one_line("no such features"):
        open_features(load_card("digits"), "pixels")
    assert extract(load_card("digits"), "pixels").n_made == 1797 - 300
    np.testing.assert_array_equal(
        open_features(load_card("digits"), "pixels").array, open_dataset(load_card("digits")).items.reshape(1797, -1)
    )


@pytest.mark.parametrize("damage", ["empty", "other data", "wrong row"])
def test_a_part_that_cannot_be_used_is_begun_anew(monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    part = interrupted(monkeypatch)
    if damage == "empty":
        part.write_bytes(b"")
    else:
        with h5py.File(part, "r+") as file:
            if damage == "wrong row":
                file["features"][7, 3] += 1
            else:
                file.attrs["identity"] = file.attrs["identity"].replace("digits", "digitz")
    assert extract(load_card("digits"), "pixels").n_made == 1797
    open_features(load_card("digits"), "pixels").verify()


def test_two_at_once_do_the_work_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = Event()
    forward = Pixels.forward

    def slow(self, items):
        begun.set()
        time.sleep(0.05)
        return forward(self, items)

    monkeypatch.setattr(Pixels, "forward", slow)
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(extract, load_card("digits"), "pixels", batch=200)
        assert begun.wait(60)
        two = pool.submit(extract, load_card("digits"), "pixels")
        assert one.result().n_made == 1797
        assert two.result().n_made == 0
    open_features(load_card("digits"), "pixels").verify()


def test_damage_is_one_line_and_is_mended_by_the_same_command() -> None:
    path = extract(load_card("digits"), "pixels").path
    whole = path.read_bytes()
    with h5py.File(path) as file:
        at = file["features"].id.get_offset() + 1000
    for damaged in (whole[: len(whole) // 2], whole[:at] + b"\xff" + whole[at + 1 :], b"nonsense", b""):
        path.write_bytes(damaged)
        with one_line(r"damaged .*hashbench features digits --model pixels again"):
            open_features(load_card("digits"), "pixels").array  # noqa: B018
    assert extract(load_card("digits"), "pixels").n_made == 1797
    open_features(load_card("digits"), "pixels").verify()


def test_features_of_other_data_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path / "root"))
    toy = make_toy(tmp_path / "root")
    download(load_card("toy"), toy.write_files(tmp_path / "files"))
    path = extract(load_card("toy"), "pixels").path
    with h5py.File(path, "r+") as file:
        text = file.attrs["identity"].replace(open_dataset(load_card("toy")).sha256, "0" * 64)
        file.attrs["identity"] = text
    with one_line("features of other data than toy is now"):
        open_features(load_card("toy"), "pixels")
    assert extract(load_card("toy"), "pixels").n_made == 24
    np.testing.assert_array_equal(open_features(load_card("toy"), "pixels").array, toy.images.reshape(24, -1))


def test_large_features_are_mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    extract(load_card("digits"), "pixels")
    # a private limit: only features of more than 1 GiB are mapped without it
    monkeypatch.setattr("hashbench.running.features._store.IN_MEMORY_BYTES", 1000)
    features = open_features(load_card("digits"), "pixels").array
    assert isinstance(features, np.memmap)
    np.testing.assert_array_equal(features, open_dataset(load_card("digits")).items.reshape(1797, -1))


def test_values_that_are_not_finite_are_never_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pixels, "forward", lambda self, items: torch.full((len(items), 64), torch.nan))
    with one_line("items 0 to 999 are not all finite"):
        extract(load_card("digits"), "pixels")


def test_random_weights_are_the_same_and_stored_apart() -> None:
    stem, extractor = named("squeezenet1_1", "none")
    assert stem == "squeezenet1_1_random"
    state = torch.random.get_rng_state()
    one, two = (extractor.build((8, 8, 1), 16.0).module for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


@pytest.mark.parametrize(
    "name, weights, complaint",
    [
        ("gits", None, "unknown features 'gits': did you mean gist"),
        ("mlp", None, "mlp is trained from scratch"),
        ("gist", "none", "gist: it is no network"),
        ("vggf", "/nowhere/net.mat", "/nowhere/net.mat: weights of vggf not found"),
        ("alexnet", None, "weights of alexnet not found: get https://download.pytorch.org"),
    ],
)
def test_what_cannot_be_extracted_is_one_line(name: str, weights: str | None, complaint: str) -> None:
    with one_line(text=complaint):
        extract(load_card("digits"), name, weights)
