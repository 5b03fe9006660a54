"""Features as what a method hashes: extracted when they are missing, and part of the run's name."""

import json
from collections.abc import Callable
from pathlib import Path
from unittest.mock import ANY

import h5py
import numpy as np
import pytest
from support.on_digits import on_digits
from support.one_line import one_line
from support.stored_toy import parts, store_toy

from hashbench.foundation.execution import Execution
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.store import path_of
from hashbench.running.features import open_features
from hashbench.running.runs.data import open_data, own_rows
from hashbench.running.runs.execute import FITTED, execute
from hashbench.running.runs.guard import load_hasher, row_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store

PARTS = parts(10, 60, 120)


@pytest.fixture
def images(tmp_path: Path) -> np.ndarray:
    rng = np.random.default_rng(0)
    made = (rng.integers(0, 80, (120, 16, 16, 3)) + (np.arange(120) % 3)[:, None, None, None] * 80).astype(np.uint8)
    store_toy(tmp_path, made, np.arange(120) % 3, PARTS)
    return made


def test_features_name_the_run() -> None:
    given = {"bits": 8, "model": "linear"}
    gist = Run.resolve("cifar10", "s1", "talr_ap", {**given, "features": "gist"})
    assert gist.name.identity["features"] == "gist"
    assert gist.name.cell_hash != Run.resolve("cifar10", "s1", "talr_ap", given).name.cell_hash
    network = Run.resolve("cifar10", "s1", "lsh", {"bits": 8, "features": "AlexNet-Caffe"})
    assert network.name.identity["features"] == "alexnet_caffe"
    sparse = Run.resolve("cifar100", "sparse_hash", "sparse_th", {"base": "npairs", "k": 1, "features": "gist"})
    assert sparse.base is not None
    assert sparse.base.settings.features == "gist"


@pytest.mark.parametrize(
    "name, complaint",
    [("gits", "unknown features 'gits': did you mean gist"), ("small_cnn", "small_cnn is trained from scratch")],
)
def test_features_that_do_not_exist_are_one_line(name: str, complaint: str) -> None:
    with one_line(text=complaint):
        Run.resolve("cifar10", "s1", "lsh", {"bits": 8, "features": name})


@pytest.mark.parametrize(
    "method, settings",
    [
        ("lsh", {"features": "gist"}),
        ("itq", {"features": "gist"}),
        ("talr_ap", {"features": "gist", "model": "linear", "epochs": 3, "batch_size": 20}),
        ("dpsh", {"features": "gist", "model": "mlp", "epochs": 3, "batch_size": 20}),
        ("csq", {"features": "gist", "model": "linear", "epochs": 3, "batch_size": 20}),
    ],
)
def test_a_method_hashes_features_that_are_extracted_when_missing(
    method: str, settings: dict[str, str | int], images: np.ndarray, tmp_path: Path
) -> None:
    spec = Run.resolve("toy", "s1", method, {"bits": 8, **settings})
    store = Store(tmp_path / "results")
    row = row_of(spec, store, Execution(device="cpu"))
    assert row.status == "ok", row.reason
    saved = [path.stat().st_size for path in store.run_folder(row.run).glob("hasher.*")]
    assert row.hasher_bytes == sum(saved) > 8 * 4  # at least a number for each bit
    assert row.objective == ({"centre_distance_min": ANY, "centre_distance_mean": ANY} if method == "csq" else None)
    result = open_features(load_card("toy"), "gist")
    assert row.features_sha256 == result.sha256
    assert open_data(spec).items.shape == (120, 512)
    hasher = load_hasher(row, store, "cpu")
    of_images = own_rows(Run.from_row(row), images[:7], "cpu").whole()
    of_features = result.array[:7]
    np.testing.assert_allclose(of_images, of_features, rtol=1e-5, atol=1e-6)
    codes = hasher.output(open_data(spec).search_items).query.bits()
    np.testing.assert_array_equal(codes[:7], hasher.encode(of_features) > 0)


def test_a_hasher_is_fitted_again_only_if_it_is_of_other_code_or_not_whole(tmp_path: Path) -> None:
    spec = on_digits("lsh", {"bits": 8})
    hasher = tmp_path / "hasher.npz"
    fitted = tmp_path / FITTED
    first = execute(spec, tmp_path, Execution())
    other_code = json.dumps({**json.loads(fitted.read_text()), "sources": "0" * 64})
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: fitted.write_text("{"),
        lambda: fitted.write_text(other_code),
        hasher.unlink,
        lambda: hasher.write_bytes(b"PK"),
    ]
    for number, change in enumerate(changes):
        change()
        before = hasher.stat().st_mtime_ns if hasher.exists() else 0
        assert execute(spec, tmp_path, Execution()).artefacts == first.artefacts
        assert (hasher.stat().st_mtime_ns > before) == (number > 0)


def test_a_process_reads_data_and_features_once_until_the_file_changes(images: np.ndarray) -> None:
    run = Run.resolve("toy", "s1", "lsh", {"bits": 8, "features": "gist"})
    open_data(run)  # extracts them: the next call finds a file, and reads it
    first = open_data(run)
    second = open_data(run.with_seed(1))
    assert second.items is first.items
    assert second.dataset is first.dataset
    path = open_features(load_card("toy"), "gist").path
    with h5py.File(path, "r+") as file:
        file["features"][3, 0] += 1.0
    mended = open_data(run)  # the damaged features were extracted again, not those that this process remembers
    assert mended.items is not first.items
    np.testing.assert_array_equal(mended.items, first.items)
    with h5py.File(path_of(load_card("toy")), "r+") as file:
        file["items"][0] = 255 - file["items"][0]
    with one_line("another checksum"):
        open_data(run)
