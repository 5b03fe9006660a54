"""Standard output and standard error of the process: what is printed cannot change how a terminal shows the rest."""

import io
from typing import TextIO

# Line ends that only some programs know, and signs that reverse the text after them: a name from a file may hold them.
# As escapes they do no harm to a terminal, and JSON means the same by them.
HIDDEN = [*range(0x80, 0xA0), 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
ESCAPES = {code: f"\\u{code:04x}" for code in HIDDEN}


class Output(io.TextIOWrapper):
    """A stream of text on which ``HIDDEN`` characters are written as escapes."""

    def write(self, text: str) -> int:
        return super().write(text.translate(ESCAPES))


def output(number: int, old: TextIO | None) -> Output:
    """The stream of a descriptor, in place of ``old``."""
    # with a buffer also with PYTHONUNBUFFERED: without one, what a full disk cuts off is no error
    encoding, errors = ("utf-8", "replace") if old is None else (old.encoding, old.errors)
    return Output(open(number, "wb", closefd=False), encoding, errors, line_buffering=number == 2)
