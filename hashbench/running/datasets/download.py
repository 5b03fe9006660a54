"""Downloads: get the sources of a data set from the network or a folder, verify them and convert them to one file."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from math import prod
from pathlib import Path
from typing import BinaryIO

from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import locked, remove_parts, require_writable
from hashbench.foundation.progress import bar
from hashbench.running.datasets import store
from hashbench.running.datasets.card import Card, Member, Source
from hashbench.running.datasets.fetch import fetch
from hashbench.running.datasets.members import locate, open_members
from hashbench.running.datasets.readers import READERS, Files


def download(card: Card, from_dir: Path | None = None, *, labels_only: bool = False) -> Path | None:
    """The path of the converted data set; None for an embedded one, which needs no download.

    Sources come from ``from_dir`` (see ``members.locate``) or from the network. Images that
    lists name are searched for in ``from_dir``, or in the folder images/ of the data set; with ``labels_only`` the
    labels are stored without them. Raises HashbenchError if a source is missing, damaged or not what the card says.
    """
    if card.embedded:
        return None
    if (stored := _stored(card, labels_only)) is not None:
        return stored
    if card.custom:
        raise HashbenchError(f"{card.name}: a custom data set, which is not downloaded: run {card.how_to_get}")
    folder = store.path_of(card).parent
    require_writable(folder, instead="--data")
    with _folder_lock(folder):
        if (stored := _stored(card, labels_only)) is not None:  # another process made it while this one waited
            return stored
        for path in (store.path_of(card), store.labels_path_of(card)):  # temporary files of processes that were killed
            remove_parts(path.parent, path.name)
        return _make(card, from_dir, labels_only)


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """In the block no other process downloads into ``folder``; if nothing is in it afterwards, it goes."""
    lock = folder / ".lock"
    busy = f"{folder}: another process is at work in it; waiting for it to end"
    try:
        with locked(lock, wait=True, busy=busy, instead="--data"):
            yield
    finally:
        with suppress(OSError):  # it holds something
            (folder / "sources").rmdir()
        if list(folder.glob("*")) == [lock]:
            lock.unlink()
            with suppress(OSError):  # a process that waited has begun
                folder.rmdir()


def _stored(card: Card, labels_only: bool) -> Path | None:
    """The path of the converted data set; None if it does not exist or is damaged."""
    try:
        if labels_only:
            store.open_labels(card)
        else:
            store.verify(card)
    except HashbenchError:
        return None
    return store.path_with_labels(card)


def _make(card: Card, from_dir: Path | None, labels_only: bool) -> Path:
    sources = card.read_sources
    kept = paths.data() / card.name / "sources"  # no file is downloaded twice
    has_images = len(sources) < len(card.sources)
    images = None
    needed = card.n_items * (card.n_classes + 8) + (16 << 20)
    if not labels_only:
        images = from_dir or paths.data() / card.name / "images"
        needed += card.n_items * prod(card.item_shape) * card.dtype.itemsize
    require_writable(store.path_of(card).parent, needed, instead="--data")
    if from_dir is None:
        places = fetch(sources, kept)
    else:
        places = [_place(source, from_dir, kept, has_images) for source in sources]
    checksums = {source.file: next(iter(source.checksums.values()), None) for source in sources}
    try:
        with closing(_members(card, places)) as members:  # otherwise an invalid file would stay open
            blocks = READERS.get(card.reader).read(card, Files(members, images))
            return store.write(card, blocks, checksums, labels_only=labels_only)
    except HashbenchError:
        if labels_only or not has_images:  # else the images may be the cause
            # a wrong file without a checksum would make every later attempt fail
            for source, place in zip(sources, places, strict=True):
                if source.urls and not source.checksums and place == kept / source.file:
                    place.unlink(missing_ok=True)
        raise


def _place(source: Source, from_dir: Path, kept: Path, has_images: bool) -> Path:
    """The place of a source in ``from_dir``; if that may hold only the images, the file that is downloaded."""
    try:
        return locate(from_dir, source)
    except HashbenchError as error:
        if not source.urls:
            raise HashbenchError(f"{error}; to get it, {'; '.join(source.manual)}") from None
        if not has_images:
            raise
        try:
            return fetch([source], kept)[0]
        except HashbenchError as other:
            raise HashbenchError(f"{error}, and {other}") from None


def _members(card: Card, places: list[Path]) -> Generator[tuple[Member, BinaryIO]]:
    total = sum(len(source.members) for source in card.sources)
    with bar(f"{card.name}: verify and convert", "file", total) as converted:
        for source, place in zip(card.read_sources, places, strict=True):
            for member in open_members(place, source, scratch=store.path_of(card).parent):
                yield member
                converted.update()
