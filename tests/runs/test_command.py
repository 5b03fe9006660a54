"""The command that a row gives names the row's run again."""

import pytest
from support.one_line import one_line
from support.toy_root import REPOSITORY

from hashbench.running.runs.command import train_command
from hashbench.running.runs.row import Arithmetic, Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store


def a_row() -> Row:
    """A committed row without settings of its own but the bits and the network."""
    run = str(Run.resolve("cifar10", "s1", "talr_ap", {"bits": 32, "model": "small_cnn"}).name)
    row = Store(REPOSITORY / "results").find("cifar10", "s1", run)
    assert row is not None
    return row


def test_only_what_changes_the_run_is_in_the_command() -> None:
    row = a_row()
    assert train_command(row, ["hb", "--root", "a b"], again=True) == (
        "hb --root 'a b' train talr_ap cifar10 --protocol s1 --bits 32 --model small_cnn --again"
    )


@pytest.mark.parametrize(
    "device, threads, precision, words",
    [
        ("cpu", {"blas": 1, "openmp": 1, "torch": 2}, "float32", "--device cpu"),  # torch was counted after Numba
        ("cpu", {"blas": 1, "openmp": 2, "torch": 2}, "float32", "--device cpu:2"),
        ("cpu", None, "bfloat16", "--device cpu --precision bfloat16"),
        ("cuda", {"blas": 3, "openmp": 3, "torch": 3}, "bfloat16", "--device cuda"),
    ],
)
def test_the_command_computes_as_the_row_was_computed(
    device: str, threads: dict[str, int] | None, precision: str, words: str
) -> None:
    how = Arithmetic(precision=precision, processes=1)
    row = a_row().model_copy(update={"arithmetic": how, "threads": threads, "hardware": {"device": device}})
    assert train_command(row, again=True).endswith(f" --model small_cnn {words} --again")


def test_a_row_of_other_data_has_no_command() -> None:
    row = a_row()
    data = {**row.config["data"], "content_sha256": "0" * 64}
    other = row.model_copy(update={"config": {**row.config, "data": data}, "run": "other"})
    with one_line("other: its data or its split have changed since"):
        train_command(other)


def test_a_setting_whose_default_has_changed_is_in_the_command() -> None:
    row = a_row()
    made = Run.resolve("cifar10", "s1", "talr_ap", {"bits": 32, "model": "small_cnn", "batch_size": 123}, seed=row.seed)
    older = row.model_copy(
        update={"run": str(made.name), "config": made.name.config, "config_hash": made.name.config_hash}
    )
    assert train_command(older).endswith(" --set batch_size=123")
