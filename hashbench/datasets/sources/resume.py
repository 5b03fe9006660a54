"""Partial downloads: the bytes of a file so far, and a record of the server that sent them."""

from pathlib import Path

from pydantic import ValidationError

from hashbench.datasets.sources.mirror import Origin
from hashbench.foundation.files import write_text


class PartialFile:
    """The bytes of ``path`` downloaded so far, in <path>.part; <path>.part.json holds their :class:`Origin`."""

    def __init__(self, path: Path):
        self.path = path.with_name(f"{path.name}.part")
        self._origin_path = path.with_name(f"{path.name}.part.json")

    @property
    def size_bytes(self) -> int:
        """The number of bytes so far; 0 if their origin is unknown."""
        return self.path.stat().st_size if self.path.is_file() and self.origin is not None else 0

    @property
    def origin(self) -> Origin | None:
        """The origin of the bytes; None if it is unknown."""
        try:
            return Origin.model_validate_json(self._origin_path.read_bytes())
        except (OSError, ValidationError):
            return None

    def begin(self, origin: Origin) -> None:
        """Starts again with no bytes; the old ones are deleted before the new origin is written."""
        self.discard()
        write_text(self._origin_path, origin.model_dump_json())

    def discard(self) -> None:
        """Deletes the bytes and their origin."""
        self.path.unlink(missing_ok=True)
        self._origin_path.unlink(missing_ok=True)

    def finish(self, path: Path) -> None:
        """Moves the complete and verified file to ``path``."""
        self.path.replace(path)
        self._origin_path.unlink(missing_ok=True)
