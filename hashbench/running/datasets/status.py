"""The status of data sets on this machine, and how to get those that are missing."""

from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Literal

from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.store import labels_path_of, path_of, path_with_labels
from hashbench.running.datasets.stored_file import check_labels, opened, read_items, require_checksum

FOLDER = "FOLDER"  # a placeholder: the user puts the name of a folder there
State = Literal["embedded", "stored", "labels only", "missing", "damaged"]


@dataclass(frozen=True)
class DatasetStatus:
    """The status of a data set on this machine, and ``steps`` to get it; ``kept_bytes`` of sources may be deleted."""

    name: str
    state: State
    n_items: int = 0
    size_bytes: int = 0
    kept_bytes: int = 0
    pinned: bool = False
    fault: str | None = None
    steps: list[str] = field(default_factory=list)

    def line(self) -> str:
        """The status as one line of text."""
        steps = "; ".join(self.steps)
        checksum = "the card states no checksum"
        if self.pinned:
            checksum = "the checksum that the card states"
        lines: dict[State, str] = {
            "embedded": f"{self.n_items:,} items, ships with an installed package",
            "stored": f"{self.n_items:,} items, {readable(self.size_bytes)}, {checksum}",
            "labels only": f"labels of {self.n_items:,} items; the items: {steps}",
            "missing": f"missing: {steps}",
            "damaged": str(self.fault),
        }
        return lines[self.state]


def dataset_status(card: Card) -> DatasetStatus:
    """The status of the data set; the bytes are not read: ``store.verify`` reads them."""
    kept = sum(path.stat().st_size for path in files_in(paths.data() / card.name / "sources"))
    status = DatasetStatus(card.name, "embedded", card.n_items, kept_bytes=kept)
    if card.embedded:
        return status
    path = path_with_labels(card)
    steps = download_steps(card)
    if not path.is_file():
        return replace(status, state="missing", steps=steps)
    status = replace(status, size_bytes=path.stat().st_size)
    try:
        with opened(path, card.how_to_get) as file:
            check_labels(card, file)
            sha256 = str(file.attrs["content_sha256"])
            if path == path_of(card):
                read_items(card, file, path, 0)
                require_checksum("the content has", sha256, card.content_sha256)
    except HashbenchError as error:
        return replace(status, state="damaged", fault=str(error), steps=steps)
    if path == labels_path_of(card):
        return replace(status, state="labels only", steps=steps)
    return replace(status, state="stored", pinned=sha256 == card.content_sha256)


def download_steps(card: Card) -> list[str]:
    """The steps to get the data set: one command if every source can be downloaded by a program."""
    if card.custom:
        return [card.how_to_get]
    by_hand: list[str] = []
    for source in card.sources:
        if source.images or not source.urls:
            by_hand += source.manual or [f"fetch {source.urls[0]} and unpack it into {FOLDER}"]
    if not by_hand:
        manual = list(chain.from_iterable(source.manual for source in card.sources))
        if manual:
            manual[0] = f"or {manual[0].removeprefix('or ')}"
        return [f"hashbench download {card.name}", *manual]
    steps = ["by hand", *by_hand, f"then hashbench download {card.name} --from-dir {FOLDER}"]
    if len(card.read_sources) < len(card.sources) and all(source.urls for source in card.read_sources):
        steps.append(f"or the labels alone: hashbench download {card.name} --labels-only")
    return steps


def readable(size_bytes: float) -> str:
    """A size with a unit, for people to read.

    >>> readable(184_320_000), readable(12)
    ('184.3 MB', '12 B')
    """
    if size_bytes < 1000:
        return f"{size_bytes:.0f} B"
    for unit in ("kB", "MB", "GB"):
        size_bytes /= 1000
        if size_bytes < 1000:
            return f"{size_bytes:.1f} {unit}"
    return f"{size_bytes / 1000:.1f} TB"


def files_in(folder: Path) -> list[Path]:
    """The files in a folder and in its subfolders, sorted; none if there is no such folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
