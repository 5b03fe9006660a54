"""Who made this number: the code, the libraries, the machine."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hashbench import __version__, paths
from hashbench.runs.store import Code

LIBRARIES = ("numpy", "numba", "scikit-learn", "torch", "torchvision")
# what decides a number; results/, tests and pages do not make a tree dirty
SOURCES = ("hashbench", "datasets", "experiments", "pyproject.toml", "requirements.lock")


@cache
def code() -> Code:
    """The version, commit and dirty flag of the package's own source tree, wherever one stands."""
    home = paths.PACKAGE.parent
    if _git(home, "ls-files", "--error-unmatch", "hashbench/__init__.py") is None:
        return Code(version=__version__, commit=None, dirty=None)
    changes = _git(home, "status", "--porcelain", "--", *SOURCES)
    return Code(version=__version__, commit=_git(home, "rev-parse", "HEAD"), dirty=changes != "")


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", str(folder), *arguments],  # noqa: S607  (whichever git the user has)
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def versions() -> dict[str, str | None]:
    """Versions of Python, the libraries that compute, and CUDA; null where one is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = None
    torch = sys.modules.get("torch")  # asked only where it was used: its import costs seconds
    found["cuda"] = torch.version.cuda if torch is not None else None
    return found


def hardware(device: str) -> dict[str, str | int | None]:
    """The processor, its cores, and the GPU where ``device`` is one."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "device": device,
        "gpu": gpu_name() if device.startswith("cuda") else None,
    }


def gpu_name() -> str | None:
    """The name of the first GPU that torch sees, or None."""
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None


def _cpu_name() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def utc() -> str:
    """The time now, UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
