"""The provenance of a result: the version of the code, the libraries and the machine."""

import hashlib
import os
import platform
import resource
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from threadpoolctl import threadpool_info

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


@cache
def sources() -> str:
    """SHA-256 (hex) of the package's Python files: two machines with the same compute the same, repository or not."""
    digest = hashlib.sha256()
    for path in sorted(paths.PACKAGE.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(paths.PACKAGE).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _git(*arguments: str) -> str | None:
    return _output("git", "-C", str(paths.PACKAGE.parent), *arguments)  # whichever git the user has


def _output(*command: str) -> str | None:
    """The output of a program; None where it fails or there is none."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None


def versions() -> dict[str, str | None]:
    """The versions of Python, LIBRARIES and CUDA; None for a library that is not installed."""
    known: dict[str, str | None] = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            known[library] = version(library)
        except PackageNotFoundError:
            known[library] = None
    known["cuda"] = None
    if "torch" in sys.modules:  # the import takes seconds; if another thread imports it, import_module waits
        known["cuda"] = import_module("torch").version.cuda
    return known


def hardware(device: str) -> dict[str, str | int | None]:
    """The operating system, the processor, its cores, ``device``, and the GPU if ``device`` is one."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        **processor(),
        "instructions": instructions(),
        "cores": os.cpu_count(),
        "device": device,
        "gpu": gpu_name() if device.startswith("cuda") else None,
    }


def processor() -> dict[str, str | None]:
    """The name, family and model of the processor: two of one name may compute, and so round, otherwise."""
    if sys.platform == "darwin":
        names = {"cpu": "machdep.cpu.brand_string", "cpu_family": "hw.cpufamily", "cpu_model": "machdep.cpu.model"}
        known = {key: _output("sysctl", "-n", name) for key, name in names.items()}
    else:
        facts = {}
        if (cpuinfo := Path("/proc/cpuinfo")).exists():
            for line in cpuinfo.read_text().partition("\n\n")[0].splitlines():
                key, _, value = line.partition(":")
                facts[key.strip()] = value.strip()
        known = {
            "cpu": facts.get("model name"),
            "cpu_family": facts.get("cpu family") or facts.get("CPU architecture"),  # of x86, of ARM
            "cpu_model": facts.get("model") or facts.get("CPU part"),
        }
    return {**known, "cpu": known["cpu"] or platform.processor()}


def instructions() -> str:
    """The instruction sets that NumPy, its BLAS and PyTorch choose on this processor, as far as they are loaded."""
    import numpy as np

    known = cast("dict[str, Any]", np.show_config(mode="dicts")).get("SIMD Extensions", {})
    sets = [*known.get("baseline", []), *known.get("found", [])]
    chosen = {}
    if sets:
        chosen["numpy"] = sets[-1]
    chosen |= {pool["internal_api"]: pool["architecture"] for pool in threadpool_info() if pool.get("architecture")}
    if "torch" in sys.modules:
        chosen["torch"] = import_module("torch").backends.cpu.get_cpu_capability()
    return ", ".join(f"{library} {name}" for library, name in chosen.items())


def threads() -> dict[str, int]:
    """The number of threads of BLAS, OpenMP and PyTorch in this process now, as far as they are loaded."""
    n_threads: dict[str, int] = {}
    for pool in threadpool_info():
        n_threads[pool["user_api"]] = max(pool["num_threads"], n_threads.get(pool["user_api"], 0))
    if "torch" in sys.modules:  # perhaps another thread imports it at this moment: import_module waits for that
        n_threads["torch"] = import_module("torch").get_num_threads()
    return n_threads


def peak_memory() -> int:
    """The most memory that this process has held so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if sys.platform == "darwin":
        return peak
    return peak * 1024


def gpu_memory(device: str) -> int | None:
    """The most memory that PyTorch has held on the GPU ``device`` so far, in bytes; None where that is no GPU."""
    if not device.startswith("cuda"):
        return None
    import torch

    return torch.cuda.max_memory_allocated(device)


def gpu_name() -> str | None:
    """The name of torch's first GPU; None if there is no GPU."""
    import torch

    if not torch.cuda.is_available():
        return None
    return torch.cuda.get_device_name(0)


def utc() -> str:
    """The current UTC time, such as 2026-01-31T12:00:00Z."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
