"""The entry of the process: what must happen before the first library is loaded."""

import gc
import os
import sys
from typing import NoReturn

from hashbench.cli import _interrupts
from hashbench.cli._output import output


def main() -> NoReturn:
    """Runs the command line; the command ``hashbench`` and ``python -m hashbench`` call it."""
    _interrupts.end_at_once()
    gc.set_threshold(100_000)  # what a command imports and reads stays: looking through it took a quarter of its time
    # where stdin, stdout or stderr is closed, no file that is opened later may become it
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(number, True)  # worker processes have them too
    os.close(number)
    sys.stdout = output(1, sys.stdout)
    sys.stderr = output(2, sys.stderr)
    try:
        from hashbench.foundation.parallel import prepare_threads

        prepare_threads()
        from hashbench.cli._app import main as run

        run()
    except KeyboardInterrupt:  # it came between two blocks that catch it
        _interrupts.end()
