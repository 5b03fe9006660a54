"""The first words of a command that is printed for the user to run."""

import typer

SHARED = ("root", "results", "data")  # the options before the command that decide what it finds


def program(context: typer.Context) -> list[str]:
    """``hashbench`` with the shared options that this command was given, so that a printed command finds the same."""
    given = context.find_root().params
    named = ((f"--{name}", given.get(name)) for name in SHARED)
    return ["hashbench", *(word for option, value in named if value is not None for word in (option, str(value)))]
