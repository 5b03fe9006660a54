"""The two kinds of progress that tqdm draws here; ``progress.bar`` chooses between them."""

import time
import weakref
from contextlib import suppress
from threading import Event, Thread
from typing import Any

from tqdm import tqdm

DELAY_S = 2.0  # work that ends earlier shows nothing
REDRAW_S = 1.0  # the clock of a bar moves although no unit is finished
LINE_EVERY_S = 60.0  # off a terminal


class _Bar(tqdm):  # type: ignore[misc]
    """A bar that may be thrown away half made."""

    def __del__(self) -> None:
        with suppress(AttributeError):  # an interrupt may have cut __init__ short
            super().__del__()


class TerminalBar(_Bar):
    """A bar that a thread draws again every second, because one unit of work can take minutes."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.closed, self.drawn = Event(), False
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
        if hasattr(self, "closed"):  # not where __init__ raised
            self.closed.set()
        if getattr(self, "drawn", False):  # tqdm wipes only what its own update drew
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


class Lines(_Bar):
    """The same for a file or a pipe: a line a minute, without control characters."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.written_at = time.monotonic()
        super().__init__(*arguments, **named)

    def display(self, msg: str | None = None, pos: int | None = None) -> bool:  # noqa: ARG002  (as tqdm has it)
        """Writes a line if the last one is a minute old."""
        if msg is None and time.monotonic() - self.written_at >= LINE_EVERY_S:
            self.written_at = time.monotonic()
            self.fp.write(f"{self.line()}\n")
            self.fp.flush()
        return True

    def line(self) -> str:
        """The amount that is done, and the time that is left if the total is known."""
        n, total, seconds = self.n, self.total, self.format_dict["elapsed"]
        rate = self.format_dict["rate"] or (n - self.initial) / (seconds or 1)
        done = f"{self.desc}: {self._amounts(n, total)}"
        left = f"{self.format_interval((total - n) / rate)} left" if total is not None and rate else ""
        return ", ".join(filter(None, [done, self.postfix, f"{self.format_interval(seconds)} passed", left]))

    def _amounts(self, n: float, total: float | None) -> str:
        """Such as "image 300 of 1,000", or "500kB of 2.00MB"."""
        suffix, unit = ("B", "") if self.unit == "B" else ("", f"{self.unit} ")
        amounts = [each for each in (n, total) if each is not None]
        return unit + " of ".join(self.format_sizeof(a, suffix) if self.unit_scale else f"{a:,}" for a in amounts)

    def clear(self, nolock: bool = False) -> None:
        """Nothing: a line that is written stays."""

    def close(self) -> None:
        """Ends the lines; nothing is wiped out."""
        if not self.disable:
            self.disable: bool = True
            self._decr_instances(self)
