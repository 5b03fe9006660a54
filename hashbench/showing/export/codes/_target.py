"""The type ``Target``: a system that searches codes, and how codes are written for it."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from hashbench.foundation.errors import retold
from hashbench.foundation.extras import how_to_install
from hashbench.foundation.parallel import slices
from hashbench.scoring.codes import Codes

BLOCK = 1 << 16  # codes that are made into text at a time
NAME_CHARACTERS = 40  # of a run or a file in the name of a table; PostgreSQL cuts names after 63 bytes


@dataclass(frozen=True)
class Target:
    """A system that searches codes.

    In the texts ``$bits`` is the code length, ``$stored_bits`` that of the bytes that hold a code, ``$file`` the file,
    ``$table`` what ``table_of`` gives, and ``$k`` the number of the nearest that are searched, 10 or all codes. The
    ``example`` begins where ``queries`` [q, bits] of 0 and 1 and ``packed``, their bytes, are known, and gives ``ids``
    and ``distances`` [q, k], each time that it is run.
    """

    file: str
    about: str  # what the file is
    write: Callable[[Codes, Path, str], None]  # the codes into a file, as the table of this name
    needs: str  # the packages of the example, for a shell
    example: str
    padded: bool = True  # whether a code takes whole bytes
    before: str = ""  # Markdown between the description and the example


def table_of(name: str, codes: Codes) -> str:
    """The name of a table or collection for the ``codes`` of a run or file called ``name``: other codes have another.

    It has at most 55 characters, all of them letters a to z, digits and _.
    """
    safe = re.sub("[^a-z0-9]+", "_", name.lower())[:NAME_CHARACTERS].strip("_")
    digest = hashlib.sha256(f"{codes.n_bits} ".encode())
    for rows in slices(len(codes), BLOCK):
        digest.update(codes[rows].bytes().data)
    return "_".join(filter(None, ["codes", safe, digest.hexdigest()[:8]]))


def library(module: str, target: str, extra: str) -> Any:
    """The imported ``module`` of an extra; HashbenchError with the command that installs it where it is missing."""
    with retold(lambda _: f"--to {target} needs {module}: {how_to_install(extra)}", ImportError):
        return import_module(module)
