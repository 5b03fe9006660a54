"""Every test has its own results and data folders; property tests draw the same examples everywhere; real data sets."""

import atexit
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import settings
from support.command_line import CommandLine

from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError

# Threads that wait by spinning take the cores from the other worker of pytest-xdist: those of OpenMP, and those of
# NumPy's BLAS, which reads its variable when NumPy is imported: nothing above does that.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("default", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("long", settings.get_profile("default"), max_examples=200)
settings.load_profile("default")

gc.disable()  # until all is imported

REPOSITORY = Path(__file__).resolve().parent.parent

# Lists of cases are made before a fixture can say where data lies: data sets of the person who tests are no cases.
os.environ["HASHBENCH_DATA"] = str(REPOSITORY / "tests" / "no_data")

KEPT = ("HASHBENCH_SHARED", "HASHBENCH_UPDATE_GOLDEN")  # what a person sets for the tests themselves


def pytest_configure(config: pytest.Config) -> None:
    """Where the slow tests run too, a property test that says no number itself draws many more examples."""
    if "not slow" not in config.option.markexpr:
        settings.load_profile("long")


def pytest_collection_finish() -> None:
    """Leaves what was imported out of every collection of garbage from now on: to walk it is a tenth of the time."""
    gc.freeze()
    gc.enable()
    atexit.register(gc.unfreeze)  # not before: pytest itself collects five times at its end


@pytest.fixture(autouse=True, scope="session")
def made_once() -> Iterator[None]:
    """The tree of commands, made once; no file waits for the disk, as none is lost; errors for users are one line."""
    import typer

    def one_line(error: HashbenchError, *message: object) -> None:
        assert "\n" not in "".join(map(str, message))
        Exception.__init__(error, *message)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        patch.setattr(HashbenchError, "__init__", one_line)
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        patch.setattr("typer.testing._get_command", typer.main.get_command)
        yield


@pytest.fixture(autouse=True)
def no_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training of a test draws no training.png, which takes longer than its steps; test_training_log draws it."""
    monkeypatch.setattr("hashbench.learning.training.log.draw", lambda folder: None)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("HASHBENCH_") and name not in KEPT]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HASHBENCH_ROOT", str(REPOSITORY))
    monkeypatch.setenv("HASHBENCH_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("HASHBENCH_DATA", str(tmp_path / "data"))
    paths.read_again()

    def write_text(path: Path, data: str, *args: Any, **kwargs: Any) -> int:
        paths.read_again()  # a test may change a card or another file that is read once
        return as_before(path, data, *args, **kwargs)

    as_before = Path.write_text
    monkeypatch.setattr(Path, "write_text", write_text)


@pytest.fixture
def hashbench(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line, inside the process of the test."""
    return CommandLine(capsys)


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt here and in children, even if pytest itself runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of packed data sets."""
    folder = Path(os.environ.get("HASHBENCH_SHARED", REPOSITORY.parent / "shared")) / "data"
    if not (folder / "unpack.py").is_file():
        pytest.skip(f"needs the packed data sets: no unpack.py in {folder} (HASHBENCH_SHARED names the folder above)")
    return folder


@pytest.fixture(scope="session")
def unpacked(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives the folder in which a data set lies in its official layout, unpacked when any worker first asks for it."""

    own = tmp_path_factory.getbasetemp()
    of_all = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    @cache
    def unpack(name: str) -> Path:
        folder = of_all / f"official_{name}"
        done = of_all / f"official_{name}.done"
        with FileLock(of_all / f"official_{name}.lock"):
            if not done.exists():
                command = [sys.executable, str(shared_data / "unpack.py"), str(folder), name]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                done.touch()
        return folder

    return unpack
