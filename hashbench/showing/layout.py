"""Text in columns: the one place that pads, wraps, and cuts what is too wide."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

NARROW = 28  # columns that are too few for a long text
WIDE = 120  # columns of a grid of numbers; a wider one is cut, and goes on below with the labels repeated


def widths(columns: Sequence[Sequence[str]], least: int = 0) -> list[int]:
    """The width of each column of texts."""
    return [max([least, *map(len, texts)]) for texts in columns]


def padded(texts: Sequence[str], width: int, *, right: bool) -> list[str]:
    """The texts of a column, all as wide as it, flush left or ``right``."""
    if right:
        return [text.rjust(width) for text in texts]
    return [text.ljust(width) for text in texts]


def wrapped(lead: str, text: str, width: int) -> Iterator[str]:
    """``lead`` with ``text`` beside it, or below a long lead, in lines that fit; a long word (a URL) is not cut."""
    if not text:
        lead = lead.rstrip()
    if len(lead) > width - NARROW and len(lead) + len(text) > width:
        yield lead.rstrip()
        lead = " " * 4
    indent = " " * len(lead)
    yield from textwrap.wrap(
        text, width, initial_indent=lead, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [lead]


def split_evenly(labels: Sequence[T], most: int) -> list[Sequence[T]]:
    """``labels`` cut into as few pieces of at most ``most`` as possible, the pieces as even as possible."""
    size = -(-len(labels) // -(-len(labels) // most))
    return [labels[start : start + size] for start in range(0, len(labels), size)]


def fewest_pieces(labels: Sequence[T], fits: Callable[[Sequence[T]], bool]) -> list[Sequence[T]]:
    """``labels`` cut evenly into the fewest pieces that all fit; into single labels where nothing else fits.

    >>> fewest_pieces(("a", "b", "ccc"), lambda piece: len("".join(piece)) <= 3)
    [('a', 'b'), ('ccc',)]
    """
    for most in range(len(labels), 1, -1):
        pieces = split_evenly(labels, most)
        if all(map(fits, pieces)):
            return pieces
    return [labels[at : at + 1] for at in range(len(labels))]


def pieces_of(column_widths: Sequence[float], between: float, width: float) -> list[list[int]]:
    """The columns by number, cut into as few pieces as fit ``width``, each with the first column, the labels."""
    label, *_ = column_widths
    others = range(1, len(column_widths))
    pieces = fewest_pieces(others, lambda piece: label + sum(column_widths[at] + between for at in piece) <= width)
    return [[0, *piece] for piece in pieces] or [[0]]
