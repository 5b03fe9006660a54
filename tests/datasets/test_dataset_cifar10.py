"""The real CIFAR-10: its bytes, its ids, its splits."""

import numpy as np
import pytest
from support.audits import n_duplicates

from hashbench.datasets.audit import audit
from hashbench.datasets.card import load_card
from hashbench.datasets.download import download
from hashbench.datasets.split import split
from hashbench.datasets.store import open_dataset

SPLITS = {
    "s1": ("a7b98b2fd494c0cd36a23dcd4fa4e0f2880313ab3d9de0b9757d9a1411a9c01f", [1000, 59000, 5000]),
    "s2": ("8d472c10085a7d43945393fd0978cd4e4a3dc7dc686583219909c7d7470d2530", [10000, 50000, 50000]),
    "s1_54k": ("aabeb8833c179db79934d8a0a5bb381775f356d650fd5fa218baabc00f30f7c8", [1000, 54000, 5000]),
    "s2_official": ("493294621c093d7d79ccce908780dba443e6bfd2623792bfceb8788b1eff2d7d", [10000, 50000, 50000]),
    "s2_5k": ("17ce497ae556c4d6b288d9924073154e81795ec00d05e256f02dcdd8e0cbdc9b", [10000, 50000, 5000]),
    "cibhash": ("d0adbdcdc6fdf18f954be6bb410f2f708ce3a42a6f1989a32c14bded2323975a", [5000, 50000, 5000, 5000]),
    "structhash": ("ac0e30ba3a603e3f51ed0c33082e5725578605213aaec51054917701b4b442f8", [2000, 58000, 2000]),
    "structhash_validation": ("0058cc318e6747dc3fbca21a746f8fca8188ca294019d097188f4f2ab33bb2c5", [1000, 57000, 2000]),
}


@pytest.fixture(scope="module")
def cifar10(official_cifar10, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HASHBENCH_DATA", str(tmp_path_factory.mktemp("cifar10")))
        download(load_card("cifar10"), official_cifar10)
        return open_dataset(load_card("cifar10"))


def test_items_are_the_official_rows_in_the_official_order(cifar10, official_cifar10):
    assert (cifar10.items.shape, cifar10.items.dtype) == ((60000, 32, 32, 3), np.uint8)
    for id_, batch, row in [(0, "data_batch_1", 0), (23456, "data_batch_3", 3456), (59999, "test_batch", 9999)]:
        raw = (official_cifar10 / "cifar-10-batches-bin" / f"{batch}.bin").read_bytes()[row * 3073 : (row + 1) * 3073]
        assert cifar10.labels[id_] == raw[0]
        for channel in range(3):
            plane = raw[1 + 1024 * channel : 1 + 1024 * (channel + 1)]
            assert cifar10.items[id_, :, :, channel].tobytes() == plane


def test_the_first_image_is_the_known_frog(cifar10):
    # the first image of the first training batch begins with these R, G, B values
    assert load_card("cifar10").class_names[cifar10.labels[0]] == "frog"
    assert cifar10.items[0, 0, 0].tolist() == [59, 62, 63]


def test_class_counts_of_train_and_test(cifar10):
    assert np.bincount(cifar10.labels[:50000]).tolist() == [5000] * 10
    assert np.bincount(cifar10.labels[50000:]).tolist() == [1000] * 10
    assert cifar10.sha256 == "467d84c3e476a54c0f859c57a5647f95d705fa81e4a574787b23d9bc45cda8b1"


@pytest.mark.parametrize("name", SPLITS)
def test_splits_are_what_they_always_were_and_sound(cifar10, name):
    rule = load_card("cifar10").protocol(name)
    chosen = split(cifar10.labels, rule, "cifar10", name)
    assert (chosen.sha256, [len(ids) for ids in chosen.lists().values()]) == SPLITS[name]
    assert n_duplicates(audit(cifar10, chosen, rule, seed=0)) == 0
