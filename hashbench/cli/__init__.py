"""The command line: each command has one file, ``_app`` registers them all, and ``_entry`` begins the process."""

import os
import signal
import sys
from pathlib import Path

# of the program alone, not of its workers or of who imports it: until ``_entry``, an interrupt is no traceback
_program = Path(str(getattr(sys.modules["__main__"], "__file__", "")))
if "hashbench" in _program.parts[-2:] and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, lambda _signum, _frame: os._exit(130))
