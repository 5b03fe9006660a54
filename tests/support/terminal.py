"""A pseudo-terminal, for what is shown on a terminal only."""

import io
import os
import pty
import re
import termios
import time


class Terminal:
    """A pseudo-terminal: ``side`` is the program's stderr, ``shown`` what the terminal was sent since the last call."""

    def __init__(self) -> None:
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 80))
        self.side = os.fdopen(slave, "w")
        os.set_blocking(self.master, False)

    def shown(self) -> str:
        self.side.flush()
        with io.FileIO(os.dup(self.master)) as terminal:
            return (terminal.read(100_000) or b"").decode()

    def until(self, pattern: str) -> str:
        """The text that is shown once ``pattern`` is found in it; an empty string if it never is.

        The kernel may hand on what was written in parts, a moment later.
        """
        shown = ""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            shown += self.shown()
            if re.search(pattern, shown):
                return shown
            time.sleep(0.01)
        return ""

    def close(self) -> None:
        self.side.close()
        os.close(self.master)
