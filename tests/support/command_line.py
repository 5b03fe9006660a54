"""Runs the command line inside the test's process."""

import pytest

from hashbench.cli._app import main


def status(*arguments: object) -> int:
    """The exit status of ``hashbench`` with these arguments."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """The exit status, and what was printed on stdout and on stderr."""
    return status(*arguments), *capsys.readouterr()
