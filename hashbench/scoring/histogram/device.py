"""The device that counts a histogram: ``cpu``, with Numba's kernels, or a CUDA device, with torch's: both the same."""

import ctypes
import re
import sys
from importlib.util import find_spec
from typing import Any

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.parallel import available_cores

# To import torch, start CUDA and compile the kernel takes several seconds: a GPU pays where the CPU would count longer.
CPU_SECONDS = 10
PAIR_SECONDS = 0.5e-9  # of the CPU: a pair, for each 64 bits and core (benchmarks/scoring.py)


def usable(name: str) -> str:
    """``name`` as "auto", "cpu" or "cuda:N"; raises HashbenchError for another name and for an unusable device."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d{1,4})?", name):
        raise HashbenchError(f"device {name!r}: one of auto, cpu, cuda, cuda:N")
    if name.startswith("cuda"):
        return require_cuda(name)
    return name


def for_arrays(name: str, *codes: Any) -> str:
    """The device that counts ``codes`` in memory; ``auto`` is that of the first torch tensor on a GPU, else "cpu"."""
    if name != "auto":
        return usable(name)
    for array in codes:
        if hasattr(array, "detach") and getattr(array, "is_cuda", False):
            return str(array.device)
    return "cpu"


def for_pairs(name: str, n_pairs: int, n_bits: int) -> str:
    """The device that counts so many pairs of codes from files; ``auto``: a GPU where the CPU needs ``CPU_SECONDS``."""
    if name != "auto":
        return usable(name)
    seconds = PAIR_SECONDS * n_pairs * -(-n_bits // 64) / available_cores()
    # torch, whose import takes seconds, is not imported before
    if seconds < CPU_SECONDS or not has_cuda_driver() or find_spec("torch") is None:
        return "cpu"
    try:
        return require_cuda("cuda")
    except HashbenchError:
        return "cpu"


def has_cuda_driver() -> bool:
    """True if NVIDIA's driver is installed and finds a device; it calls the driver itself and does not import torch."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        n_devices = ctypes.c_int(0)
        return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(n_devices)) == 0 and n_devices.value > 0
    except (OSError, AttributeError):  # no driver, or one without these functions
        return False


def require_cuda(name: str) -> str:
    """``name`` with its number, cuda:N; raises HashbenchError if there is no such device or it cannot be used."""
    if find_spec("torch") is None:
        from hashbench.foundation.extras import how_to_install  # here: it reads metadata of packages, which is slow

        raise HashbenchError(f"device {name}: torch is not installed: {how_to_install('train')}; or device cpu")
    import torch

    n_devices = 0
    if torch.cuda.is_available():
        n_devices = torch.cuda.device_count()
    number = int(name.partition(":")[2] or 0)
    if number >= n_devices:
        raise HashbenchError(f"device {name}: {n_devices} CUDA devices are here, the first cuda:0; or device cpu")
    # in use by another process alone, out of memory, an old driver
    with retold(lambda cause: f"device {name}: it cannot be used: {cause}: device cpu can", RuntimeError):
        torch.empty(1, device=f"cuda:{number}")
    return f"cuda:{number}"
