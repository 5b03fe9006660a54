"""Interrupts (Ctrl-C and SIGTERM): whenever one comes, the process ends with status 130 and one line on stderr.

Inside a command an interrupt is a KeyboardInterrupt, so that files and processes are cleaned up. Before and after it,
there is nothing to clean up, and the process ends at once. This module imports little, because it is imported first.
"""

import atexit
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, SimpleNamespace
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

STATUS = 130
NOTHING_WRITTEN = "interrupted: nothing was written"
CONTINUES = "interrupted: the same command continues from here"
SIGNALS = (signal.SIGINT, signal.SIGTERM)
AGAIN_S = 3.0  # until a lost interrupt is repeated, or an import is interrupted all the same
SOON_S = 0.05

# when the first interrupt of the command came; the line that an interrupt prints, and whether it was printed
_state = SimpleNamespace(first_s=None, line=NOTHING_WRITTEN, is_printed=False)


def end_at_once() -> None:
    """From here to the end of the process an interrupt ends it at once, except within ``raise_interrupts``."""
    atexit.register(_ignore)  # the exit function that is registered first is called last
    for number in _not_ignored():
        signal.signal(number, lambda _signum, _frame: end())


@contextmanager
def raise_interrupts() -> Iterator[None]:
    """An interrupt in the block raises KeyboardInterrupt; if that is lost, it is raised again after ``AGAIN_S``."""
    _state.first_s = None
    _state.line = NOTHING_WRITTEN
    _state.is_printed = False
    before = {number: signal.signal(number, _raise) for number in (*_not_ignored(), signal.SIGALRM)}
    unraisable = sys.unraisablehook
    sys.unraisablehook = _unraisable
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)  # a lost interrupt must not be repeated once the command is done
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = unraisable


def say_that_it_continues() -> None:
    """From here to the end of the command the line of an interrupt says that the same command continues.

    A command calls it that keeps what is done piece by piece. All others write their outputs when they end, whole.
    """
    _state.line = CONTINUES


def do_not_repeat() -> None:
    """Lets a command that has got its interrupt put away what is done; the user's next interrupt cuts that short."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def was_interrupted() -> bool:
    """Whether there was an interrupt in this command: then any error may be what a library made of it."""
    return _state.first_s is not None


def print_line() -> None:
    """Prints the line, if it was not printed before; another interrupt meanwhile waits until it is there."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*SIGNALS, signal.SIGALRM})
    if not _state.is_printed:
        with suppress(OSError):
            sys.stderr.write(_line())
            sys.stderr.flush()
        _state.is_printed = True
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end() -> NoReturn:
    """Prints the line, once, and ends the process without Python's exit functions."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {*SIGNALS, signal.SIGALRM})
    if not _state.is_printed:
        with suppress(OSError):
            os.write(2, _line().encode())  # sys.stderr may be at work in the code that was interrupted
    os._exit(STATUS)


def _line() -> str:
    start = "\n" if os.isatty(2) else ""  # a terminal has shown ^C
    return f"{start}{_state.line}\n"


def _not_ignored() -> list[signal.Signals]:  # nohup and a shell's & ignore some for the whole process
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


def _ignore() -> None:
    """Keeps Python's last steps, which restore the signals' defaults, from replacing the exit status."""
    # a KeyboardInterrupt that went through exec(), as of dataclasses, is kept until the next one, and at last kills
    exec("")  # noqa: S102
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _raise(_signum: int, frame: FrameType | None) -> None:
    if _state.is_printed:  # another interrupt kept ``raise_interrupts`` from its end
        end()
    now = time.monotonic()
    if _state.first_s is None:
        _state.first_s = now
    # an import is not cut short, for ``AGAIN_S`` at most: a half imported module makes errors later
    if _is_importing(frame) and now - _state.first_s < AGAIN_S:
        signal.setitimer(signal.ITIMER_REAL, SOON_S)
        return
    signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    """Whether ``frame`` or one of its callers imports a module."""
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


def _unraisable(error: "UnraisableHookArgs") -> None:
    """Repeats an interrupt that a finaliser or a callback has lost soon; shows other errors there as always."""
    if isinstance(error.exc_value, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, SOON_S)
    else:
        sys.__unraisablehook__(error)
