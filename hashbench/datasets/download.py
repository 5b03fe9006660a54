"""Downloads: fetch a data set's sources or find them in a folder, verify, convert, put in place whole."""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from hashbench import paths
from hashbench.datasets import store
from hashbench.datasets.card import Card, Member, Source, load_card
from hashbench.datasets.members import locate, open_members
from hashbench.datasets.readers import READERS
from hashbench.datasets.readers._reader import Files
from hashbench.errors import HashbenchError
from hashbench.files import require_writable

TIMEOUT_S = 60  # without a byte


def download(name: str, from_dir: Path | None = None) -> Path | None:
    """Where the data set now lies, converted; None for an embedded one, which needs no download.

    Sources come from ``from_dir`` (:func:`hashbench.datasets.members.locate` says what it may hold) or else
    from the network. What is there already and whole is left alone; what is damaged is made anew.

    Raises:
        HashbenchError: a source is missing, damaged or not what the card says; nothing is put in place then.
    """
    card = load_card(name)
    if card.embedded:
        return None
    if not _is_whole(card):
        _convert(card, _places(card, from_dir))
    return store.path_of(card)


def _is_whole(card: Card) -> bool:
    try:
        store.verify(card.name)
    except HashbenchError:
        return False
    return True


def _places(card: Card, from_dir: Path | None) -> list[Path]:
    require_writable(store.path_of(card).parent, _needed_bytes(card, from_dir), instead="--data")
    if from_dir is not None:
        return [locate(from_dir, source) for source in card.sources]
    return [_fetch(source, paths.data() / card.name / "sources") for source in card.sources]


def _needed_bytes(card: Card, from_dir: Path | None) -> int:
    row_bytes = card.dtype.itemsize
    for length in card.item_shape:
        row_bytes *= length
    fetched = 0 if from_dir is not None else sum(source.size_bytes or 0 for source in card.sources)
    return card.n_items * (row_bytes + 8) + fetched + (16 << 20)


def _fetch(source: Source, folder: Path) -> Path:
    """The source's file in ``folder``, fetched unless it is there; it is kept, for a slow server is slow again."""
    import pooch

    kept = folder / source.file
    known_hash = f"sha256:{source.sha256}" if source.sha256 else f"md5:{source.md5}" if source.md5 else None
    fetcher = pooch.HTTPDownloader(progressbar=True, chunk_size=1 << 16, timeout=TIMEOUT_S)
    pooch.get_logger().setLevel("WARNING")  # the progress bar says enough
    reasons = []
    for url in source.urls:
        try:
            pooch.retrieve(url, known_hash, source.file, folder, downloader=fetcher)
        except (OSError, ValueError) as error:  # requests' errors are OSErrors, a wrong checksum is a ValueError
            reasons.append(f"{url}: not downloaded ({' '.join(str(error).split())})")
        else:
            return kept
    raise HashbenchError(f"{'; '.join(reasons)}: fetch it by other means and name its folder with --from-dir")


def _convert(card: Card, places: list[Path]) -> None:
    checksums = {source.file: next(iter(source.checksums.values()), None) for source in card.sources}
    with closing(_members(card, places)) as members:  # or a refused file would stay open
        store.write(card, READERS.get(card.reader).read(card, Files(members)), checksums)


def _members(card: Card, places: list[Path]) -> Generator[tuple[Member, BinaryIO]]:
    from tqdm import tqdm

    total = sum(len(source.members) for source in card.sources)
    with tqdm(total=total, desc=f"{card.name}: verify and convert", unit="file", leave=False, disable=None) as bar:
        for source, place in zip(card.sources, places, strict=True):
            for member in open_members(place, source):
                yield member
                bar.update()
