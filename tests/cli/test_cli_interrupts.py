"""Interrupts at any moment of a process end in status 130 and one line; a full stdout is one line too."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from hashbench.cli import _interrupts
from hashbench.cli._app import main

NOTHING_WRITTEN = "interrupted: nothing was written\n"
CONTINUES = "interrupted: the same command continues from here\n"
needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")


def call(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int | str | None, str]:
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    return exit_.value.code, capfd.readouterr().err


def test_an_import_ends_before_it_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "interrupted_module.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\nwhole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt), _interrupts.raise_interrupts():
        import_module("interrupted_module")
        time.sleep(20)
    assert sys.modules.pop("interrupted_module").whole


def test_an_import_that_does_not_end_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_interrupts, "AGAIN_S", 0.1)
    (tmp_path / "endless_module.py").write_text(
        "import signal, time\nsignal.raise_signal(signal.SIGINT)\ntime.sleep(20)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt), _interrupts.raise_interrupts():
        import_module("endless_module")


def test_an_interrupt_that_a_finaliser_loses_comes_again(capfd: pytest.CaptureFixture[str]) -> None:
    class Finalised:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), _interrupts.raise_interrupts():
        Finalised()
        time.sleep(1)  # less than AGAIN_S
    assert capfd.readouterr().err == ""


def test_an_error_that_a_library_made_of_an_interrupt_is_none(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hashbench.running.datasets import card

    def interrupted() -> list[str]:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise ImportError("numpy.core.multiarray failed to import")

    monkeypatch.setattr(card, "cards", interrupted)
    for _ in range(2):  # the line is printed once in each command
        assert call(capfd, "list", "datasets") == (130, NOTHING_WRITTEN)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    "arguments, where, line",
    [
        (["encode", "RUN", "items.npy", "--out", "x.npy"], "hashbench.running.runs.store.Store.named", NOTHING_WRITTEN),
        (["export", "RUN", "--to", "numpy"], "hashbench.running.runs.store.Store.named", NOTHING_WRITTEN),
        (["train", "lsh", "digits", "--bits", "8"], "hashbench.cli.train.row_of", CONTINUES),
        (["download", "digits"], "hashbench.cli.download.download", CONTINUES),
        (["features", "digits", "--model", "gist"], "hashbench.cli.features.extract", CONTINUES),
    ],
)
def test_the_line_is_true_of_the_command(
    arguments: list[str], where: str, line: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_given: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    assert call(capfd, *arguments) == (130, line)


def test_an_interrupt_that_is_lost_leaves_no_alarm(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes again while the command runs, and not while Python shuts down."""

    def lost() -> list[str]:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        return []

    monkeypatch.setattr("hashbench.running.datasets.card.cards", lost)
    assert call(capfd, "list", "datasets") == (0, "")
    assert signal.alarm(0) == 0


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as nohup and a shell's & do
    with _interrupts.raise_interrupts():
        signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


