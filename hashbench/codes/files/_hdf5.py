"""Reads HDF5 files of strangers in a process of its own: the C library can loop or crash on a damaged one.

The library runs in one child, which starts at the first request and ends with this process. A request is one step, a
header or a slab of some MiB, whose values come back through a pipe: memory stays small, and Ctrl-C is obeyed, which a
loop in C does not let through. The system ends a child that takes too long or too much memory for a step; the error is
one line, and the next request starts another child. This is simpler than to prove a file in a child and to read it here
(what was proven need not be what is read), and than a reader of our own, as HDF5 is large. The start takes 0.2 s.
"""

import atexit
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

SCRIPT = Path(__file__).with_name("_hdf5_process.py")
SECONDS = 5.0  # of the processor for one request; of a sound file it takes less than one
MOST_BYTES = 4 << 30  # of addresses, of which memory is a part
MOST_HEAD_BYTES = 64 << 20  # of the names and shapes in an answer
PIPE_BYTES = 1 << 20

Request = Sequence[str | int]
Answer = tuple[dict[str, Any], NDArray[Any]]

_lock = Lock()
_children: list["_Child"] = []  # one, or none


def ask(word: str, path: Path, *arguments: str | int) -> Answer:
    """The answer of the child, as ``_hdf5_process`` says, and its values; raises ValueError with the cause of a fault.

    The words are the methods of its ``Reader``.
    """
    with _lock:
        if not (_children and _children[0].is_usable):
            _children[:] = [_Child()]
        head, values = _children[0].ask([word, str(path.absolute()), *arguments])
    if "fault" in head:
        raise ValueError(head["fault"])
    return head, values


class _Child:
    """The process, for as long as it lives."""

    def __init__(self) -> None:
        self.parent = os.getpid()
        paths = os.pathsep.join(filter(None, sys.path))  # it finds the h5py that this process would find
        self.process = subprocess.Popen(  # noqa: S603  (this very program)
            [sys.executable, "-P", str(SCRIPT), str(SECONDS), str(MOST_BYTES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # its exit status tells a crash
            pipesize=PIPE_BYTES,
            env=os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
        )
        atexit.register(self.end)

    @property
    def is_usable(self) -> bool:
        """True where it lives, and is a child of this process, not of the one that this process was forked from."""
        return self.parent == os.getpid() and self.process.poll() is None

    def ask(self, request: Request) -> Answer:
        """The answer to a request, and its values; raises ValueError where the process ends instead."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            return self._answer()
        except (BrokenPipeError, EOFError):
            status = self.process.wait()
            self.end()
            raise ValueError(_cause(status)) from None
        except BaseException:  # part of an answer may be left in the pipe
            self.end()
            raise

    def _answer(self) -> Answer:
        (n_bytes,) = struct.unpack("<Q", self._filled(np.empty(8, np.uint8)))
        if n_bytes > MOST_HEAD_BYTES:
            raise ValueError(f"{n_bytes} bytes of names and shapes: at most {MOST_HEAD_BYTES} are read")
        head = json.loads(bytes(self._filled(np.empty(n_bytes, np.uint8))))
        dtype, shape = head.get("values", ("u1", [0]))
        values = np.empty(shape, dtype)
        self._filled(values.reshape(-1).view(np.uint8))
        return head, values

    def _filled(self, content: NDArray[np.uint8]) -> memoryview:
        """The bytes of ``content``, which are read from the pipe; raises EOFError where it ends before."""
        output = cast(BufferedReader, self.process.stdout)
        if content.size and output.readinto(content.data) != content.size:
            raise EOFError
        return content.data

    def end(self) -> None:
        """Ends the process, whatever it does."""
        atexit.unregister(self.end)
        if self.parent == os.getpid():
            self.process.kill()
            with suppress(BrokenPipeError):  # a request that nobody reads
                self.process.communicate()


def _cause(status: int) -> str:
    """Says in words why a child ended without an answer, by its exit status."""
    if status == -signal.SIGPROF:
        return f"the HDF5 library did not come to an end within {SECONDS:g} s: the file is damaged"
    cause = f"exit status {status}"
    if status < 0:
        cause = signal.Signals(-status).name
    return f"the HDF5 library crashed ({cause}): the file is damaged"
