"""Small arrays read as large ones are: slab by slab, and a database in many pieces."""

import pytest

from hashbench.scoring.codes import packed


def small_pieces(monkeypatch: pytest.MonkeyPatch, *, slab_bytes: int, items: int | None = None) -> None:
    """Files are read ``slab_bytes`` at a time, and a database comes in pieces of ``items``."""
    # a private limit: without it only arrays above 4 MiB are read in several slabs
    monkeypatch.setattr("hashbench.scoring.codes.files._stored.SLAB_BYTES", slab_bytes)
    if items is not None:
        monkeypatch.setattr(packed, "BLOCK_WORDS", 1)
        monkeypatch.setattr(packed, "LEAST_BLOCK", items)
