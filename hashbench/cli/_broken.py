"""What a command says of an entry that it leaves out because it cannot be loaded."""

import typer

from hashbench.foundation.errors import CheckFailed, HashbenchError
from hashbench.foundation.registry import Broken


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


class LeftOutRows:
    """Prints each row that cannot be read as one line, and counts them; the command then ends with status 1."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self, error: HashbenchError) -> None:
        """Prints the error of a row."""
        self.n += 1
        typer.echo(f"left out: {error}", err=True)

    def check(self) -> None:
        """Raises CheckFailed if a row was left out; it is called when all else is printed."""
        if self.n:
            raise CheckFailed(f"{self.n} {'row' if self.n == 1 else 'rows'} cannot be read: see the lines above")
