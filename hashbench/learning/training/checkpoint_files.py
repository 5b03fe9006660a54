"""The file of a checkpoint, found and looked at without PyTorch."""

import hashlib
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

FILE = "checkpoint.pt"
DIGEST = 32  # the file starts with 32 bytes of SHA-256: torch's archive does not detect a flipped bit in a tensor
EPOCHS = "archive/epochs_done"  # an entry of the archive that torch writes into memory, which it does not read: a text


def is_whole(content: bytes) -> bool:
    """Whether the content of a checkpoint has its checksum."""
    return hashlib.sha256(memoryview(content)[DIGEST:]).digest() == content[:DIGEST]


def last_whole(folder: Path) -> Path | None:
    """The file of the checkpoint if it is whole; else None."""
    path = folder / FILE
    return path if path.exists() and is_whole(path.read_bytes()) else None


def epochs_done(path: Path) -> int:
    """The number of finished epochs of a checkpoint that is whole; KeyError for one of an older hashbench."""
    with ZipFile(BytesIO(path.read_bytes()[DIGEST:])) as archive:
        return int(archive.read(EPOCHS))


def remove(folder: Path) -> None:
    """Removes the checkpoint of a finished run."""
    (folder / FILE).unlink(missing_ok=True)
