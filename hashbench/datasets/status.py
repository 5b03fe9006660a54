"""The status of data sets on this machine, and how to get those that are missing."""

from dataclasses import dataclass, field
from pathlib import Path

from hashbench.datasets.card import Card, load_card
from hashbench.datasets.store import file_status
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError

FOLDER = "FOLDER"  # a placeholder: the user puts the name of a folder there


@dataclass(frozen=True)
class DatasetStatus:
    """The status of a data set on this machine; ``steps`` are the commands and manual steps to get what is missing.

    ``size_bytes`` is the size of the converted file, ``kept_bytes`` of the downloaded sources, which may be deleted.
    """

    name: str
    state: str
    n_items: int
    size_bytes: int
    kept_bytes: int
    pinned: bool
    fault: str | None = None
    steps: list[str] = field(default_factory=list)

    def line(self) -> str:
        """The status as one line of text."""
        checksum = "the checksum that the card states" if self.pinned else "the card states no checksum"
        return {
            "embedded": f"{self.n_items:,} items, ships with an installed package",
            "stored": f"{self.n_items:,} items, {readable(self.size_bytes)}, {checksum}",
            "labels only": f"labels of {self.n_items:,} items; the items: {'; '.join(self.steps)}",
            "missing": f"missing: {'; '.join(self.steps)}",
            "damaged": str(self.fault),
        }[self.state]


def dataset_status(name: str) -> DatasetStatus:
    """The status of the data set named ``name``; reads only the headers of its files."""
    try:
        card = load_card(name)
        found = file_status(card)
    except HashbenchError as error:  # one invalid card must not hide the other data sets
        return DatasetStatus(name, "damaged", 0, 0, 0, pinned=False, fault=str(error))
    steps = [] if found.state in ("embedded", "stored") else download_steps(card)
    kept = sum(path.stat().st_size for path in files_in(paths.data() / card.name / "sources"))
    return DatasetStatus(card.name, found.state, card.n_items, found.size_bytes, kept, found.pinned, found.fault, steps)


def download_steps(card: Card) -> list[str]:
    """The steps to get the data set: one command if every source can be downloaded by a program."""
    if card.own:
        return [card.how_to_get]
    by_hand: list[str] = []
    for source in card.sources:
        if source.images or not source.urls:
            by_hand += source.manual or [f"fetch {source.urls[0]} and unpack it into {FOLDER}"]
    if not by_hand:
        otherwise = [step for source in card.sources for step in source.manual]
        first = [f"or {step.removeprefix('or ')}" for step in otherwise[:1]]
        return [f"hashbench download {card.name}", *first, *otherwise[1:]]
    steps = ["by hand", *by_hand, f"then hashbench download {card.name} --from-dir {FOLDER}"]
    has_lists = any(source.images for source in card.sources) and all(s.urls for s in card.sources if not s.images)
    return [*steps, f"or the labels alone: hashbench download {card.name} --labels-only"] if has_lists else steps


def readable(size_bytes: float) -> str:
    """A size with a unit, for people to read.

    >>> readable(184_320_000), readable(12)
    ('184.3 MB', '12 B')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} B" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.1f} TB"


def files_in(folder: Path) -> list[Path]:
    """The files in a folder and in its subfolders, sorted; none if there is no such folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
