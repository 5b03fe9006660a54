"""Standard output and standard error of the process: what is printed can be shown, and changes nothing else there."""

import codecs
import io
import re
from typing import BinaryIO, TextIO

# Line ends that only some programs know, and signs that reverse the text after them: a name from a file may hold them.
# As escapes they do no harm to a terminal, and JSON means the same by them.
HIDDEN = [*range(0x80, 0xA0), 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
HIDDEN += [*range(9), *range(0x0B, 0x20), 0x7F]  # and what rings, moves the cursor or begins a command of a terminal
ESCAPES = {code: f"\\u{code:04x}" for code in HIDDEN}
# our own signs, where the character set of the terminal lacks them; two marks never become one
PLAIN = {"±": "+-", "‡": "#", "†": "^", "≠": "!", "≤": "<=", "≥": ">=", "×": "x", "→": "->", "²": "2"}
PLAIN |= dict.fromkeys("█▉▊▋▌▍▎▏", "#")  # of progress bars
REPLACE = "hashbench-replace"  # the name by which codecs know ``_replaced``
MOVE = re.compile(r"(\r|\x1b\[A)")  # as progress bars do


class Output(io.TextIOWrapper):
    """A stream of text on which ``HIDDEN`` characters are written as escapes.

    What comes from rows, files and labels is cleaned here, once. Signs that ``charset`` lacks are written as others.
    """

    def __init__(self, buffer: BinaryIO, charset: str, *, line_buffering: bool = False) -> None:
        # ASCII is UTF-8, and says so: typer's echo writes UTF-8 past a stream that says that it is ASCII
        encoding = "utf-8" if codecs.lookup(charset).name == "ascii" else charset
        super().__init__(buffer, encoding, line_buffering=line_buffering)
        self.charset = charset

    def write(self, text: str) -> int:
        clean = text if text.isprintable() else self.cleaned(text)
        return super().write(clean.encode(self.charset, REPLACE).decode(self.charset))

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
    charset = "utf-8" if old is None else old.encoding
    # with a buffer also with PYTHONUNBUFFERED: without one, what a full disk cuts off is no error
    kind = ErrorOutput if number == 2 else Output
    return kind(open(number, "wb", closefd=False), charset, line_buffering=number == 2)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """What is written in place of signs that cannot be encoded: those of ``PLAIN``, and escapes that JSON knows too."""
    assert isinstance(error, UnicodeEncodeError)
    signs = error.object[error.start : error.end]
    return "".join(PLAIN.get(sign) or _escape(sign) for sign in signs), error.end


def _escape(sign: str) -> str:
    """The sign as JSON escapes it, by four digits, or twice four."""
    units = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


codecs.register_error(REPLACE, _replaced)
