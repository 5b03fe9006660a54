"""What a command says of an entry that it leaves out because it cannot be loaded."""

import typer

from hashbench.errors import HashbenchError
from hashbench.registry import Broken


def say(error: HashbenchError) -> None:
    """Prints the error as one line on stderr."""
    typer.echo(f"error: {' '.join(str(error).split())}", err=True)


def say_once() -> Broken:
    """As :func:`say`, but the same line is printed once: several tables may need one broken entry."""
    said: set[str] = set()

    def say_new(error: HashbenchError) -> None:
        if str(error) not in said:
            said.add(str(error))
            say(error)

    return say_new
