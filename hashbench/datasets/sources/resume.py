"""The part of a file that has come so far, and the file of which server it is a part of."""

from pathlib import Path

from pydantic import ValidationError

from hashbench.datasets.sources.mirror import Origin
from hashbench.files import write_text


class Part:
    """The file ``path`` as far as it has come, as <path>.part; beside it <path>.part.json says what it is a part of."""

    def __init__(self, path: Path):
        self.path = path.with_name(f"{path.name}.part")
        self._origin_path = path.with_name(f"{path.name}.part.json")

    @property
    def size_bytes(self) -> int:
        """How much has come; a part of which nobody knows what it is a part of counts nothing."""
        return self.path.stat().st_size if self.path.is_file() and self.origin is not None else 0

    @property
    def origin(self) -> Origin | None:
        """What it was begun with."""
        try:
            return Origin.model_validate_json(self._origin_path.read_bytes())
        except (OSError, ValidationError):
            return None

    def begin(self, origin: Origin) -> None:
        """Begins anew, empty: the old bytes go before the new origin is written, so that the two never mix."""
        self.discard()
        write_text(self._origin_path, origin.model_dump_json())

    def discard(self) -> None:
        """Forgets what has come."""
        self.path.unlink(missing_ok=True)
        self._origin_path.unlink(missing_ok=True)

    def finish(self, path: Path) -> None:
        """Moves what has come into place: it is whole and right."""
        self.path.replace(path)
        self._origin_path.unlink(missing_ok=True)
