"""Runs the command line inside the test's process."""

import json
import shlex
from typing import Any, NamedTuple

import pytest

from hashbench.cli._app import main


def status(*arguments: object) -> int:
    """The exit status of ``hashbench`` with these arguments."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


class Answer(NamedTuple):
    """The exit status of a command, and what it printed on stdout and on stderr."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def text(self) -> str:
        """What is on stdout, without the ends of its lines: they depend on the width."""
        return " ".join(self.out.split())


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> Answer:
    """What the command with these arguments does."""
    return Answer(status(*arguments), *capsys.readouterr())


class CommandLine:
    """Commands as a user types them: a text is split into words, anything else is one word."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *parts: object) -> Answer:
        """What ``hashbench PARTS`` does."""
        words: list[object] = []
        for part in parts:
            words += shlex.split(part) if isinstance(part, str) else [part]
        return call(self.capsys, *words)

    def done(self, *parts: object) -> Answer:
        """The answer of a command that must succeed."""
        answer = self(*parts)
        assert answer.code == 0, answer.err
        return answer

    def printed(self, *parts: object) -> str:
        """What a command prints on stdout, which must succeed and say nothing on stderr."""
        answer = self.done(*parts)
        assert answer.err == ""
        return answer.out

    def json(self, *parts: object) -> Any:
        """The JSON that a command prints, which must succeed."""
        return self.done(*parts, "--json").json

    def refused(self, *parts: object) -> str:
        """The one line of a command that is refused, without "error: "; it prints no result, and notes before it."""
        answer = self(*parts)
        *notes, line = answer.err.splitlines() or [""]
        assert (answer.code, answer.out, line[:7]) == (2, "", "error: "), answer
        assert all(note.startswith("note: ") for note in notes), answer
        return line.removeprefix("error: ")
