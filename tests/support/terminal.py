"""A pseudo-terminal, for what is shown on a terminal only."""

import io
import os
import pty
import termios


class Terminal:
    """A pseudo-terminal: ``side`` is the program's stderr, ``shown`` what the terminal was sent."""

    def __init__(self) -> None:
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 80))
        self.side = os.fdopen(slave, "w")
        os.set_blocking(self.master, False)

    def shown(self) -> str:
        self.side.flush()
        with io.FileIO(os.dup(self.master)) as terminal:
            return (terminal.read(100_000) or b"").decode()

    def close(self) -> None:
        self.side.close()
        os.close(self.master)
