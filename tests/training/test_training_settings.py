"""Which settings go together, and that new ones rename nothing."""

import pytest
from support.one_line import one_line
from support.small_training import ROUNDS, settings

from hashbench.learning.training.settings import DeepSettings

WRITTEN = {  # what a row's configuration held before other settings joined
    "augment": "none",
    "backbone_lr": 1.0,
    "batch_size": 100,
    "bits": 16,
    "clip_norm": 0.0,
    "epochs": 60,
    "hash_init": 0.0,
    "lr": 0.3,
    "lr_decay": 0.3,
    "lr_decay_every": 20,
    "model": "mlp",
    "momentum": 0.9,
    "precision": "auto",
    "relaxation": "tanh",
    "tanh_rate": 0.0,
    "tanh_scale": 2.0,
    "tanh_schedule": "fixed",
    "weight_decay": 5e-3,
}
JOINED = {
    "optimiser": "sgd",
    "steps_per_epoch": 0,
    "classes_per_batch": 0,
    "augment_per": "item",
    "normalise": "channel",
    "width": 1.0,
    "hash_layer_init": "normal",
    "hash_weight_decay": None,
}


def test_settings_that_joined_later_are_no_part_of_a_name() -> None:
    for changes in (WRITTEN, {**WRITTEN, **JOINED}):
        assert DeepSettings.model_validate(changes).model_dump(exclude_defaults=True) == WRITTEN


AT_DEFAULTS = {"hash_init", "clip_norm", "precision", "tanh_schedule", "tanh_rate"}


def test_settings_that_got_a_default_later_are_part_of_a_name_all_the_same() -> None:
    stated = {key: value for key, value in WRITTEN.items() if key not in AT_DEFAULTS}
    chosen = DeepSettings.model_validate(stated)
    assert chosen == DeepSettings.model_validate(WRITTEN)
    assert chosen.model_dump(exclude_defaults=True) == WRITTEN
    assert set(chosen.model_dump()) == set(DeepSettings.model_fields)
    plain = chosen.model_validate({**stated, "momentum": 0.0, "tanh_scale": 1.0})
    assert plain.model_dump(exclude_defaults=True) == {**WRITTEN, "momentum": 0.0, "tanh_scale": 1.0}


@pytest.mark.parametrize(
    "changes, complaint",
    [
        ({"optimiser": "adam", "momentum": 0.9}, "has moments of its own: momentum = 0"),
        ({"optimiser": "adam", "momentum": 0.0, "momentum_form": "lr_inside"}, "momentum_form = 'lr_outside'"),
        ({"nesterov": True, "momentum": 0.0}, "momentum above 0"),
        ({"as_released": True, "variant": "exact"}, "as_released"),
        ({**ROUNDS, "classes_per_batch": 1}, "for each of 1 classes, two or more"),
        ({**ROUNDS, "classes_per_batch": 5}, "batch_size 12 is no two or more examples for each of 5 classes"),
        ({**ROUNDS, "classes_per_batch": 12}, "batch_size 12 is no two or more examples for each of 12 classes"),
        ({**ROUNDS, "steps_per_epoch": 0}, "in steps_per_epoch: these three belong together"),
        ({"augment_per": "round"}, "needs classes_per_batch: without it a batch has no rounds"),
        (
            {"normalise": "pixel"},
            "normalise: Input should be 'channel', 'pixel_mean', 'unit_norm' or 'channel_unit_norm'",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_one_line(changes: dict[str, int | float | str], complaint: str) -> None:
    with one_line(complaint):
        settings(**changes)
