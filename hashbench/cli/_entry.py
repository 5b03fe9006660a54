"""The entry of the process: what must happen before the first library is loaded."""

from typing import NoReturn

from hashbench.cli import _interrupts


def main() -> NoReturn:
    """Runs the command line; the command ``hashbench`` and ``python -m hashbench`` call it."""
    _interrupts.end_at_once()
    # What the libraries must find in the environment when they are loaded is set here.
    try:
        from hashbench.cli._app import main as run

        run()
    except KeyboardInterrupt:  # it came between two blocks that catch it
        _interrupts.end()
