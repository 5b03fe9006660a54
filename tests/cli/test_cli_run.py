"""``hashbench run``: what failed before is left alone, and a dry run says how long the rest takes."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support import stored_rows
from support.command_line import CommandLine
from support.fake_rows import row_of_run
from support.stored_toy import small_images

from hashbench.runs import needs
from hashbench.runs.guard import row_of
from hashbench.runs.row import Seconds
from hashbench.runs.run import Run
from hashbench.runs.store import Store

TABLE = """title = "Tiny"
paper = "hashbench"
source = "a test"
defaults = { dataset = "digits", protocol = "s1", metric = "ap" }
[[groups]]
columns = [{ label = "8 bits", settings = { bits = 8 } }]
rows = [{ label = "LSH", method = "lsh" }, { label = "ITQ", method = "itq" }, { label = "AGH", method = "agh" }]
"""


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A root with the table ``tiny``."""
    path = tmp_path / "root" / "experiments" / "tables" / "tiny.toml"
    path.parent.mkdir(parents=True)
    path.write_text(TABLE)
    return str(tmp_path / "root")


@pytest.fixture
def toy_root(root: str) -> str:
    """The same with a data set that a worker reads in a moment."""
    table = Path(root) / "experiments" / "tables" / "tiny.toml"
    table.write_text(TABLE.replace("digits", "toy"))
    small_images(Path(root))
    return root


def of(method: str, dataset: str = "digits", seed: int = 0) -> Run:
    return Run.resolve(dataset, "s1", method, {"bits": 8}, seed=seed)


def test_a_failed_run_is_tried_again_only_when_asked(root: str, hashbench: CommandLine) -> None:
    store = Store.default()
    store.write(row_of_run(of("lsh"), "failed"))
    code, _, err = hashbench(f"--root {root} run tiny")
    note = f"note: 1 runs failed in an earlier call, {of('lsh').name} the first: --retry-failed runs them again"
    assert (code, err.splitlines()[:2]) == (1, ["3 runs, 0 done, 2 to do", note])
    assert err.endswith("error: 1 of 3 runs failed\n")
    found = store.find("digits", "s1", str(of("lsh").name))
    assert found is not None and found.status == "failed"
    assert hashbench(f"--root {root} run tiny").code == 1  # there is nothing to do, and not all is measured
    code, _, err = hashbench(f"--root {root} run tiny --retry-failed")
    assert (code, err.splitlines()[0]) == (0, "3 runs, 2 done, 1 to do")
    found = store.find("digits", "s1", str(of("lsh").name))
    assert found is not None and found.status == "ok"


def test_a_dry_run_says_how_long_the_runs_take(root: str, hashbench: CommandLine) -> None:
    store = Store.default()
    for method, hours in (("lsh", 2), ("itq", 1)):
        seconds = Seconds(train=3600.0 * hours, encode=0.0, score=0.0)
        store.write(
            row_of_run(Run.resolve("digits", "s1", method, {"bits": 16}), ap=0.5).model_copy(
                update={"seconds": seconds}
            )
        )
    dry = ["--root", root, "run", "tiny", "--dry-run"]
    code, out, err = hashbench(*dry)
    assert (code, out.splitlines()) == (0, [str(of(method).name) for method in ("lsh", "itq", "agh")])
    unknown = "by past rows on the machines that made them, and 1 runs that no past row tells about"
    assert err.splitlines()[-1] == f"about 3.0 hours, {unknown}"
    for jobs, hours in (("2", "2.0"), ("8", "2.0")):  # the longest run is one run
        said = hashbench(*dry, f"--jobs {jobs}").err.splitlines()
        assert said[-1] == f"about {hours} hours, {unknown}"
    assert hashbench(*dry, "--jobs auto")[:2] == (0, out)
    for jobs in ("0", "-1", "2.5", "all"):
        assert hashbench(*dry, f"--jobs {jobs}") == (
            2,
            "",
            f"error: --jobs {jobs}: a whole number from 1 on, or auto\n",
        )


def test_only_some_runs_of_a_table_are_made(root: str, hashbench: CommandLine) -> None:
    some = ["--root", root, "run", "tiny", "--seeds", "2", "--only", "method=lsh", "--only", "method=itq"]
    code, out, err = hashbench(*some, "--only seed=1 --dry-run")
    assert (code, err.splitlines()[0]) == (0, "2 runs, 0 done, 2 to do")
    assert out.splitlines() == [str(Run.resolve("digits", "s1", m, {"bits": 8}, seed=1).name) for m in ("lsh", "itq")]
    code, _, err = hashbench(*some, "--only bits=8 --only seed=0")
    assert (code, err.splitlines()[0]) == (0, "2 runs, 0 done, 2 to do")
    assert stored_rows.names(Store.default().folder) == sorted(str(of(m).name) for m in ("lsh", "itq"))


