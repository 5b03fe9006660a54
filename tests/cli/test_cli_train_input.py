"""Training data, weights and checkpoints that cannot be: one line and exit 2; and what only looks as if it were so."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from support.stored_toy import parts, store_toy

from hashbench.cli._app import main
from hashbench.runs.run import Run
from hashbench.runs.store import Store
from hashbench.training import checkpoint, log, loop

BITS = 8
LISTS_AND_PAIRS = ["talr_ap", "dpsh"]
DEEP = [*LISTS_AND_PAIRS, "dtsh"]  # one of each kind: tests/training/test_training_input.py has all methods
QUICK = {"epochs": 2, "batch_size": 10}
CHECKPOINTS = ("--checkpoint-every", "0")
PARTS = parts(20, 40, 120)
Called = tuple[int, str, str]
Train = Callable[..., Called]


@pytest.fixture
def train(capsys: pytest.CaptureFixture[str]) -> Train:
    """`hashbench train METHOD DATASET` with those settings and options: exit status, stdout, stderr."""

    def call(
        method: str,
        dataset: str = "toy",
        *options: str,
        model: str = "mlp",
        bits: int = BITS,
        **settings: float | str,
    ) -> Called:
        given = [word for key, value in {**QUICK, **settings}.items() for word in ("--set", f"{key}={value}")]
        fixed = ["--protocol", "s1", "--bits", str(bits), "--model", model, "--device", "cpu", "--json"]
        with pytest.raises(SystemExit) as stopped:
            main(["train", method, dataset, *fixed, *options, *given])
        assert isinstance(stopped.value.code, int)
        return stopped.value.code, *capsys.readouterr()

    return call


def refused(called: Called, warnings: int = 0) -> str:
    """The one line of a refusal, after so many warnings; it leaves no row."""
    code, out, err = called
    lines = err.splitlines()
    assert (code, out, len(lines)) == (2, "", warnings + 1), err
    assert lines[-1].startswith("error: ")
    assert list(Store.default().rows()) == []
    return lines[-1]


def trained(called: Called) -> None:
    code, out, err = called
    assert code == 0, err
    row = json.loads(out)
    assert row["status"] == "ok"
    assert 0 < row["searches"]["database"]["ap"]["mean"] <= 1


def toy(root: Path, of_train: NDArray[np.int64], *, constant: bool = False) -> None:
    """Images whose classes shine differently; the 40 that are trained on have these."""
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.arange(20) % 2, of_train, np.arange(60) % 2])
    images = rng.integers(0, 40, (120, 8, 8, 3)) + 30 * (labels % 7)[:, None, None, None]
    store_toy(root, np.full_like(images, 3, np.uint8) if constant else images.astype(np.uint8), labels, PARTS)


ONE_ALONE = np.array([0] * 20 + [1] * 19 + [4])


@pytest.mark.parametrize("method", DEEP)
def test_a_batch_of_one_ranks_nothing(method: str, train: Train) -> None:
    assert "batch_size: Input should be greater than or equal to 2, got 1" in refused(
        train(method, "digits", batch_size=1)
    )


@pytest.mark.parametrize("method", DEEP)
def test_more_bits_than_features_repeat_each_other(method: str, tmp_path: Path, train: Train) -> None:
    toy(tmp_path, np.arange(40) % 2)
    said = refused(train(method, model="linear", bits=193))  # 8 x 8 x 3 values are 192 features
    assert said == "error: 193 bits from the 192 features of linear: at most 192"
    if method == "talr_ap":
        trained(train(method, model="linear", bits=192))


@pytest.mark.parametrize("method", LISTS_AND_PAIRS)
def test_a_class_with_one_example_has_no_relevant_pair_and_is_irrelevant_to_all(
    method: str, tmp_path: Path, train: Train
) -> None:
    toy(tmp_path, ONE_ALONE)
    trained(train(method))


@pytest.mark.parametrize("pairing", ["batch", "memory"])
def test_a_class_with_one_example_is_no_class_of_triplets(pairing: str, tmp_path: Path, train: Train) -> None:
    toy(tmp_path, ONE_ALONE)
    said = refused(train("dtsh", pairing=pairing))
    assert "dtsh: class 4 has one training example: a triplet needs two of a class" in said


@pytest.mark.parametrize("method", DEEP)
def test_a_training_set_without_a_relevant_pair_teaches_nothing(method: str, tmp_path: Path, train: Train) -> None:
    toy(tmp_path, np.arange(40))
    assert "no two training examples share a class" in refused(train(method))


@pytest.mark.parametrize("method", DEEP)
def test_a_batch_without_a_relevant_pair_does_no_harm(method: str, tmp_path: Path, train: Train) -> None:
    toy(tmp_path, np.arange(40) // 2)  # twenty classes of two: most batches of four hold no pair
    trained(train(method, batch_size=4, lr=0.005))


@pytest.mark.parametrize("method", DEEP)
def test_codes_that_are_all_equal_fail_the_run(method: str, tmp_path: Path, train: Train) -> None:
    toy(tmp_path, np.arange(40) % 2, constant=True)
    code, out, err = train(method)
    assert code == 2
    assert err.splitlines()[-1].startswith("error: ")
    assert f"{method}: all codes are equal after the last epoch" in err.splitlines()[-1]
    row = json.loads(out)
    assert (row["status"], row["searches"]) == ("failed", {})


def test_weights_of_a_wrong_shape_are_refused(tmp_path: Path, train: Train) -> None:
    toy(tmp_path, np.arange(40) % 2)
    save_file({"features.0.weight": torch.zeros(2, 3)}, tmp_path / "mine.safetensors")
    said = refused(train("talr_ap", "toy", "--weights", str(tmp_path / "mine.safetensors"), model="squeezenet1_1"))
    assert "mine.safetensors: layer features.0.weight is 2 x 3, 64 x 3 x 3 x 3 is expected" in said


def test_a_hasher_of_a_wrong_shape_encodes_nothing(
    tmp_path: Path, train: Train, capsys: pytest.CaptureFixture[str]
) -> None:
    toy(tmp_path, np.arange(40) % 2)
    row = json.loads(train("talr_ap")[1])
    save_file({"encoder.1.weight": torch.zeros(2, 3)}, Store.default().run_folder(row["run"]) / "hasher.safetensors")
    with pytest.raises(SystemExit) as stopped:
        main(["encode", row["run"], "--out", str(tmp_path / "own.npz"), "--device", "cpu"])
    _, err = capsys.readouterr()
    assert (stopped.value.code, err.count("\n")) == (2, 1)
    assert "not a whole hasher of these settings" in err
    assert not (tmp_path / "own.npz").exists()


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, train: Train) -> Path:
    """The folder of a run of five epochs, interrupted after three, with the checkpoints of two and of three."""
    toy(tmp_path, np.arange(40) % 2)
    save = loop.Trainer.save_checkpoint_if_due

    def save_and_stop(run: loop.Trainer) -> None:
        save(run)
        if run.epochs_done == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(loop.Trainer, "save_checkpoint_if_due", save_and_stop)
        code, out, err = train("mihash", "toy", *CHECKPOINTS, epochs=5)
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted: the same command continues from here"
    (folder,) = (Store.default().folder / "runs").iterdir()
    return folder


def flip(path: Path) -> None:
    """One bit of the middle is wrong, as on a bad disk: no archive notices that by itself."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_resumed_run_counts_the_time_of_its_earlier_epochs(interrupted: Path, train: Train) -> None:
    epochs = [json.loads(line) for line in (interrupted / log.FILE).read_text().splitlines()]
    epochs[1]["seconds"] = 5000.0
    (interrupted / log.FILE).write_text("".join(json.dumps(epoch) + "\n" for epoch in epochs))
    called = train("mihash", "toy", *CHECKPOINTS, epochs=5)
    trained(called)
    assert 5000 < json.loads(called[1])["seconds"]["train"] < 6000


