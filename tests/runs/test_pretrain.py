"""Pretraining: a classifier's row, its weights under their checksum, and what is trained again."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file
from support.command_line import CommandLine
from support.one_line import one_line
from support.stored_toy import bright_images

from hashbench.foundation import paths
from hashbench.foundation.execution import Execution
from hashbench.learning.training import weights
from hashbench.learning.training.classifier import WEIGHTS
from hashbench.learning.training.weights import Layout
from hashbench.running.datasets.card import load_card
from hashbench.running.runs.pretrain import Pretrained, classifier_run, pretrain
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store

CLASSES = 3
COMMAND = "pretrain toy --model resnet9 --set width=0.0625 --set epochs=4 --set batch_size=20"


@pytest.fixture
def images(tmp_path: Path) -> np.ndarray:
    return bright_images(tmp_path)


def spec(**given: int | float | str) -> Run:
    settings = {"epochs": 4, "batch_size": 20, **given}
    return classifier_run(load_card("toy"), None, "resnet9", {"width": 0.0625, **settings}, seed=0)


def pretrained(tmp_path: Path, execution: Execution | None = None) -> Pretrained:
    return pretrain(spec(), Store(tmp_path / "results"), execution or Execution(device="cpu"))


def test_its_row_has_the_accuracy_and_the_checksum_of_the_weights(images: np.ndarray, tmp_path: Path) -> None:
    done = pretrained(tmp_path)
    assert done.weights is not None
    assert done.weights.path.parent == paths.weights()
    sha256 = hashlib.sha256(done.weights.path.read_bytes()).hexdigest()
    assert done.weights.path.name == f"resnet9-w4-toy-s0-{sha256[:12]}.safetensors"
    row = Store(tmp_path / "results").find("toy", "s1", done.row.run)
    assert row == done.row and row is not None
    assert row.artefacts["weights"] == sha256 == done.weights.sha256
    accuracy = row.metrics["accuracy"]
    assert accuracy.n_queries == 30
    assert accuracy.n_empty == 0
    with np.load(tmp_path / "results" / "runs" / row.run / "predictions.npz") as saved:
        np.testing.assert_array_equal(saved["labels"], np.arange(30) % CLASSES)
        assert accuracy.mean == pytest.approx((saved["predicted"] == saved["labels"]).mean())
    assert accuracy.mean is not None
    assert accuracy.mean > 0.6
    assert row.arithmetic is not None
    assert row.arithmetic.precision == "float32"
    assert row.arithmetic.channels_last is True
    assert row.settings["width"] == 4 / 64
    assert row.seconds is not None


def test_the_file_holds_tensors_and_its_layout(images: np.ndarray, tmp_path: Path) -> None:
    done = pretrained(tmp_path)
    assert done.weights is not None
    assert weights.read(done.weights.path).layout == Layout("resnet9", 4 / 64, "channel", (8, 8, 3), 255.0)
    tensors = load_file(done.weights.path)
    assert {name.split(".")[0] for name in tensors} == {"backbone", "normalised"}
    np.testing.assert_allclose(tensors["normalised.mean"], images[30:].reshape(-1, 3).mean(0), rtol=1e-5)


def test_weights_that_are_gone_are_stored_again_and_a_clone_trains_them_again(
    images: np.ndarray, tmp_path: Path
) -> None:
    first = pretrained(tmp_path)
    assert first.weights is not None
    folder = tmp_path / "results" / "runs" / first.row.run
    stamp = (folder / "metrics.jsonl").stat().st_mtime_ns
    first.weights.path.unlink()
    again = pretrained(tmp_path)
    assert again.weights is not None
    assert again.weights.path.read_bytes() == (folder / WEIGHTS).read_bytes()
    assert (folder / "metrics.jsonl").stat().st_mtime_ns == stamp  # nothing was trained
    for path in (*folder.iterdir(), again.weights.path):
        path.unlink()
    made = pretrained(tmp_path)
    assert made.weights is not None
    assert made.weights.sha256 == first.row.artefacts["weights"]
    assert Store(tmp_path / "results").find("toy", "s1", first.row.run) == first.row


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["--model", "linear"], "linear has no layers before the last one: nothing to pretrain"),
        (["--model", "resnet18"], "resnet18 has weights from ImageNet: pretrain trains networks that have none"),
        (["--model", "resnet9", "--width", "4"], "--width of hashbench pretrain is gone: its setting width"),
        (["--model", "resnet9", "--set", "classes=2"], "--set classes=... cannot be used: the data set has its number"),
        (["--model", "resnet10"], "unknown model 'resnet10': did you mean"),
        (["--model", "resnet9", "--precision", "half"], "precision 'half': one of auto, float32, bfloat16"),
    ],
)
def test_what_cannot_be_pretrained_is_one_line(
    arguments: list[str], complaint: str, images: np.ndarray, hashbench: CommandLine
) -> None:
    err = hashbench.refused("pretrain toy", *arguments)
    assert complaint in err


def test_the_default_protocol_trains_on_the_most_items() -> None:
    for protocol, result in ((None, "full"), ("sparse-hash", "sparse_hash")):
        run = classifier_run(load_card("cifar100"), protocol, "resnet9", {}, seed=0)
        assert run.name.protocol == result
    with one_line("cifar10: which protocol"):  # s2 and s2_official have as many
        classifier_run(load_card("cifar10"), None, "resnet9", {}, seed=0)
    wide = classifier_run(load_card("cifar100"), None, "resnet9", {"width": 0.5}, seed=0)
    assert wide.settings.model_dump()["width"] == 0.5
    assert wide.settings.model_dump()["classes"] == 100


def test_its_command_is_shown_and_no_command_of_codes(images: np.ndarray, hashbench: CommandLine) -> None:
    hashbench.done(COMMAND, "--seed 2")
    lines = hashbench("show toy-s1-classifier-3c-s2").lines
    expected = (
        "pretrain toy --model resnet9 --protocol s1 --seed 2 --set batch_size=20 --set epochs=4 --set width=0.0625"
    )
    expected += " --device cpu"
    assert [line for line in lines if line.startswith("$")] == [f"$ hashbench {expected}"]
    name = next(line for line in lines if "classifier-3c" in line).split()[0]
    code, out, _ = hashbench(*expected.split(), "--dry-run")
    settings = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line}
    assert code == 0
    assert settings["run"] == [name]
    assert settings["stored"][0] == "yes,"
    assert settings["width"] == ["0.0625", "command", "line"]
    assert settings["lr"] == ["0.2", "ours"]