def test_results_that_cannot_be_written_are_one_line_before_any_worker_starts(
    root: str, tmp_path: Path, hashbench: CommandLine
) -> None:
    (tmp_path / "file").touch()
    code, _, err = hashbench(f"--root {root} --results", tmp_path / "file" / "results", "run tiny --jobs 2")
    assert (code, len(err.splitlines())) == (2, 2)
    assert err.splitlines()[-1].startswith("error: ") and "cannot be written" in err


def test_runs_in_workers_leave_what_they_print(toy_root: str, hashbench: CommandLine) -> None:
    some = ["--only", "method=lsh", "--only", "method=itq"]
    code, _, err = hashbench(f"--root {toy_root} run tiny --jobs 2", *some)
    assert (code, err.count(" runs done, ")) == (0, 2)
    folders = [Store.default().run_folder(str(of(method, "toy").name)) for method in ("lsh", "itq")]
    assert all((folder / "output.txt").exists() for folder in folders)


def test_two_commands_at_once_share_the_work(toy_root: str, tmp_path: Path) -> None:
    """Each run is done once, by the one or by the other, and both end when all is done."""
    command = [sys.executable, "-m", "hashbench", "--root", toy_root, "run", "tiny", "--seeds", "2"]
    command += ["--only", "method=lsh", "--only", "method=itq"]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=200)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    store = Store.default()
    specs = [of(method, "toy", seed) for method in ("lsh", "itq") for seed in range(2)]
    assert stored_rows.names(store.folder) == sorted(str(spec.name) for spec in specs)
    for spec in specs[:1]:
        row, alone = store.find("toy", "s1", str(spec.name)), row_of(spec, Store(tmp_path / "alone"))
        assert row is not None and (row.metrics, row.artefacts["histogram"]) == (
            alone.metrics,
            alone.artefacts["histogram"],
        )


def test_runs_whose_inputs_are_missing_are_not_tried(toy_root: str, hashbench: CommandLine) -> None:
    table = Path(toy_root) / "experiments" / "tables" / "tiny.toml"
    row = '{ label = "CIFAR-10", method = "lsh", dataset = "cifar10" }'
    table.write_text(table.read_text().replace("rows = [", f"rows = [{row}, "))
    code, _, err = hashbench(f"--root {toy_root} run tiny")
    assert code == 1
    assert err.splitlines()[:4] == [
        "4 runs, 0 done, 4 to do",
        "missing: the data set cifar10 (1 of 4 runs need it)",
        "to get it: hashbench download cifar10",
        "meanwhile: the 3 other runs, which need none of it",
    ]
    assert err.endswith("1 of 4 runs were not tried, for their inputs are missing\n")
    assert {row.dataset for row in Store.default().rows()} == {"toy"}


def test_a_table_of_which_no_run_can_begin_is_three_lines_and_writes_nothing(
    hashbench: CommandLine,
) -> None:
    code, out, err = hashbench("run talr_table1")
    first, missing, error = err.splitlines()
    assert (code, out, first) == (2, "", "80 runs, 0 done, 80 to do")
    assert missing.startswith("missing: the data set cifar10, the weights of vggf, the data set nuswide21 (80 of 80")
    assert error.startswith("error: no run can begin; to get it: hashbench download cifar10; get https://")
    assert error.endswith(
        "; by hand, as hashbench show nuswide21 says; meanwhile hashbench run digits needs no download"
    )
    assert len([part for line in err.splitlines() for part in textwrap.wrap(line, 80)]) <= 12
    assert "--weights" not in err
    assert not Store.default().folder.exists()


def test_a_dry_run_of_one_run_says_what_is_missing(hashbench: CommandLine) -> None:
    words = ("train", "talr-ap", "cifar10", "--protocol", "s1", "--bits", 32, "--model", "vggf", "--dry-run")
    code, _, err = hashbench(*words)
    assert code == 0
    assert err.splitlines()[0] == "missing: the data set cifar10, the weights of vggf"
    assert err.splitlines()[1].startswith("to get it: hashbench download cifar10; get https://")
    none = hashbench(*words, "--weights none").err
    assert none.splitlines()[0] == "missing: the data set cifar10"
    assert hashbench("train itq digits --bits 8 --dry-run").err == ""


def test_without_pytorch_what_needs_it_is_refused_before_anything_is_written(
    hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(needs, "find_spec", lambda name: None)  # as importlib finds what is not installed
    monkeypatch.chdir(tmp_path)
    for command in (
        ("train", "talr-ap", "digits", "--bits", 8),
        ("bench", "digits", "--methods", "itq,talr-ap", "--bits", 8),
    ):
        code, out, err = hashbench(*command)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("error: torch is not installed: deep methods need the extra train: ")
        assert not Store.default().folder.exists() and not (tmp_path / "experiments").exists()
    code, _, err = hashbench("run digits --only method=lsh --only method=dpsh --only bits=12")
    assert code == 1 and "missing: PyTorch (1 of 2 runs need it)" in err
    assert [row.method for row in Store.default().rows()] == ["lsh"]


def test_naming_what_is_missing_imports_no_pytorch() -> None:
    code = "import sys, hashbench.runs.needs; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
