"""The entry of the process: what must happen before the first library is loaded."""

import gc
import io
import sys
from typing import NoReturn

from hashbench.cli import _interrupts


def main() -> NoReturn:
    """Runs the command line; the command ``hashbench`` and ``python -m hashbench`` call it."""
    _interrupts.end_at_once()
    gc.set_threshold(100_000)  # what a command imports and reads stays: looking through it took a quarter of its time
    # PYTHONUNBUFFERED takes the buffer of stdout away, and without it what a full disk cuts off is no error; nothing
    # comes later for it, since every line that is printed is flushed
    if sys.stdout is not None and isinstance(sys.stdout.buffer, io.RawIOBase):
        encoding, errors = sys.stdout.encoding, sys.stdout.errors
        sys.stdout = open(1, "w", encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
    try:
        from hashbench.foundation.parallel import let_idle_threads_sleep

        let_idle_threads_sleep()
        from hashbench.cli._app import main as run

        run()
    except KeyboardInterrupt:  # it came between two blocks that catch it
        _interrupts.end()
