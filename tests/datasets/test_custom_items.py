import re

import h5py
import numpy as np
import pytest
from PIL import Image
from support.one_line import one_line

from hashbench.running.datasets.custom.inputs import read

SHAPE = (4, 6, 3)
ITEMS = np.random.default_rng(3).integers(0, 256, (5, *SHAPE), np.uint8)


def as_images(folder, names):
    for name, item in zip(names, ITEMS, strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(item).save(folder / name)
    return folder


def test_the_images_of_a_folder_come_in_the_order_of_their_names(tmp_path):
    names = ["a/1.png", "a/2.png", "b.PNG", "b/0.png", "c.bmp"]
    (tmp_path / "readme.txt").write_text("no image")
    inputs = read(as_images(tmp_path, names), SHAPE)
    assert inputs.names == ["a/1.png", "a/2.png", "b/0.png", "b.PNG", "c.bmp"]
    order = [names.index(name) for name in inputs.names]
    np.testing.assert_array_equal(inputs.items, ITEMS[order])


def test_images_of_another_size_or_grey_are_brought_to_the_shape(tmp_path):
    Image.new("L", (50, 9), 77).save(tmp_path / "grey.png")
    np.testing.assert_array_equal(read(tmp_path, SHAPE).items, np.full((1, *SHAPE), 77))


def test_arrays_are_read_as_they_are(tmp_path):
    np.save(tmp_path / "items.npy", ITEMS)
    with h5py.File(tmp_path / "items.h5", "w") as file:
        file["items"] = ITEMS
    for name in ("items.npy", "items.h5"):
        inputs = read(tmp_path / name, SHAPE)
        np.testing.assert_array_equal(inputs.items, ITEMS)
        assert inputs.names == ["0", "1", "2", "3", "4"]


def test_labels_come_with_the_items(tmp_path):
    np.savez(tmp_path / "items.npz", Images=ITEMS, y=["cat", "dog", "cat", "dog", "dog"])
    assert read(tmp_path / "items.npz", SHAPE).labels.tolist() == ["cat", "dog", "cat", "dog", "dog"]
    assert read(tmp_path / "items.npz", SHAPE, ["ape", "cat", "dog"]).labels.tolist() == [1, 2, 1, 2, 2]
    assert read(tmp_path / "items.npz", SHAPE, ["ape", "cat"]).labels.tolist() == ["cat", "dog", "cat", "dog", "dog"]
    folder = as_images(tmp_path / "images", ["dog/1.png", "dog/2.png", "cat/1.png", "cat/2.png", "cat/3.png"])
    assert read(folder, SHAPE, ["cat", "dog"]).labels.tolist() == [0, 0, 0, 1, 1]
    (folder / "cat").rename(folder / "dog" / "cat")
    assert read(folder, SHAPE, ["cat", "dog"]).labels is None


def refused(path, message, shape=SHAPE):
    with one_line(re.escape(message)):
        read(path, shape)


def test_what_is_not_items_is_refused_in_one_line(tmp_path):
    np.save(tmp_path / "wrong.npy", ITEMS[:, :2])
    np.save(tmp_path / "empty.npy", ITEMS[:0])
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    np.save(tmp_path / "words.npy", np.full((2, *SHAPE), "a"))
    np.save(tmp_path / "nan.npy", np.full((2, *SHAPE), np.nan))
    (tmp_path / "text.npy").write_text("hello")
    (tmp_path / "short.npy").write_bytes((tmp_path / "wrong.npy").read_bytes()[:-1])
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["a"] = file["b"] = ITEMS
    np.savez(tmp_path / "labels.npz", items=ITEMS, labels=[1, 2])
    refused(tmp_path / "wrong.npy", "shape (5, 2, 6, 3); the hasher takes [n, 4, 6, 3]")
    refused(tmp_path / "empty.npy", "no items: one or more are expected")
    refused(tmp_path / "objects.npy", "a pickle, which can run code")
    refused(tmp_path / "words.npy", "items must be numbers")
    refused(tmp_path / "nan.npy", "not finite")
    refused(tmp_path / "text.npy", "not a readable .npz, .npy, .mat, .h5, .pt, .txt or .faiss file")
    refused(tmp_path / "short.npy", "cannot be read")
    refused(tmp_path / "other.h5", "which array is it? call it items; it holds a, b")
    refused(tmp_path / "labels.npz", "labels of shape (2,) for 5 items")
    refused(tmp_path / "nothing", "no such file or folder")


def test_a_folder_without_images_or_for_features_is_refused(tmp_path):
    refused(tmp_path, "no image in it")
    refused(as_images(tmp_path, [f"{n}.png" for n in range(5)]), "the hasher takes features of 7 numbers", (7,))
    (tmp_path / "0.png").write_bytes((tmp_path / "0.png").read_bytes()[:40])
    refused(tmp_path, "0.png: not an image that can be read")


@pytest.mark.parametrize(
    "values, complaint",
    [
        (np.uint8([0, 255]), "values from 0 to 255"),
        (np.int16([-3, 16]), "values from -3 to 16"),
        (np.float32([0, 16.5]), "values from 0 to 16.5"),
    ],
)
def test_values_outside_the_range_of_the_data_set_are_refused(tmp_path, values, complaint):
    path = tmp_path / "items.npy"
    np.save(path, values.reshape(1, 2, 1))
    with one_line() as caught:
        read(path, (2, 1), value_max=16)
    assert str(caught.value) == f"{path}: {complaint}; 0 to 16 are expected, as in the data set"
    assert len(read(path, (2, 1)).items) == 1  # features have no range
    np.save(path, np.uint8([0, 16]).reshape(1, 2, 1))
    assert read(path, (2, 1), value_max=16).items.max() == 16


def test_images_brighter_than_the_data_set_are_refused(tmp_path):
    Image.new("L", (50, 9), 77).save(tmp_path / "grey.png")
    with one_line(r"values from 77 to 77; 0 to 16 are expected, as in the data set$"):
        read(tmp_path, SHAPE, value_max=16)
