"""What is in a file of counts, for tests that read it while a command writes it."""

from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.evaluation.shard_total import read_total


def shards_in(path: Path) -> list[str]:
    """The shards in a file of counts, sorted; none while there is no file, or while it is being replaced."""
    try:
        kept = read_total(path)
    except HashbenchError:  # its arrays are read one after another: some of the old file, some of the new one
        return []
    return [] if kept is None else sorted(entry.file for entry in kept.entries)
