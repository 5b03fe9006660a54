"""The stamp of a picture: what it was drawn from, as a digest inside its file, so that the same is not drawn again."""

import hashlib
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

KEY = "hashbench"
HEAD = 4096  # the bytes of a file in which its stamp is
END = b"IEND\xaeB`\x82"  # the last bytes of every whole PNG


def stamp(texts: Iterable[str], sources: Iterable[Path]) -> str:
    """The digest of what a picture shows, of the files of Python that draw it, and of the version of matplotlib."""
    found = hashlib.sha256(version("matplotlib").encode())
    for part in (*(text.encode() for text in texts), *(path.read_bytes() for path in sources)):
        found.update(hashlib.sha256(part).digest())
    return found.hexdigest()


def is_stamped(path: Path, expected: str) -> bool:
    """Whether the PNG at ``path`` is whole and has this stamp; False where there is none."""
    try:
        picture = path.read_bytes()
    except OSError:
        return False
    return f"{KEY}\0{expected}".encode() in picture[:HEAD] and picture.endswith(END)
