"""The files that benchmarks write to results/benchmarks/: the figures and the machine on which they were measured."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hashbench.foundation import parallel, provenance
from hashbench.foundation.files import write_text

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = REPOSITORY / "results" / "benchmarks"
# started as a separate process, since the peak memory of a child begins at that of its parent
LAUNCHER = """
import json, os, subprocess, sys, time
started = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(child.pid, 0)
print(json.dumps([status, time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def path_of(name: str, device: str = "cpu") -> Path:
    """The file for the figures of the benchmark ``name`` on this machine: results/benchmarks/NAME-MACHINE.json."""
    of = machine(device)
    described = f"{of['gpu'] or of['cpu']} {of['cores']} cores"
    return FOLDER / f"{name}-{re.sub(r'[^a-z0-9]+', '-', described.lower()).strip('-')}.json"


def machine(device: str = "cpu") -> dict[str, Any]:
    """The hardware, and the number of cores that this process may use."""
    return {**provenance.hardware(device), "cores": parallel.available_cores()}


def write(name: str, figures: Mapping[str, Any], device: str = "cpu") -> Path:
    """Writes ``figures`` with the time, the machine, its load and the versions; prints and returns the path."""
    record = {
        "utc": provenance.utc(),
        "machine": machine(device),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "versions": provenance.versions(),
        **figures,
    }
    path = path_of(name, device)
    write_text(path, json.dumps(record, indent=1) + "\n")
    print(path.relative_to(REPOSITORY))
    return path
