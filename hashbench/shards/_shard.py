"""The shards that patterns name: each a file of database codes and labels, or one of codes and one of labels."""

from dataclasses import dataclass
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import matching, natural, resolved


@dataclass(frozen=True)
class Place:
    """A file, and the key of the array in it, if it was said."""

    path: Path
    key: str | None = None

    def __str__(self) -> str:
        return str(self.path) if self.key is None else f"{self.path}:{self.key}"


@dataclass(frozen=True)
class Shard:
    """One part of a database: where its codes and its labels are; ``str()`` names it by the file of the codes."""

    codes: Place
    labels: Place

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its file, or the file of the codes and that of the labels."""
        return tuple(dict.fromkeys((self.codes.path, self.labels.path)))

    def __str__(self) -> str:
        return str(self.codes.path)


def shards_of(codes: str, labels: str | None = None, besides: Path | None = None) -> list[Shard]:
    """The shards whose codes the pattern ``codes`` names, ``PATTERN`` or ``PATTERN:KEY``, in the order of their names.

    ``labels`` is the pattern of their labels; without it they are in the files of the codes. The files of the two
    patterns belong together in the order of their names. The file ``besides`` is not a shard, whatever its name.
    """
    of_codes = _places("--shards", codes, besides)
    if labels is None:
        return [Shard(place, Place(place.path)) for place in of_codes]
    of_labels = _places("--shard-labels", labels, besides)
    if len(of_codes) != len(of_labels):
        raise HashbenchError(
            f"--shards {codes}: {len(of_codes)} files, --shard-labels {labels}: {len(of_labels)}: a file of labels for "
            "each file of codes is expected"
        )
    return [Shard(*both) for both in zip(of_codes, of_labels, strict=True)]


def _places(option: str, pattern: str, besides: Path | None) -> list[Place]:
    found, key = _files(pattern, besides), None
    if not found and ":" in pattern:
        before, _, key = pattern.rpartition(":")
        found = _files(before, besides)
    if not found:
        raise HashbenchError(
            f"{option} {pattern}: no such file: a quoted pattern is expected, such as 'pieces/db-*.h5'"
        )
    return [Place(path, key) for path in sorted(found, key=natural)]


def _files(pattern: str, besides: Path | None) -> list[Path]:
    left_out = None if besides is None else resolved(besides)
    return [path for path in matching(str(Path(pattern).expanduser())) if resolved(path) != left_out]
