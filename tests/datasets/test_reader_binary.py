"""The formats of bytes: CIFAR's, MNIST's idx, STL-10's; each read as a plain loop over its definition reads it."""

import struct

import numpy as np
import pytest
from support.reader_inputs import card, read, refusal

RNG = np.random.default_rng(5)
SHAPE = [2, 3, 3]  # height and width differ, so that a transposed image is noticed


def cifar_rows(label_bytes: list[list[int]]) -> tuple[bytes, np.ndarray]:
    images = RNG.integers(0, 256, (len(label_bytes), *SHAPE), np.uint8)
    rows = [
        bytes(labels) + image.transpose(2, 0, 1).tobytes() for labels, image in zip(label_bytes, images, strict=True)
    ]
    return b"".join(rows), images


@pytest.mark.parametrize("reader, coarse", [("cifar10_binary", []), ("cifar100_binary", [9])])
def test_cifar(tmp_path, reader, coarse):
    its_card = card(reader, SHAPE, 5, 4)
    one, first = cifar_rows([[*coarse, 3], [*coarse, 0]])
    two, second = cifar_rows([[*coarse, label] for label in (1, 2, 1)])
    items, labels, blocks = read(its_card, tmp_path, {"one.bin": one, "two.bin": two})
    np.testing.assert_array_equal(items, np.concatenate([first, second]))
    assert labels.tolist() == [3, 0, 1, 2, 1]
    assert labels.dtype == np.int64
    assert blocks == [2, 3]
    assert f"one.bin: {len(one) - 1} bytes are not whole rows" in refusal(its_card, tmp_path, {"one.bin": one[:-1]})
    wrong, _ = cifar_rows([[*coarse, 0], [*coarse, 4]])
    assert "one.bin: row 1 has label 4; 0 to 3 exist" in refusal(its_card, tmp_path, {"one.bin": wrong})


def idx(array: np.ndarray, magic: int | None = None) -> bytes:
    header = struct.pack(">I", 0x800 + array.ndim if magic is None else magic)
    return header + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


MNIST = card("idx", [2, 3, 1], 7, 4)
IMAGES = RNG.integers(0, 256, (4, 2, 3), np.uint8)
LABELS = np.array([3, 0, 2, 2], np.uint8)


def test_idx(tmp_path):
    files = {"l1": idx(LABELS), "i1": idx(IMAGES), "l2": idx(LABELS[:3]), "i2": idx(IMAGES[:3])}
    items, labels, blocks = read(MNIST, tmp_path, files)
    np.testing.assert_array_equal(items, np.concatenate([IMAGES, IMAGES[:3]])[..., None])
    assert labels.tolist() == [3, 0, 2, 2, 3, 0, 2]
    assert blocks == [4, 3]


IDX_FAULTS = {
    "labels cut": ({"l": idx(LABELS)[:-1]}, "l: cannot reshape array of size 3 into shape (4,): an idx"),
    "labels too long": ({"l": idx(LABELS) + b"x"}, "l: cannot reshape array of size 5"),
    "header cut": ({"l": idx(LABELS)[:7]}, ": an idx file of bytes with 1 axes is expected"),
    "empty": ({"l": b""}, "l: unpack requires a buffer of 8 bytes: an idx file"),
    "floats": ({"l": idx(LABELS, 0xD01)}, "l: it begins with 0xd01"),
    "images for labels": ({"l": idx(IMAGES)}, ": an idx file of bytes with 1 axes is expected"),
    "a class too many": ({"l": idx(LABELS + 2)}, "l: row 0 has label 5; 0 to 3 exist"),
    "fewer images": ({"l": idx(LABELS), "i": idx(IMAGES[:3])}, "i: images (3, 2, 3); 4 of [2, 3, 1] are due"),
    "turned images": ({"l": idx(LABELS), "i": idx(IMAGES.transpose(0, 2, 1))}, "i: images (4, 3, 2)"),
    "images cut": ({"l": idx(LABELS), "i": idx(IMAGES)[:-1]}, "i: cannot reshape array of size 23 into shape (4,2,3)"),
    "a shape beyond all memory": (
        {"l": idx(LABELS), "i": struct.pack(">4I", 0x803, 2**31, 2**31, 2**31)},
        "i: ",
    ),
}


@pytest.mark.parametrize("fault", IDX_FAULTS)
def test_a_faulty_idx_is_one_line(tmp_path, fault):
    files, message = IDX_FAULTS[fault]
    assert message in refusal(MNIST, tmp_path, files)


STL = card("stl10_binary", SHAPE, 2500, 10)


def stl(n: int) -> tuple[dict[str, bytes], np.ndarray, np.ndarray]:
    images = RNG.integers(0, 256, (n, *SHAPE), np.uint8)
    labels = RNG.integers(1, 11, n).astype(np.uint8)
    columns = b"".join(image[:, x, c].tobytes() for image in images for c in range(3) for x in range(SHAPE[1]))
    return {"y": labels.tobytes(), "X": columns}, images, labels


def test_stl10_is_read_column_by_column_and_in_blocks(tmp_path):
    files, images, labels = stl(2300)
    more, more_images, more_labels = stl(200)
    files |= {name + "2": data for name, data in more.items()}
    items, read_labels, blocks = read(STL, tmp_path, files)
    np.testing.assert_array_equal(items, np.concatenate([images, more_images]))
    np.testing.assert_array_equal(read_labels, np.concatenate([labels, more_labels]).astype(int) - 1)
    assert blocks == [1000, 1000, 300, 200]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda files: {**files, "X": files["X"][:-1]}, "X: fewer than the 1500 images"),
        (lambda files: {**files, "X": files["X"] + b"x"}, "X: more than the 1500 images"),
        (lambda files: {**files, "y": files["y"][:-1]}, "X: more than the 1499 images"),
        (lambda files: {**files, "y": b"\x00" + files["y"][1:]}, "y: row 0 has label 0; 1 to 10 exist"),
        (lambda files: {**files, "y": files["y"][:-1] + b"\x0b"}, "y: row 1499 has label 11; 1 to 10 exist"),
    ],
)
def test_a_faulty_stl10_is_one_line(tmp_path, change, message):
    assert message in refusal(STL, tmp_path, change(stl(1500)[0]))
