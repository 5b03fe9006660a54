"""The cells of a table as a map: a sign for each, in the rows and columns of the table, coloured on a terminal."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

import typer

from hashbench.cli._terminal import width, wrapped

KEPT = "\u00a0"  # a space at which no line is cut


class State(Enum):
    """What is stored of a cell: its sign, what the sign means, and its colour (none: that of the text)."""

    done = ("#", "done", typer.colors.GREEN)
    partly = ("+", "partly", typer.colors.YELLOW)
    failed = ("x", "failed", typer.colors.RED)
    missing = (".", "missing", None)
    unavailable = ("-", "not available yet", typer.colors.BRIGHT_BLACK)

    @property
    def sign(self) -> str:
        """The sign on the map, coloured where the output is."""
        sign, _, colour = self.value
        return typer.style(sign, fg=colour, bold=True) if colour and is_coloured() else sign


def is_coloured() -> bool:
    """Whether the output is a terminal whose user has not set NO_COLOR (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def legend() -> str:
    """What the signs mean, in one line."""
    return ", ".join(f"{state.sign} {state.value[1]}" for state in State)


def section_map(
    title: str,
    columns: Sequence[str],
    rows: Mapping[str, tuple[Mapping[str, State], str]],
    label_width: int,
) -> Iterator[str]:
    """The lines of a section: its title, the headings, and a line for each row, whose text stands beside its signs.

    ``rows`` has the states of a row by column, and its text. Headings that do not fit the terminal become numbers,
    which a line explains.
    """
    if title:
        yield title
    headings = list(columns)
    if sum(len(heading) + 2 for heading in headings) + label_width + 2 > width():
        headings = [str(place) for place in range(1, len(columns) + 1)]
    yield f"  {'':{label_width}}  {'  '.join(headings)}"
    for label, (states, text) in rows.items():
        signs = (
            _placed(states[column].sign if column in states else " ", len(heading))
            for column, heading in zip(columns, headings, strict=True)
        )
        yield f"  {label:{label_width}}  {'  '.join(signs)}  {text}"
    if headings != list(columns):
        named = (f"{n} {column}".replace(" ", KEPT) for n, column in zip(headings, columns, strict=True))
        yield from (line.replace(KEPT, " ") for line in wrapped("  columns: ", ", ".join(named)))


def _placed(sign: str, size: int) -> str:
    """The sign under the middle of a heading of so many letters; its colour takes no place."""
    left = (size - 1) // 2
    return " " * left + sign + " " * (size - 1 - left)
