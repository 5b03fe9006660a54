"""Programs that a process of Python runs."""

import subprocess
import sys


def python(program: str, *arguments: object) -> str:
    """What the program prints on stdout; it must end well."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout
