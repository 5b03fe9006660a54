"""The folder of an export, which is written as a whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hashbench.foundation.files import part_prefix, require_new, resolved


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder that takes the place of the new ``folder`` when the block ends; nothing is left of a block that fails.

    HashbenchError where ``folder`` holds files, or cannot be written.
    """
    require_new(folder)
    place = resolved(folder)
    with TemporaryDirectory(dir=place.parent, prefix=part_prefix(place.name), suffix=".part") as scratch:
        part = Path(scratch) / "export"
        part.mkdir()
        yield part
        os.replace(part, place)  # noqa: PTH105  (it takes the place of an empty folder, too)
