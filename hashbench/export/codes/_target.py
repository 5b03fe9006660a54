"""The type ``Target``: a system that searches codes, and how codes are written for it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hashbench.codes import Codes
from hashbench.foundation.errors import retold
from hashbench.foundation.extras import how_to_install
from hashbench.foundation.imports import imported

BLOCK = 1 << 16  # codes that are made into text at a time


@dataclass(frozen=True)
class Target:
    """A system that searches codes.

    In the texts ``$bits`` is the code length, ``$stored_bits`` that of the bytes that hold a code, and ``$file`` the
    file. The ``example`` begins where ``queries`` [q, bits] of 0 and 1 and ``packed``, their bytes, are known, and
    gives ``ids`` and ``distances`` [q, 10].
    """

    file: str
    about: str  # what the file is
    write: Callable[[Codes, Path], None]
    needs: str  # the packages of the example
    example: str
    padded: bool = True  # whether a code takes whole bytes
    before: str = ""  # Markdown between the description and the example


def library(module: str, target: str, extra: str) -> Any:
    """The imported ``module`` of an extra; HashbenchError with the command that installs it where it is missing."""
    with retold(lambda _: f"--to {target} needs {module}: {how_to_install(extra)}", ImportError):
        return imported(module)
