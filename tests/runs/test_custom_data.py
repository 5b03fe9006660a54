"""On a custom data set all methods have the same features and the same scaling, unless a setting says otherwise."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.command_line import CommandLine, status

from hashbench.learning.methods import METHODS
from hashbench.learning.training.settings import DeepSettings
from hashbench.running.datasets.card import load_card
from hashbench.running.runs.run import Run

LITE0 = "efficientnet_lite0_128px"
OF_CODES = [name for name, method in METHODS.usable() if method.group in ("deep", "shallow", "quantisation")]


@pytest.fixture
def custom(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The data sets ``vectors``, of 8 numbers, and ``pictures``, of 16 x 16 pixels."""
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 10)
    np.savez(tmp_path / "vectors.npz", items=random.standard_normal((30, 8)), labels=labels)
    for number, label in enumerate(labels):
        folder = tmp_path / "pictures" / str(label)
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(folder / f"{number}.png")
    assert status("dataset", "add", "vectors", tmp_path / "vectors.npz") == 0
    assert status("dataset", "add", "pictures", tmp_path / "pictures") == 0
    capsys.readouterr()


@pytest.mark.parametrize("form", ["linear", "kernel", "mlp"])
@pytest.mark.parametrize(
    "dataset, given, expected",
    [
        ("vectors", {}, ("pixels", "channel_unit_norm")),
        ("pictures", {}, (LITE0, "unit_norm")),
        ("pictures", {"features": "pixels"}, ("pixels", "channel_unit_norm")),
        ("pictures", {"features": "gist"}, ("gist", "channel_unit_norm")),
        ("pictures", {"normalise": "unit_norm", "features": "gist"}, ("gist", "unit_norm")),
    ],
)
def test_all_methods_have_one_input(
    dataset: str, given: dict[str, Any], expected: tuple[str, str], form: str, custom: None
) -> None:
    for method in OF_CODES:
        is_deep = issubclass(METHODS.get(method).settings, DeepSettings)
        settings = Run.resolve(
            dataset, None, method, {"bits": 8, **({"model": form} if is_deep else {}), **given}
        ).settings
        assert (settings.features, getattr(settings, "normalise", expected[1])) == expected, method


def test_networks_of_images_and_our_own_data_sets_are_as_before(custom: None) -> None:
    network = Run.resolve("pictures", "own", "talr_ap", {"bits": 8, "model": "small_cnn"}).settings
    assert network.features == "pixels"
    assert network.model_dump()["normalise"] == "channel"
    for dataset, protocol in (("digits", "s1"), ("mnist", "structhash"), ("cifar10", "structhash")):
        assert not load_card(dataset).custom
        settings = Run.resolve(dataset, protocol, "itq", {"bits": 8}).settings.model_dump()
        assert settings["features"] == "pixels"
        assert settings["normalise"] == "none"


def test_the_choice_is_said(custom: None, hashbench: CommandLine) -> None:
    command = ["train", "itq", "pictures", "--bits", 8, "--dry-run"]
    code, out, err = hashbench(*command)
    out = re.sub(r"\n {4,}", " ", out)  # a text that goes on
    lines = {line.split()[0]: line.split(maxsplit=2)[1:] for line in out.splitlines() if line}
    assert code == 0
    assert lines["features"] == [LITE0, "default: of a custom data set of images, as in recipe heads_lite0"]
    assert lines["normalise"][0] == "unit_norm" and lines["normalise"][1].startswith("default: as in recipe heads_")
    message = (
        f"note: the images of pictures are hashed by their features {LITE0}: --set features=pixels takes the pixels\n"
    )
    assert err == message
    assert hashbench(*command, "--set features=pixels").err == ""
    settings = hashbench.json(*command)["settings"]
    assert settings["features"]["value"] == LITE0
