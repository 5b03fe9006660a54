"""Imports that happen late: whole modules, whatever other threads and Ctrl-C do meanwhile."""

import signal
import sys
import threading
from importlib import import_module
from types import FrameType, ModuleType


def imported(name: str) -> ModuleType:
    """The module, whole: another thread that imports it is waited for, and Ctrl-C waits until the import has ended.

    A module of Python's own or of a library that is cut short stays half imported: every later use of it would fail.
    The command line has a handler of Ctrl-C of its own, which waits too.
    """
    whole = sys.modules.get(name)
    if whole is not None and not getattr(
        whole.__spec__, "_initializing", False
    ):  # import_module takes ten times as long
        return whole
    if whole is not None or not _takes_interrupts():
        return import_module(name)
    interrupts: list[int] = []

    def keep(number: int, _frame: FrameType | None) -> None:
        interrupts.append(number)

    signal.signal(signal.SIGINT, keep)
    try:
        module = import_module(name)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if interrupts:
        raise KeyboardInterrupt
    return module


def _takes_interrupts() -> bool:
    """True where Ctrl-C would raise a KeyboardInterrupt in this thread, as Python has it."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
