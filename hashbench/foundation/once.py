"""Keeps what this process opened last, as long as the file is the same: many runs read and check their data once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

_OPENED: dict[str, tuple[object, Any]] = {}


def once(kind: str, path: Path, wanted: object, opened: Callable[[], Any]) -> Any:
    """The result of ``opened``, which reads the file, or that of the last call of this ``kind`` if both are alike.

    They are alike if ``wanted`` is equal and the file has the same path, number, size and time of change. Of a file
    that is not there nothing is kept.
    """
    state = _state(path)
    kept = _OPENED.get(kind)  # looked up once: another thread may replace it at any moment
    if state is not None and kept is not None and kept[0] == (state, wanted):
        return kept[1]
    del kept
    _OPENED.pop(kind, None)  # its memory is free before the next is read
    result = opened()
    if state is not None:
        _OPENED[kind] = (state, wanted), result
    return result


def _state(path: Path) -> tuple[str, int, int, int] | None:
    try:
        file = path.stat()
    except OSError:
        return None
    return str(path), file.st_ino, file.st_size, file.st_mtime_ns
