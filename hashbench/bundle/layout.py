"""The files of a bundle: where each stands in the archive, and how large it may be.

``results/`` is a folder of results and ``root/`` is a root: ``hashbench --results --root`` reads an unpacked bundle.
"""

import re

from hashbench.contract import CODES

README, MANIFEST = "README.md", "manifest.json"
ROWS, RUNS, ROOT, ID_LISTS = "results/rows", "results/runs", "root", "splits"
# the counts of a run: those of the database, and those of the queries among each other (sparse codes only)
COUNTS = ("histogram.npz", "retrieval.npz")
COUNTS_OF_TEST = ("histogram_of_test.npz", "retrieval_of_test.npz")
OF_RUN = (*COUNTS, *COUNTS_OF_TEST, CODES)

MOST_FILES = 50_000
MOST_NAME = 240  # characters of a path in the archive
TEXT_BYTES, ARRAY_BYTES = 8 << 20, 4 << 30

# of a file, a folder or a table
NAME = r"[A-Za-z0-9_+-][A-Za-z0-9_.+-]*"  # no path: no /, no \, no .. and no leading dot
_NPZ = "|".join(map(re.escape, OF_RUN))
_LIMITS = {
    rf"{README}|{MANIFEST}": TEXT_BYTES,
    rf"{ROWS}/{NAME}\.jsonl": 64 << 20,
    rf"{ROWS}/{NAME}/{NAME}\.json": 1 << 20,  # as hashbench 0.1 packed them
    rf"{RUNS}/{NAME}/({_NPZ})": ARRAY_BYTES,
    rf"{ROOT}/(datasets|experiments/(tables|methods|recipes))/{NAME}\.toml": TEXT_BYTES,
    rf"{ROOT}/experiments/papers\.toml": TEXT_BYTES,
    rf"{ID_LISTS}/{NAME}/{NAME}\.npz": ARRAY_BYTES,
}


def most_bytes(name: str) -> int | None:
    """The most bytes that the file ``name`` of a bundle may have; None if no bundle has such a file."""
    fitting = (limit for pattern, limit in _LIMITS.items() if re.fullmatch(pattern, name))
    return next(fitting, None) if len(name) <= MOST_NAME else None


def is_folder_name(name: str) -> bool:
    """Whether the one folder of an archive, which holds all its files, may have this name."""
    return len(name) <= MOST_NAME and re.fullmatch(NAME, name) is not None
