"""Text that fits the terminal, and the lines on stderr about what a command leaves out."""

import logging
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from typer import echo

from hashbench.foundation import paths
from hashbench.foundation.errors import DAMAGE, CheckFailed, HashbenchError
from hashbench.foundation.progress import note
from hashbench.foundation.registry import Broken
from hashbench.showing.ink import Format, write
from hashbench.showing.sheet import Sheet

if TYPE_CHECKING:
    from hashbench.running.runs.store import Store

COLUMNS = 80  # where the output is a file or a pipe
NARROWEST = 40  # of a terminal: nothing is cut into shorter lines than that


def print_sheet(sheet: Sheet, output: Format, *, as_json: bool = False, level: int = 2) -> None:
    """Prints the sheet in a format, as wide as the terminal; ``as_json`` as JSON."""
    width = COLUMNS
    if sys.stdout.isatty():
        width = max(NARROWEST, shutil.get_terminal_size().columns)
    text = write(sheet, "json" if as_json else output, width=width, level=level)
    if text.strip():
        echo(text, nl=False)


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(0.4), duration(62), duration(7200)
    ('0.4 s', '1.0 minutes', '2.0 hours')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.1f} minutes"
    return f"{seconds / 3600:.1f} hours"


def rows_read() -> "Store":
    """The store whose rows a command reads; a note says its folder where no option, root or clone does."""
    from hashbench.running.runs.store import Store

    store = Store.default()
    if not os.environ.get("HASHBENCH_RESULTS") and store.folder.parent not in (paths.clone(), *paths.roots()):
        _note_folder(str(store.folder))
    return store


@cache
def _note_folder(folder: str) -> None:  # once, for a command may read rows several times
    note(f"note: rows are read from {folder}; --results names another folder")


def print_each_error_once() -> Broken:
    """A function that prints each error once: several tables may need one broken entry."""
    printed: set[str] = set()

    def print_new(error: HashbenchError) -> None:
        if str(error) not in printed:
            printed.add(str(error))
            echo(f"error: {' '.join(str(error).split())}", err=True)

    return print_new


_left_out: set[str] = set()  # the lines of leave_out in this command


def leave_out(error: HashbenchError) -> None:
    """Prints once that something stored cannot be used, such as a damaged row; the command ends with status 1."""
    line = " ".join(str(error).split())
    if line not in _left_out:
        _left_out.add(line)
        echo(f"left out: {line}", err=True)


@contextmanager
def ends_with_what_was_left_out() -> Iterator[None]:
    """After the block, which is a command, raises CheckFailed if something was left out."""
    _left_out.clear()
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: leave_out(HashbenchError(record.getMessage()))  # type: ignore[method-assign]
    DAMAGE.addHandler(handler)
    try:
        yield
    finally:
        DAMAGE.removeHandler(handler)
    if n := len(_left_out):
        raise CheckFailed(f"{n:,} left out: see the line{'s' * (n > 1)} above")
