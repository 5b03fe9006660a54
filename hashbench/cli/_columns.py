"""Text in columns that fits the terminal; 80 columns where the output is a file or a pipe."""

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator

COLUMNS = 80
NARROWEST = 40  # of a terminal: nothing is cut into shorter lines than that


def width() -> int:
    """The number of columns that a line of the output may have."""
    return max(NARROWEST, shutil.get_terminal_size((COLUMNS, 24)).columns) if sys.stdout.isatty() else COLUMNS


def wrapped(lead: str, text: str) -> Iterator[str]:
    """``lead`` and the words of ``text`` beside it, in lines that fit; a longer word, such as a URL, is not cut.

    A lead that is longer than half of the width stands on a line of its own.
    """
    lead = lead if text else lead.rstrip()
    if len(lead) > width() // 2 and len(lead) + len(text) > width():
        yield lead.rstrip()
        lead = " " * 4
    yield from textwrap.wrap(
        text,
        width(),
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [lead]


def in_columns(lines: Iterable[tuple[str, str]], indent: str = "") -> Iterator[str]:
    """Each name with its text beside it, the texts one below the other."""
    listed = list(lines)
    longest = max((len(name) for name, _ in listed), default=0)
    for name, text in listed:
        yield from wrapped(f"{indent}{name:{longest}}  ", text)
