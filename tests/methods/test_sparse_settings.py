"""The settings of the sparse paper's runs, against the paper (section 6) and the code that its authors released."""

from typing import Any

import pytest

from hashbench.runs.run import Run

# from the paper: iterations, batch, decay of the learning rate and its interval; from the code: the rest
BOTH = {"optimiser": "adam", "augment": "crop_flip", "normalise": "pixel_mean", "model": "nin", "width": 1.0}
METRIC = BOTH | {"lr": 1e-3, "backbone_lr": 1.0, "weight_decay": 4e-5, "hash_weight_decay": 5e-4, "decay_biases": False}
METRIC |= {"hash_layer_init": "xavier"}  # on ImageNet32 too: metric/deepmetric.py names no initializer
HASH = BOTH | {"backbone_lr": 0.1, "weight_decay": 0.0, "hash_weight_decay": None, "margin": 1.0, "l2": 0.003}
CIFAR_METRIC = METRIC | {"batch_size": 128, "lr_decay": 0.1, "lr_decay_every": 100_000, "margin": 0.3, "l2": 0.003}
CIFAR_HASH = HASH | {"batch_size": 128, "lr": 1e-3, "lr_decay": 0.1, "lr_decay_every": 40_000}
CIFAR_HASH |= {"hash_layer_init": "xavier"}
IMAGENET_METRIC = METRIC | {"batch_size": 512, "lr_decay": 0.3, "lr_decay_every": 200_000, "margin": 1.0, "l2": 0.002}
IMAGENET_METRIC |= {"classes_per_batch": 256}
IMAGENET_HASH = HASH | {"lr_decay": 0.3, "hash_layer_init": "truncated_normal", "hash_init": 0.01}
TRIPLETS = {"augment_per": "batch"}
PAIRS = {"augment_per": "round"}

CASES: dict[tuple[str, str], tuple[int, dict[str, Any], int, dict[str, Any]]] = {
    ("cifar100", "triplet"): (
        175_000,
        CIFAR_METRIC | TRIPLETS | {"d": 256, "classes_per_batch": 16},
        70_000,
        CIFAR_HASH | TRIPLETS | {"d": 256, "classes_per_batch": 16, "lam": 0.5},
    ),
    ("cifar100", "npairs"): (
        175_000,
        CIFAR_METRIC | PAIRS | {"d": 64, "classes_per_batch": 64},
        70_000,
        CIFAR_HASH | PAIRS | {"d": 64, "classes_per_batch": 64, "lam": 0.15},
    ),
    ("imagenet32", "triplet"): (
        450_000,
        IMAGENET_METRIC | TRIPLETS | {"d": 256},
        70_000,
        IMAGENET_HASH
        | TRIPLETS
        | {"d": 256, "batch_size": 512, "classes_per_batch": 256, "lr": 1e-3, "lr_decay_every": 30_000, "lam": 0.5},
    ),
    ("imagenet32", "npairs"): (
        450_000,
        IMAGENET_METRIC | PAIRS | {"d": 512},
        35_000,
        IMAGENET_HASH
        | PAIRS
        | {"d": 512, "batch_size": 1024, "classes_per_batch": 512, "lr": 3e-4, "lr_decay_every": 15_000, "lam": 5.0},
    ),
}


def of_run(dataset: str, base: str, budget: str = "paper") -> tuple[Any, Any]:
    """The settings of the base's stage and of the hash stage."""
    spec = Run.resolve(dataset, "sparse_hash", "sparse_hash", {"base": base}, budget=budget)
    assert isinstance(spec.base, Run)
    return spec.base.settings, spec.settings


@pytest.mark.parametrize(("dataset", "base"), CASES)
def test_the_settings_are_those_of_the_paper_and_its_code(dataset: str, base: str) -> None:
    steps_of_metric, metric, steps_of_hash, hashing = CASES[dataset, base]
    for chosen, steps, expected in zip(
        of_run(dataset, base), (steps_of_metric, steps_of_hash), (metric, hashing), strict=True
    ):
        assert chosen.epochs * chosen.steps_per_epoch == steps
        assert {key: getattr(chosen, key) for key in expected} == expected


@pytest.mark.parametrize(("dataset", "base"), CASES)
def test_the_baselines_have_the_embedding_of_the_same_base(dataset: str, base: str) -> None:
    of_hash = Run.resolve(dataset, "sparse_hash", "sparse_hash", {"base": base}).base
    assert of_hash is not None
    for method in ("sparse_th", "sparse_vq"):
        spec = Run.resolve(dataset, "sparse_hash", method, {"base": base})
        assert spec.base is not None
        assert str(spec.base.name) == str(of_hash.name)
    vq: Any = Run.resolve(dataset, "sparse_hash", "sparse_vq", {"base": base}).settings
    assert vq.fit_on == "searched"  # the test embeddings, for a search among them
