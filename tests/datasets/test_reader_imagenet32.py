"""ImageNet32's .npz batches: streamed out of the archive, the validating images of batch 10 first, never unpickled."""

import io
import pickle
import zipfile

import numpy as np
import pytest
from support.reader_inputs import card, read, refusal

RNG = np.random.default_rng(11)
SHAPE = [2, 3, 3]
OF = card("imagenet32_npz", SHAPE, 100_000, 4)


def batch(
    n: int, labels: np.ndarray | None = None, data: np.ndarray | None = None, drop: str = ""
) -> tuple[bytes, np.ndarray, np.ndarray]:
    """An .npz as the authors wrote theirs, its images, and its classes counted from 0."""
    images = RNG.integers(0, 256, (n, *SHAPE), np.uint8)
    labels = RNG.integers(1, 5, n) if labels is None else labels
    arrays = {"data": images.transpose(0, 3, 1, 2).reshape(n, -1), "labels": labels, "mean": np.zeros(18)}
    if data is not None:
        arrays["data"] = data
    buffer = io.BytesIO()
    np.savez(buffer, **{name: array for name, array in arrays.items() if name != drop})
    return buffer.getvalue(), images, labels - 1


def test_batches_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr("hashbench.running.datasets.readers.imagenet32_npz.BLOCK", 4)
    one, images, labels = batch(10)
    two, more_images, more_labels = batch(3)
    items, read_labels, blocks = read(OF, tmp_path, {"train_data_batch_1.npz": one, "val_data.npz": two})
    np.testing.assert_array_equal(items, np.concatenate([images, more_images]))
    np.testing.assert_array_equal(read_labels, np.concatenate([labels, more_labels]))
    assert read_labels.dtype == np.int64
    assert blocks == [4, 4, 2, 3]


def test_of_batch_10_the_first_50_of_each_class_come_first(tmp_path, monkeypatch):
    monkeypatch.setattr("hashbench.running.datasets.readers.imagenet32_npz.BLOCK", 64)
    data, images, labels = batch(500)
    items, read_labels, _ = read(OF, tmp_path, {"train_data_batch_10.npz": data})
    seen = np.zeros(4, int)
    early = []
    late = []
    for row, label in enumerate(labels.tolist()):
        (early if seen[label] < 50 else late).append(row)
        seen[label] += 1
    np.testing.assert_array_equal(items, images[early + late])
    np.testing.assert_array_equal(read_labels, labels[early + late])
    assert np.bincount(read_labels[:200]).tolist() == [50] * 4


class Evil:
    def __reduce__(self):
        return pytest.fail, ("unpickled",)


def objects() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, data=np.array([Evil()], object), labels=np.array([1]))
    return buffer.getvalue()


def fewer_images() -> bytes:
    """Whole rows, but not as many as its header and the labels say."""
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((3, 18), np.uint8))
    data, _, _ = batch(3, drop="data")
    whole = io.BytesIO(data)
    with zipfile.ZipFile(whole, "a") as archive:
        archive.writestr("data.npy", buffer.getvalue()[:-18])
    return whole.getvalue()


FAULTS = {
    "fewer images": (fewer_images, "data end before the last image that has a label"),
    "a pickle": (lambda: pickle.dumps(Evil()), "whose names end with _npz.zip, pickles are not read"),
    "objects": (objects, "data are object (1,), not uint8 (1, 18)"),
    "cut": (lambda: batch(50)[0][:-40], "damaged, truncated"),
    "fewer labels": (lambda: batch(5, labels=np.array([1, 2]))[0], "data are uint8 (5, 18), not uint8 (2, 18)"),
    "other images": (lambda: batch(2, data=np.zeros((2, 17), np.uint8))[0], "data are uint8 (2, 17)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_batch_is_one_line(tmp_path, fault):
    make, message = FAULTS[fault]
    error = refusal(OF, tmp_path, {"train_data_batch_1.npz": make()})
    assert message in error
    assert error.startswith("train_data_batch_1.npz: ")
