"""``hashbench run``: what is done, missing or failed; and ``hashbench train``, whose codes ``eval`` scores alike."""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support import stored_rows
from support.command_line import CommandLine
from support.fake_rows import row_of_run
from support.on_digits import on_digits
from support.stored_toy import small_images
from support.toy_root import declare_table, table_of

from hashbench.running.runs import needs
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.row import Row, Seconds
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store

TINY = table_of({"lsh": [], "itq": [], "agh": []}, [8])
TWO = "--only method=lsh --only method=itq"


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A root with the table ``tiny``."""
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path / "root"))
    declare_table(TINY)


@pytest.fixture
def tiny_toy(tmp_path: Path, tiny: None) -> str:
    """The same with a data set that a worker reads in a moment; the folder of the root."""
    small_images(tmp_path / "toy")
    table = TINY.replace('"digits"', '"toy"')
    (tmp_path / "toy" / "experiments").unlink()
    declare_table(table)
    return str(tmp_path / "toy")


on_tiny = pytest.mark.usefixtures("tiny")


def run_of(method: str, dataset: str = "digits", seed: int = 0) -> Run:
    return Run.resolve(dataset, "s1", method, {"bits": 8}, seed=seed)


def names_of(*runs: Run) -> list[str]:
    return [str(run.name) for run in runs]


@on_tiny
def test_a_failed_run_is_tried_again_only_when_asked(hashbench: CommandLine) -> None:
    store = Store.default()
    lsh = run_of("lsh")
    store.write(row_of_run(lsh, "failed"))
    code, _, err = hashbench("run tiny")
    note = f"note: 1 runs failed in an earlier call, {lsh.name} the first: --retry-failed runs them again"
    assert code == 1
    assert err.splitlines()[:2] == ["3 runs, 0 done, 2 to do", note]
    assert err.endswith("error: 1 of 3 runs failed\n")
    assert store.named(str(lsh.name)).status == "failed"
    assert hashbench("run tiny").code == 1  # there is nothing to do, and not all is measured
    assert hashbench.done("run tiny --retry-failed").err.startswith("3 runs, 2 done, 1 to do\n")
    assert store.named(str(lsh.name)).status == "ok"
    code, out, err = hashbench("run tiny --dry-run")
    assert code == 0
    assert out == ""
    note = "note: the rows of the runs done are stored; hashbench train ... --again trains one and compares it"
    assert err.splitlines() == ["3 runs, 3 done, 0 to do", note]


@on_tiny
def test_a_dry_run_says_how_long_the_runs_take(hashbench: CommandLine) -> None:
    for method, hours in (("lsh", 2), ("itq", 1)):
        seconds = Seconds(train=3600.0 * hours, encode=0.0, score=0.0)
        past = row_of_run(on_digits(method, {"bits": 16}), ap=0.5)
        Store.default().write(past.model_copy(update={"seconds": seconds}))
    unknown = "by past rows on the machines that made them, and 1 runs that no past row tells about"
    for jobs, hours in {"1": "3.0", "2": "2.0", "8": "2.0"}.items():  # the longest run is one run
        answer = hashbench.done(f"run tiny --dry-run --jobs {jobs}")
        assert answer.lines == names_of(*map(run_of, ("lsh", "itq", "agh")))
        assert answer.err.splitlines()[-1] == f"about {hours} hours, {unknown}"
    assert hashbench.done("run tiny --dry-run --jobs auto").out == answer.out


@on_tiny
def test_only_some_runs_of_a_table_are_made(hashbench: CommandLine) -> None:
    answer = hashbench.done(f"run tiny --seeds 2 {TWO} --only seed=1 --dry-run")
    assert answer.err.startswith("2 runs, 0 done, 2 to do\n")
    assert answer.lines == names_of(run_of("lsh", seed=1), run_of("itq", seed=1))
    err = hashbench.done(f"run tiny --seeds 2 {TWO} --only bits=8 --only seed=0").err
    assert err.startswith("2 runs, 0 done, 2 to do\n")
    assert stored_rows.names(Store.default().folder) == sorted(names_of(run_of("lsh"), run_of("itq")))


@on_tiny
def test_results_that_cannot_be_written_are_one_line_before_any_worker_starts(
    hashbench: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    code, _, err = hashbench(f"--results {tmp_path / 'file' / 'results'} run tiny --jobs 2")
    _, line = err.splitlines()
    assert code == 2 and line.startswith("error: ") and "cannot be written" in line


def test_runs_in_workers_leave_what_they_print(tiny_toy: str, hashbench: CommandLine) -> None:
    err = hashbench.done(f"--root {tiny_toy} run tiny --jobs 2 {TWO}").err
    assert err.count(" runs done, ") == 2
    for name in names_of(run_of("lsh", "toy"), run_of("itq", "toy")):
        assert (Store.default().run_folder(name) / "output.txt").exists()


def test_two_commands_at_once_share_the_work(tiny_toy: str, tmp_path: Path) -> None:
    """Each run is done once, by the one or by the other, and both end when all is done."""
    command = [sys.executable, "-m", "hashbench", "--root", tiny_toy, "run", "tiny", "--seeds", "2", *TWO.split()]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [process.communicate(timeout=200)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], errors
    runs = [run_of(method, "toy", seed) for method in ("lsh", "itq") for seed in range(2)]
    assert stored_rows.names(Store.default().folder) == sorted(names_of(*runs))
    alone = row_of(runs[0], Store(tmp_path / "alone"))
    row = Store.default().named(alone.run)
    assert row.metrics == alone.metrics
    assert row.artefacts["histogram"] == alone.artefacts["histogram"]


def test_runs_whose_inputs_are_missing_are_not_tried(tiny_toy: str, hashbench: CommandLine) -> None:
    cifar = 'rows = [{ label = "CIFAR-10", method = "lsh", dataset = "cifar10" }, '
    declare_table(TINY.replace('"digits"', '"toy"').replace("rows = [", cifar))
    code, _, err = hashbench("run tiny")
    assert code == 1
    assert err.splitlines()[:4] == [
        "4 runs, 0 done, 4 to do",
        "missing: the data set cifar10 (1 of 4 runs need it)",
        "to get it: hashbench download cifar10",
        "meanwhile: the 3 other runs, which need none of it",
    ]
    assert err.endswith("1 of 4 runs were not tried, for their inputs are missing\n")
    assert {row.dataset for row in Store.default().rows()} == {"toy"}


def test_a_table_of_which_no_run_can_begin_is_three_lines_and_writes_nothing(hashbench: CommandLine) -> None:
    code, out, err = hashbench("run talr_table1")
    first, missing, error = err.splitlines()
    assert code == 2
    assert out == ""
    assert first == "80 runs, 0 done, 80 to do"
    assert missing.startswith("missing: the data set cifar10, the weights of vggf, the data set nuswide21 (80 of 80")
    assert error.startswith("error: no run can begin; to get it: hashbench download cifar10; get https://")
    remedies = "by hand, as hashbench show nuswide21 says; meanwhile hashbench run digits needs no download"
    assert error.endswith(f"; {remedies}")
    assert len([part for line in err.splitlines() for part in textwrap.wrap(line, 80)]) <= 12
    assert not Store.default().folder.exists()


def test_without_pytorch_what_needs_it_is_refused_before_anything_is_written(
    hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    monkeypatch.setattr(needs, "find_spec", lambda name: None)  # as importlib finds what is not installed
    for command in ("train talr-ap digits --bits 8", "bench digits --methods itq,talr-ap --bits 8"):
        line = hashbench.refused(command)
        assert line.startswith("torch is not installed: deep methods need the extra train: ")
        assert not Store.default().folder.exists() and not list(here.iterdir())
    code, _, err = hashbench("run digits --only method=lsh --only method=dpsh --only bits=12")
    assert code == 1 and "missing: PyTorch (1 of 2 runs need it)" in err
    assert [row.method for row in Store.default().rows()] == ["lsh"]


@on_tiny
def test_in_a_log_each_run_is_a_line(hashbench: CommandLine) -> None:
    """Without a bar or a carriage return; --quiet leaves what fails."""
    declare_table(TINY.replace('method = "itq"', 'method = "itq", settings = { bits = 100 }'))
    code, out, err = hashbench("run tiny")
    lines = err.splitlines()
    assert code == 1
    assert out == ""
    assert lines[0] == "3 runs, 0 done, 3 to do"
    shown = " ".join(lines[1:])
    assert re.search(r"1 of 3 runs done, 0 failed, 00:\d\d left: digits-s1-lsh\S+ ap 0\.\d{3} ", shown)
    assert re.search(r"failed: digits-s1-itq-100b\S+: 100 bits from 64 features: at most 64 bits ", shown)
    assert re.search(r"2 of 3 runs done, 1 failed, 00:00 left: ", shown)
    assert lines[-2].startswith("rows in ") and lines[-1] == "error: 1 of 3 runs failed"
    assert "\r" not in err
    failed, last = hashbench("--quiet run tiny").err.splitlines()
    assert failed.startswith("failed: ") and last == "error: 1 of 3 runs failed"


def test_train_prints_one_json_object_and_eval_of_its_codes_gives_the_row(
    hashbench: CommandLine, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "hashbench", "train", "lsh", "digits", "--bits", "16", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    row = Row.model_validate(json.loads(done.stdout))
    assert done.stdout.count("\n") == 1
    assert row.run.startswith("digits-s1-lsh-16b-s0-")
    hashbench.done(f"encode {row.run} --out {tmp_path / 'codes.npz'}")
    scores = hashbench.json(f"eval {tmp_path / 'codes.npz'} --metric {','.join(row.metrics)}")["metrics"]
    assert list(scores) == list(row.metrics)
    for name, value in row.metrics.items():
        expected = value.model_dump()
        assert {key: scores[name][key] for key in expected} == expected
