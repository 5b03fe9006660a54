"""2,000 files of the five formats with random damage: no hang, no traceback, no number of other codes.

A file of a format with checksums is refused, or gives the numbers of the sound file. In one without, a changed byte of
a value makes another sound file, in which NumPy, SciPy or h5py must find the same values.
"""

import io
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io
from support import damaged_codes

from hashbench.codes import files
from hashbench.codes.files import _hdf5
from hashbench.foundation.errors import HashbenchError
from hashbench.histogram import count_blocks

N_FILES = 2000
LIMIT_SECONDS = 20
BATCH = 500
Rng = np.random.Generator


def h5_names(path: Path, arrays: dict[str, Any]) -> Path:
    """HDF5 with class names of any length, which the library reads from a heap."""
    names = {
        name: np.array([f"class {n:g}" for n in array], object) for name, array in arrays.items() if array.ndim == 1
    }
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        file.update(arrays | names)
    return path.with_suffix(".h5")


WRITERS: tuple[Callable[[Path, dict[str, Any]], Path], ...] = (
    damaged_codes.npz,
    damaged_codes.npz_deflated,
    damaged_codes.npy,
    damaged_codes.mat,
    damaged_codes.mat_deflated,
    damaged_codes.h5,
    h5_names,
    damaged_codes.mat_73,
    damaged_codes.pt,
)


def truncated(content: bytes, rng: Rng) -> bytes:
    return content[: rng.integers(len(content))]


def zeroed(content: bytes, rng: Rng) -> bytes:
    at = int(rng.integers(len(content)))
    return content[:at] + bytes(16) + content[at + 16 :]


def inserted(content: bytes, rng: Rng) -> bytes:
    at = int(rng.integers(len(content)))
    return content[:at] + bytes(16) + content[at:]


def flipped(content: bytes, rng: Rng) -> bytes:
    damaged = bytearray(content)
    for at in rng.integers(len(content), size=rng.integers(1, 4)):
        damaged[at] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


DAMAGES = (truncated, zeroed, inserted, flipped)
CHECKED = ("npz", "npz_deflated", "mat_deflated", "pt", "h5")  # formats, as they are written here, with checksums


def damaged_file(folder: Path, number: int) -> Path:
    """File ``number``, the same always."""
    rng = np.random.default_rng([62, number])
    path = WRITERS[number % len(WRITERS)](folder / str(number), damaged_codes.sound(rng))
    victim = path / f"{rng.choice(damaged_codes.ROLES)}.npy" if path.is_dir() else path
    victim.write_bytes(DAMAGES[number // len(WRITERS) % len(DAMAGES)](victim.read_bytes(), rng))
    return path


def counts(path: Path) -> list[Any]:
    saved = files.load(path)
    return count_blocks(saved.query, saved.pieces()).counts.tolist()


def is_as_others_read(path: Path) -> bool:
    """Whether NumPy, SciPy or h5py find the values in the file that we do."""
    for role in damaged_codes.ROLES:
        if path.is_dir():
            ours = files.array_at(str(path / f"{role}.npy"), role).whole()
            others = np.load(path / f"{role}.npy")
        elif path.suffix == ".mat" and path.read_bytes().startswith(b"MATLAB 5.0"):
            ours = files.arrays_in(path)[role]().whole()
            others = scipy.io.loadmat(path, variable_names=[role])[role]
        else:
            ours = files.arrays_in(path)[role]().whole()
            with h5py.File(path) as file:
                others = file[role].asstr()[...].astype(np.str_) if ours.dtype.kind == "U" else file[role][...]
                others = others.T if "MATLAB_class" in file[role].attrs else others
        if not np.array_equal(ours, others):
            return False
    return True


def verdict(folder: Path, number: int) -> str:
    """How the reading of a file ended: equal, as others read it, refused, given up, or a fault."""
    path = damaged_file(folder, number)
    try:
        counted = counts(path)
    except HashbenchError as error:
        if len(str(error).splitlines()) != 1:
            return f"fault: {number}: several lines: {error}"
        return "given up" if "the HDF5 library" in str(error) else "refused"
    except Exception as error:  # what the test is about
        return f"fault: {number}: {type(error).__name__}: {error}"
    writer = WRITERS[number % len(WRITERS)]
    sound = writer(folder / f"{number}_sound", damaged_codes.sound(np.random.default_rng([62, number])))
    if counted == counts(sound):
        return "equal"
    is_wrong = writer.__name__ in CHECKED or not is_as_others_read(path)
    return f"fault: {number}: a wrong number" if is_wrong else "as others read it"


def main(folder: Path, first: int) -> None:
    """Prints the verdicts on a batch of files, a line each."""
    import torch  # noqa: F401  (it takes seconds)

    _hdf5.SECONDS = 1.0
    for number in range(first, first + BATCH):
        signal.setitimer(signal.ITIMER_PROF, LIMIT_SECONDS)  # a hang ends this process
        print(json.dumps([WRITERS[number % len(WRITERS)].__name__, verdict(folder, number)]), flush=True)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_damaged_file_hangs_or_gives_a_wrong_number(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    environment = os.environ | {"PYTHONPATH": str(Path(damaged_codes.__file__).parents[1])}
    tally = Counter[tuple[str, str]]()
    for first in range(0, N_FILES, BATCH):
        command = [sys.executable, __file__, str(tmp_path), str(first)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        lines = [json.loads(line) for line in io.StringIO(done.stdout)]
        assert len(lines) == BATCH, f"file {first + len(lines)} ended the process ({done.returncode}): {done.stderr}"
        tally.update((form, outcome) for form, outcome in lines)
    assert [outcome for _, outcome in tally if outcome.startswith("fault")] == []
    print(dict(tally))
    assert tally.total() == N_FILES


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
