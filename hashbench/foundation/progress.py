"""Progress on standard error: bars on a terminal, a plain line now and then elsewhere, nothing with ``--quiet``."""

import os
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from operator import length_hint
from threading import Event, Thread
from typing import Any, TypeAlias, TypeVar

from tqdm import tqdm

T = TypeVar("T")
Bar: TypeAlias = "tqdm[None]"

QUIET = "HASHBENCH_QUIET"  # set by --quiet, in the environment so that worker processes see it
DELAY_S = 2.0  # work that ends earlier shows nothing
REDRAW_S = 1.0  # the clock of a bar moves although no unit is finished
LINE_EVERY_S = 60.0  # off a terminal
LINE = "{desc}: {unit} {n_fmt} of {total_fmt}{postfix}, {elapsed} passed, {remaining} left"  # there
LINE_WITHOUT_TOTAL = "{desc}: {unit} {n_fmt}{postfix}, {elapsed} passed"


def bar(
    description: str, unit: str, total: int | None = None, *, shown: bool = True, scaled: bool = False, done: int = 0
) -> Bar:
    """A bar for ``total`` units of work (None: unknown), which its ``update(n)`` moves and its ``with`` block closes.

    On a terminal it appears after two seconds and is wiped out at the end; elsewhere there is a plain line a minute.
    There is nothing if not ``shown`` or with ``--quiet``. ``scaled`` writes 1.2M, ``done`` is what is finished already.
    """
    kind = TerminalBar if sys.stderr.isatty() else Lines
    return kind(
        desc=description,
        unit=unit,
        total=total,
        unit_scale=scaled,
        initial=done,
        leave=False,
        delay=DELAY_S,
        disable=not shown or is_quiet(),
    )


def with_bar(
    items: Iterable[T],
    description: str,
    unit: str,
    total: int | None = None,
    *,
    shown: bool = True,
    size: Callable[[T], int] = lambda _: 1,
) -> Iterator[T]:
    """The items, each of which moves a bar by its ``size``; without ``total`` their number, if they tell it."""
    with bar(description, unit, total or length_hint(items) or None, shown=shown) as done:
        for item in items:
            yield item
            done.update(size(item))


def note(line: str) -> None:
    """Prints a line on standard error, above the bars; nothing with ``--quiet``."""
    if not is_quiet():
        tqdm.write(line, file=sys.stderr)


def is_quiet() -> bool:
    """True where the user wants no bars and no notes (``--quiet``, or HASHBENCH_QUIET in the environment)."""
    return bool(os.environ.get(QUIET))


class TerminalBar(tqdm):  # type: ignore[misc]
    """A bar that a thread draws again every second, because one unit of work can take minutes."""

    def __init__(self, **named: Any) -> None:
        self.closed = Event()
        self.drawn = False
        super().__init__(**named)
        if not self.disable:
            Thread(target=_redraw, args=(weakref.ref(self), self.closed), daemon=True).start()

    def draw(self) -> None:
        """Draws the bar, unless it is closed."""
        with self.get_lock():
            if not self.closed.is_set():
                self.drawn = True
                self.display()

    def close(self) -> None:
        """Wipes the bar out."""
        self.closed.set()
        if self.drawn:  # tqdm wipes only what its own update drew
            self.last_print_t: float = self.start_t + self.delay
        super().close()


def _redraw(bar_of: "weakref.ref[TerminalBar]", closed: Event) -> None:
    wait_s = DELAY_S
    while not closed.wait(wait_s):
        wait_s = REDRAW_S
        if (bar := bar_of()) is None:
            return
        bar.draw()
        del bar  # a bar that nobody closes ends with its last use


class Lines(tqdm):  # type: ignore[misc]
    """The same for a file or a pipe: a line a minute, without control characters."""

    def __init__(self, **named: Any) -> None:
        self.written_at = time.monotonic()
        super().__init__(bar_format=LINE if named["total"] else LINE_WITHOUT_TOTAL, **named)

    def display(self, msg: str | None = None, pos: int | None = None) -> bool:  # noqa: ARG002  (as tqdm has it)
        """Writes a line if the last one is a minute old."""
        if msg is None and time.monotonic() - self.written_at >= LINE_EVERY_S:
            self.written_at = time.monotonic()
            self.fp.write(f"{self}\n")
            self.fp.flush()
        return True

    def clear(self, nolock: bool = False) -> None:
        """Nothing: a line that is written stays."""

    def close(self) -> None:
        """Ends the lines; nothing is wiped out."""
        if not self.disable:
            self.disable: bool = True
            self._decr_instances(self)
