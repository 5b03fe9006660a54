"""The part of a file that has come so far, and the file of which server it is a part of."""

from pathlib import Path

from pydantic import ValidationError

from hashbench.config import Strict
from hashbench.files import write_text


class Origin(Strict):
    """What a server says of a file: its address, the marks of its version, its length in bytes."""

    url: str
    etag: str | None = None
    modified: str | None = None
    total: int | None = None

    def goes_on(self, now: "Origin", *, checked: bool) -> bool:
        """Whether what was begun with this can go on with ``now``.

        The length must agree and, at the same address, the marks. Another mirror has other marks, and some servers
        have none: then only a checksum of the whole file (``checked``) can tell that the halves fit.

        >>> begun = Origin(url="http://a/x", etag="1", total=9)
        >>> begun.goes_on(Origin(url="http://a/x", etag="2", total=9), checked=True)
        False
        >>> begun.goes_on(Origin(url="http://b/x", etag="7", total=9), checked=True)
        True
        """
        if self.total is None or self.total != now.total:
            return False
        if self.url != now.url:
            return checked
        marks = (self.etag, self.modified)
        return marks == (now.etag, now.modified) and (checked or any(marks))


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
