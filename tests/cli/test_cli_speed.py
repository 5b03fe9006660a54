"""``hashbench speed``: real steps for some seconds, the hours of the run, nothing stored."""

import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.command_line import CommandLine
from support.fake_rows import row_of_run
from support.on_digits import on_digits

from hashbench.foundation.execution import Execution
from hashbench.learning.training import speed
from hashbench.learning.training.hasher import DeepHasher
from hashbench.running.runs import speed as speed_of_runs
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.row import Seconds
from hashbench.running.runs.store import Store

DIGITS = "digits --protocol s1 --bits 12 --model mlp --device cpu"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_clock_times_the_steps_after_the_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two steps take 5 s each, as kernels are compiled, all others 1 s."""
    now = [100.0]
    monkeypatch.setattr(speed.time, "perf_counter", lambda: now[0])
    network: DeepHasher = SimpleNamespace(  # type: ignore[assignment]
        normalised=SimpleNamespace(mean=SimpleNamespace(device=SimpleNamespace(type="cpu")))
    )
    clock = speed.StepClock(20)
    now[0] += 7  # the averages are taken
    with pytest.raises(speed.Enough):
        for step in range(100):
            now[0] += 5 if step < 2 else 1
            clock(network, 10)
    assert clock.n_steps == 15
    assert clock.n_items == 150
    assert clock.timed_s == 15.0
    assert clock.n_all_steps == 17
    assert clock.before_s == 7 + 5 - 1


def test_a_training_that_ends_before_is_the_whole_run(temporary: Path) -> None:
    run = on_digits("talr_ap", {"bits": 12, "model": "mlp", "epochs": 2, "batch_size": 100})
    measured = speed_of_runs.measure(run, Store.default(), Execution(device="cpu"), seconds=1000)
    assert measured.n_items == 1000
    assert measured.timed_items == 1000
    assert measured.timed_steps == 10
    assert measured.train_s == measured.timed_s
    assert measured.items_per_s == pytest.approx(1000 / measured.train_s)
    assert not list(temporary.glob("hashbench-*")) and not Store.default().folder.exists()
    store = Store(temporary)
    row = row_of(run, store, Execution(device="cpu"))
    assert row.hasher_bytes == measured.hasher_bytes


def test_steps_are_timed_and_nothing_is_stored(temporary: Path, hashbench: CommandLine) -> None:
    words = f"speed talr-ap {DIGITS} --set epochs=100000 --seconds 0.5"
    out = hashbench.printed(words)
    keys = [line.split()[0] for line in out.splitlines() if not line.startswith(" ")]
    assert keys == ["run", "device", "speed", "hours", "memory", "disk"]
    assert max(map(len, out.splitlines())) <= 80
    measured = hashbench.json(words)
    assert measured["n_items"] == 100_000 * 500
    assert 0 < measured["timed_steps"] * 2 <= measured["n_items"]
    seconds = measured["n_items"] / measured["items_per_s"]
    assert measured["train_s"] == pytest.approx(seconds, rel=0.2)  # beside it only what comes before the first step
    assert measured["hours"] == pytest.approx((measured["train_s"] + measured["encode_s"] + measured["score_s"]) / 3600)
    assert not list(temporary.glob("hashbench-*")) and not Store.default().folder.exists()


def test_the_run_that_it_starts_from_is_timed_first_unless_it_is_trained(
    temporary: Path, hashbench: CommandLine
) -> None:
    settings = {"base": "npairs", "d": 16, "k": 1, "model": "mlp", "classes_per_batch": 10, "batch_size": 20}
    given = {**settings, "epochs": 1, "steps_per_epoch": 3}
    given |= {f"base.{key}": given[key] for key in ("classes_per_batch", "batch_size", "epochs", "steps_per_epoch")}
    run = on_digits("sparse_hash", given)
    store = Store.default()
    measured = speed_of_runs.measure(run, store, Execution(device="cpu"), seconds=0.3)
    assert measured.base is not None and run.base is not None
    assert measured.n_items == 60
    assert measured.base.n_items == 60
    assert measured.base.run.name == run.base.name
    assert not store.folder.exists()
    row_of(run.base, store, Execution(device="cpu"))
    assert speed_of_runs.measure(run, store, Execution(device="cpu"), seconds=0.3).base is None
    words = [word for key, value in given.items() if key != "model" for word in ("--set", f"{key}={value}")]
    code, out, _ = hashbench("speed sparse-hash digits --model mlp", *words, "--seconds 0.3")
    assert code == 0 and f"from {run.base.name}" in " ".join(out.split())


def test_of_a_method_without_steps_past_runs_tell(hashbench: CommandLine) -> None:
    row = row_of_run(on_digits("itq", {"bits": 8}), ap=0.5)
    Store.default().write(row.model_copy(update={"seconds": Seconds(train=1.0, encode=2.0, score=3.5)}))
    code, _, err = hashbench("speed itq digits --bits 8")
    assert code == 2 and "past runs like it took 6.5 s: hashbench train itq digits --protocol s1 --bits 8" in err
