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
    is_main = threading.current_thread() is threading.main_thread()
    if whole is not None or not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return import_module(name)  # here Ctrl-C raises no KeyboardInterrupt
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