SETUP = "import os, signal, sys\nfrom hashbench.cli import _interrupts\n_interrupts.end_at_once()\n"
MOMENTS = {
    "before the command": ("os.kill(os.getpid(), signal.SIGINT)\nraise SystemError", 130, NOTHING_WRITTEN),
    "in exit functions": ("import atexit\natexit.register(os.kill, os.getpid(), signal.SIGINT)", 130, NOTHING_WRITTEN),
    "after them": (
        "class Last:\n    def __del__(self, kill=os.kill, me=os.getpid()): kill(me, 2)\nsys.last = Last()",
        0,
        "",
    ),
    "in exec, which Python remembers": (
        "try: exec('raise KeyboardInterrupt')\nexcept KeyboardInterrupt: sys.exit(130)",
        130,
        "",
    ),
    "while the line is written": (
        (
            "class Err:\n    def write(self, text): signal.raise_signal(2); sys.__stderr__.write(text)\n"
            "    def flush(self): sys.__stderr__.flush()\nsys.stderr = Err()\n_interrupts.print_line()"
        ),
        130,
        NOTHING_WRITTEN,
    ),
    "after the line, when one has kept the block from its end": (
        "with _interrupts.raise_interrupts():\n    _interrupts.print_line()\n    signal.raise_signal(2)",
        130,
        NOTHING_WRITTEN,
    ),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_no_moment_ends_in_a_traceback_or_a_death_by_the_signal(tmp_path: Path, moment: str) -> None:
    code, status, line = MOMENTS[moment]
    (tmp_path / "moment.py").write_text(SETUP + code)
    command = [sys.executable, "-m", "moment"]
    root = str(Path(__file__).resolve().parent.parent.parent)
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": root}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == status
    assert done.stderr == line


def test_an_interrupt_of_the_first_imports_prints_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "hashbench").write_text(
        "import signal\nfrom hashbench.cli import _entry\nsignal.raise_signal(signal.SIGINT)\nraise SystemError"
    )
    root = str(Path(__file__).resolve().parent.parent.parent)
    command = [sys.executable, tmp_path / "hashbench"]
    done = subprocess.run(command, env={"PYTHONPATH": root}, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.fixture(scope="module")
def codes(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("codes") / "codes.npz"
    arrays = {
        f"{role}_codes": np.eye(8, dtype=np.uint8)[np.arange(n) % 8] for role, n in (("query", 9), ("database", 90))
    }
    np.savez(path, **arrays, query_labels=np.arange(9) % 3, database_labels=np.arange(90) % 3)
    return str(path)


def handles_signals(process: "subprocess.Popen[str]") -> bool:
    """Whether the entry has begun: SIGTERM, which Python itself leaves alone, is caught (or the process has ended)."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return True
    caught = next((line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")), "ffffffff")
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def interrupted(arguments: list[str], after_s: float, how: signal.Signals) -> tuple[int, str]:
    """The status and stderr of ``hashbench ARGUMENTS``, interrupted so long after its entry began."""
    command = [sys.executable, "-m", "hashbench", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not handles_signals(process) and process.poll() is None:
        time.sleep(0.0005)
    time.sleep(after_s)
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


def run_at_moments(arguments: list[str], up_to_s: float, n: int, how: signal.Signals = signal.SIGINT) -> None:
    draw = random.Random(str(arguments))
    for after_s in [0.0, *(up_to_s * draw.random() for _ in range(n - 1))]:
        assert interrupted(arguments, after_s, how) in {(0, ""), (130, NOTHING_WRITTEN), (130, CONTINUES)}, after_s


@needs_proc
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_few_moments_of_an_evaluation(codes: str, how: signal.Signals) -> None:
    run_at_moments(["eval", codes], 1.2, 4, how)


@needs_proc
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_moments(codes: str, tmp_path: Path) -> None:
    run_at_moments(["eval", codes, "--per-query", str(tmp_path / "out.csv"), "--curves", str(tmp_path)], 3.0, 40)
    run_at_moments(["list", "methods"], 0.6, 20)
    run_at_moments(["--help"], 0.4, 20)
    run_at_moments(["train", "mihash", "digits", "--protocol", "s1", "--bits", "8", "--set", "epochs=3"], 6.0, 20)
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["eval"], ["--version"]])
@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_full_stdout_is_one_line(
    codes: str, arguments: list[str], buffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", buffered)
    command = [sys.executable, "-m", "hashbench", *arguments, *([codes] if arguments == ["eval"] else [])]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: a file, or standard output: No space left on device\n"


def test_a_closed_stderr_is_no_error() -> None:
    """And no file that the command opens becomes its stderr."""
    command = [sys.executable, "-c", "import os; os.close(2); from hashbench.__main__ import main; main()", "--version"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert done.stdout.split()[0] == "hashbench"


def test_signs_that_reverse_a_line_or_end_it_are_printed_as_escapes() -> None:
    command = [sys.executable, "-m", "hashbench", "show", f"a{chr(0x202E)}b{chr(0x2028)}c"]
    done = subprocess.run(command, stderr=subprocess.PIPE, encoding="utf-8", timeout=60, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "\\u202e" in done.stderr and not {"\u202e", "\u2028"} & set(done.stderr)


@pytest.mark.parametrize("charset", ["ascii", "latin-1", "utf-8"])
def test_a_sign_that_a_terminal_lacks_is_an_escape(charset: str) -> None:
    """On both streams of every command; what it has is written as it is."""
    program = (
        "import sys; from hashbench.cli import _app, _entry; from typer import echo\n"
        "def run(): echo('é ‡'), echo('é ‡', err=True)\n_app.main = run\n_entry.main()"
    )
    environment = {**os.environ, "PYTHONIOENCODING": charset}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=environment, timeout=60, check=False
    )
    assert done.returncode == 0
    assert done.stderr == done.stdout
    is_latin = charset == "latin-1"
    assert done.stdout.decode(charset if is_latin else "utf-8").strip() == ("é \\u2021" if is_latin else "é ‡")
