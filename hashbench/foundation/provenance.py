"""The provenance of a result: the version of the code, the libraries and the machine."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hashbench.foundation import __version__, paths
from hashbench.foundation.config import Strict, Text

LIBRARIES = ("numpy", "numba", "scikit-learn", "torch", "torchvision")
# the files that decide results; changes of results/, tests and docs do not count as dirty
SOURCES = ("hashbench", "datasets", "experiments", "pyproject.toml", "requirements.lock")


class Code(Strict):
    """The version of the code that made a result, from the package's own source tree (not the current folder)."""

    version: Text
    commit: Text | None  # null where the package was installed without its repository
    dirty: bool | None


@cache
def code() -> Code:
    """The version, commit and dirty flag of the package's own source tree (not of the current folder)."""
    if _git("ls-files", "--error-unmatch", "hashbench/__init__.py") is None:
        return Code(version=__version__, commit=None, dirty=None)
    changes = _git("status", "--porcelain", "--", *SOURCES)
    return Code(version=__version__, commit=_git("rev-parse", "HEAD"), dirty=changes != "")


def _git(*arguments: str) -> str | None:
    command = ["git", "-C", str(paths.PACKAGE.parent), *arguments]  # whichever git the user has
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None


def versions() -> dict[str, str | None]:
    """The versions of Python, LIBRARIES and CUDA; None for a library that is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = None
    # only if it is imported already: the import takes seconds; or if another thread imports it: import_module waits
    found["cuda"] = import_module("torch").version.cuda if "torch" in sys.modules else None
    return found


def hardware(device: str) -> dict[str, str | int | None]:
    """The operating system, the processor, its cores, ``device``, and the GPU if ``device`` is one."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    cpus = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpus[0] if cpus else platform.processor(),
        "cores": os.cpu_count(),
        "device": device,
        "gpu": gpu_name() if device.startswith("cuda") else None,
    }


def threads() -> dict[str, int]:
    """The number of threads of BLAS, OpenMP, Numba and torch in this process, as far as they are loaded."""
    from threadpoolctl import threadpool_info

    found: dict[str, int] = {}
    for pool in threadpool_info():
        found[pool["user_api"]] = max(pool["num_threads"], found.get(pool["user_api"], 0))
    for library in ("numba", "torch"):
        if library in sys.modules:  # perhaps another thread imports it at this moment: import_module waits for that
            found[library] = import_module(library).get_num_threads()
    return found


def peak_memory() -> int | None:
    """The most memory that this process has held so far, in bytes; None where the system does not say it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def gpu_name() -> str | None:
    """The name of torch's first GPU; None if there is no GPU."""
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None


def utc() -> str:
    """The current UTC time, such as 2026-01-31T12:00:00Z."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