def test_a_damaged_checkpoint_is_refused(interrupted: Path, train: Train) -> None:
    flip(interrupted / checkpoint.FILE)
    said = refused(train("mihash", "toy", *CHECKPOINTS, epochs=5))
    assert f"{checkpoint.FILE}: a damaged checkpoint" in said
    assert "remove it to start over" in said


def test_a_checkpoint_of_another_configuration_is_refused(interrupted: Path, train: Train) -> None:
    given = {"bits": BITS, "model": "mlp", **QUICK, "epochs": 6}
    other = Store.default().run_folder(str(Run.resolve("toy", "s1", "mihash", given).name))
    interrupted.rename(other)
    said = refused(train("mihash", "toy", *CHECKPOINTS, epochs=6))
    remedy = "remove it to start over"
    assert f"{other / checkpoint.FILE}: a checkpoint of another configuration: {remedy}" in said


@pytest.mark.parametrize("method", DEEP)
def test_a_data_set_without_labels_teaches_nothing(method: str, train: Train) -> None:
    said = refused(train(method, "sift1m", "--protocol", "structhash"))
    assert f"{method} learns from labels or percentiles of distances, and sift1m has neither: these need none: " in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("train itq digits --lr .1", "No such option: --lr; a setting of a method is given as --set lr=VALUE"),
        ("train itq digits --batch-size=9", "--set batch_size=VALUE"),
        ("pretrain cifar10 --momentum 3", "--set momentum=VALUE"),
        ("tune itq digits --bandwidth 3", "--set bandwidth=VALUE"),
        ("train itq digits --bit 8", "(Possible options: --bits, --budget, --split); a setting"),
        (
            "bench digits --lr .1",
            "No such option: --lr (Possible options: --help) (hashbench bench -h)",
        ),  # has no --set
    ],
)
def test_an_unknown_option_may_be_a_setting(words: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(words.split())
    err = capsys.readouterr().err
    assert stopped.value.code == 2
    assert says in err
    assert err.count("\n") == 1
