"""Whether a folder or a file can be written, before hours of work are spent on what goes there."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files._links import followed, is_stream, resolved
from hashbench.foundation.files._parts import part_prefix


def require_output(path: Path, instead: str = "--out") -> None:
    """Raises HashbenchError unless ``path`` can be an output: ``require_writable`` of the folder of a regular file.

    A device, a pipe or a descriptor is not tried, since each byte would be part of the output.
    """
    place = followed(path)
    if place.is_dir():
        raise HashbenchError(f"{path}: a folder; name the file to be written with {instead}")
    if not is_stream(place):
        require_writable(resolved(place).parent, instead=instead)


def require_writable(folder: Path, free_bytes: int = 64 << 20, instead: str = "--results") -> None:
    """Raises HashbenchError unless ``folder`` can be created and written to and has ``free_bytes`` free.

    It is called before training, so that hours of work are not lost. The error advises the option ``instead``, which
    names another folder.
    """
    probe = folder / f"{part_prefix('write-test')}12345678.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"\0" * 4096)
        volume = os.statvfs(folder)
    except OSError as error:
        raise HashbenchError(f"{folder}: cannot be written ({error.strerror}): name another with {instead}") from None
    finally:
        with suppress(OSError):  # an error of the checks above is already on its way to the user
            probe.unlink(missing_ok=True)
    if volume.f_bavail * volume.f_frsize < free_bytes:
        raise HashbenchError(
            f"{folder}: less than {free_bytes >> 20} MiB free: make room or name another with {instead}"
        )


def require_apart(inputs: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Raises HashbenchError if an output file would replace another one or an input file."""
    places = [resolved(path) for path in outputs]
    for path, place in zip(outputs, places, strict=True):
        if places.count(place) > 1 or place in [resolved(given) for given in inputs]:
            raise HashbenchError(f"{path}: named twice, as an input or an output; each output needs a file of its own")
