"""Standard output and standard error of the process: what is printed can be shown, and changes nothing else there."""

import codecs
import io
import re
from typing import TextIO

# Line ends that only some programs know, and signs that reverse the text after them: a name from a file may hold them.
# As escapes they do no harm to a terminal, and JSON means the same by them.
HIDDEN = [*range(0x80, 0xA0), 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
HIDDEN += [*range(9), *range(0x0B, 0x20), 0x7F]  # and what rings, moves the cursor or begins a command of a terminal
ESCAPES = {code: f"\\u{code:04x}" for code in HIDDEN}
MOVE = re.compile(r"(\r|\x1b\[A)")  # as progress bars do


class Output(io.TextIOWrapper):
    """A stream of text on which ``HIDDEN`` characters, and those that its character set lacks, are written as escapes.

    What comes from rows, files and labels is cleaned here, once.
    """

    def write(self, text: str) -> int:
        return super().write(text if text.isprintable() else self.cleaned(text))

    def cleaned(self, text: str) -> str:
        """The text with escapes in place of ``HIDDEN`` characters."""
        return text.translate(ESCAPES)


class ErrorOutput(Output):
    """Standard error, on which progress bars move the cursor."""

    def cleaned(self, text: str) -> str:
        """As of ``Output``, but for ``MOVE``."""
        parts = MOVE.split(text)
        parts[::2] = map(super().cleaned, parts[::2])
        return "".join(parts)


def output(number: int, old: TextIO | None) -> Output:
    """The stream of a descriptor, in place of ``old``."""
    charset = "utf-8" if old is None else codecs.lookup(old.encoding).name
    if charset == "ascii":  # typer's echo writes UTF-8 past a stream that says that it is ASCII
        charset = "utf-8"
    # with a buffer also with PYTHONUNBUFFERED: without one, what a full disk cuts off is no error
    kind = ErrorOutput if number == 2 else Output
    return kind(open(number, "wb", closefd=False), charset, "backslashreplace", line_buffering=number == 2)
