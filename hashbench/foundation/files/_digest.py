"""The checksum of a file."""

import hashlib
from pathlib import Path


def file_sha256(path: Path) -> str:
    """SHA-256 (hex) of the bytes of a file; raises OSError where it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
