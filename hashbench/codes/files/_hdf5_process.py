"""The process that reads HDF5 files for ``_hdf5``; it imports nothing of hashbench, so that it starts fast.

A request is a line of JSON on standard input: a word and its arguments. An answer on standard output is the length of
a JSON object in eight bytes, the object, and the values of an array where it has ``values``, their type and shape. The
arguments of the process are the seconds of the processor that a request may take and the bytes that the process may.
"""

import fcntl
import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from select import select
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

Answer = tuple[dict[str, Any], NDArray[Any] | None]
FileState = tuple[str, int, int, int]

MOST_NAMES = 100_000
LONGEST_TEXT = 1000
MOST_OPEN = 8  # files
IDLE_SECONDS = 1  # after which open files are closed


class Reader:
    """Answers requests; files whose values were read stay open, since the next request is for more of them."""

    def __init__(self) -> None:
        self.open_files: dict[FileState, h5py.File] = {}
        self.states: dict[str, FileState] = {}  # of each file when its names were read

    def names(self, path: str) -> Answer:
        """The names on the first level of the file."""
        _refuse_if_written(path)
        for state in [state for state in self.open_files if state[0] == path]:
            self.open_files.pop(state).close()  # a file that was written anew may have the same size and time
        self.states[path] = _state(path)
        with _opened(path) as file:
            if len(file) > MOST_NAMES:
                raise ValueError(f"{len(file)} arrays: at most {MOST_NAMES} are read")
            return {"names": list(file)}, None

    def attributes(self, path: str) -> Answer:
        """The attributes of the file itself that are texts."""
        self._require_same(path)
        with _opened(path) as file:
            if len(file.attrs) > MOST_NAMES:
                raise ValueError(f"{len(file.attrs)} attributes: at most {MOST_NAMES} are read")
            values = dict(file.attrs)
        texts = {}
        for name, value in values.items():
            text = value.decode() if isinstance(value, bytes) else value
            if isinstance(text, str):
                texts[name] = text[:LONGEST_TEXT]
        return {"attributes": texts}, None

    def head(self, path: str, name: str) -> Answer:
        """Describes a data set without its values; of anything else only ``kind`` is said: link or other."""
        self._require_same(path)
        with _opened(path) as file:
            if not isinstance(file.get(name, getlink=True), h5py.HardLink):
                return {"kind": "link"}, None
            dataset = file[name]
            if not isinstance(dataset, h5py.Dataset) or dataset.shape is None:
                return {"kind": "other"}, None
            matlab = dataset.attrs.get("MATLAB_class")
            if isinstance(matlab, bytes):
                matlab = matlab.decode("ascii", "replace")
            is_text = dataset.dtype.kind == "O" and h5py.check_string_dtype(dataset.dtype) is not None
            head = {
                "kind": "text" if is_text else "array",
                "shape": dataset.shape,
                "dtype": dataset.dtype.str,
                "chunk": dataset.chunks or [],
                "stored_bytes": dataset.id.get_storage_size(),
                "is_elsewhere": bool(dataset.is_virtual or dataset.external),
                "is_empty": bool(dataset.attrs.get("MATLAB_empty")),
                "matlab": None if matlab is None else str(matlab),
            }
            return head, None

    def rows(self, path: str, name: str, axis: int, start: int, stop: int) -> Answer:
        """The values from ``start`` to ``stop`` along an axis."""
        dataset = self._dataset(path, name)
        part = slice(start, stop)
        if axis:
            return {}, np.ascontiguousarray(dataset[:, part])
        return {}, np.ascontiguousarray(dataset[part])

    def scalar(self, path: str, name: str) -> Answer:
        """The one value of a data set without axes, as an array [1]."""
        return {}, np.asarray(self._dataset(path, name)[()]).reshape(1)

    def texts(self, path: str, name: str, start: int, stop: int) -> Answer:
        """The texts of some rows; raises ValueError for one that is too long for a name."""
        part = self._dataset(path, name).asstr("utf-8")[start:stop]
        longest = max(map(len, part.ravel()), default=0)
        if longest > LONGEST_TEXT:
            raise ValueError(f"a text of {longest} characters: names have at most {LONGEST_TEXT}")
        return {}, part.astype(np.str_)

    def _dataset(self, path: str, name: str) -> h5py.Dataset:
        state = self._require_same(path)
        if state not in self.open_files:
            if len(self.open_files) == MOST_OPEN:
                self.close()
            self.open_files[state] = _opened(path)
        return self.open_files[state][name]

    def _require_same(self, path: str) -> FileState:
        """The state of the file; raises ValueError unless its names were read of this one: no two files are mixed."""
        state = _state(path)
        if state != self.states.setdefault(path, state):
            raise ValueError("it was written anew while it was read: read it again")
        return state

    def close(self) -> None:
        """Closes all files."""
        while self.open_files:
            self.open_files.popitem()[1].close()


def _state(path: str) -> FileState:
    status = Path(path).stat()
    return path, status.st_ino, status.st_size, status.st_mtime_ns


def _opened(path: str) -> h5py.File:
    return h5py.File(path, "r", locking=False)  # while it is open here, others may write the file anew


def _refuse_if_written(path: str) -> None:
    """Raises BlockingIOError while the HDF5 library of another process writes the file."""
    with Path(path).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError("another process writes it") from None
        except OSError:  # a file system without locks
            return


def answer(does: Callable[..., Answer], arguments: list[Any], seconds: float) -> Answer:
    """The answer to a request, or ``fault`` with the cause; the system ends the process after ``seconds``."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return does(*arguments)
    except Exception as error:
        return {"fault": " ".join(str(error).split()) or type(error).__name__}, None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main(seconds: float, most_bytes: int) -> None:
    """Answers requests until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]))
    reader = Reader()
    requests = sys.stdin.buffer
    answers = sys.stdout.buffer
    methods = (reader.names, reader.attributes, reader.head, reader.rows, reader.scalar, reader.texts)
    words = {does.__name__: does for does in methods}
    while True:
        if not select([requests], [], [], IDLE_SECONDS)[0]:  # one request at a time comes: none is in a buffer
            reader.close()
        line = requests.readline()
        if not line:
            break
        word, *arguments = json.loads(line)
        head, values = answer(words[word], arguments, seconds)
        if values is not None:
            head["values"] = [values.dtype.str, values.shape]
        text = json.dumps(head).encode()
        answers.write(struct.pack("<Q", len(text)) + text)
        if values is not None and values.size:
            answers.write(values.reshape(-1).view(np.uint8).data)
        answers.flush()
    os._exit(0)  # nothing is left to do; the interpreter's own end takes longer


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
