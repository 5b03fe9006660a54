"""The files that a command writes, beside those that it reads."""

from collections.abc import Sequence
from pathlib import Path


def require_apart(inputs: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Raises HashbenchError if an output file would replace another one or an input file."""
    from hashbench.foundation.errors import HashbenchError
    from hashbench.foundation.files import resolved

    places = [resolved(path) for path in outputs]
    for path, place in zip(outputs, places, strict=True):
        if places.count(place) > 1 or place in [resolved(given) for given in inputs]:
            raise HashbenchError(
                f"{path}: named twice, as what is read or written: each output needs a file of its own"
            )
