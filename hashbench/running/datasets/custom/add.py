"""Stores the user's data as a data set: the items and labels in the data folder, and a card of their own."""

import math
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from hashbench.foundation import paths
from hashbench.foundation.config import parse, toml_value
from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.foundation.files import atomic, locked, remove_parts, require_writable
from hashbench.foundation.progress import with_bar
from hashbench.foundation.registry import canonical
from hashbench.running.datasets import neighbours, store
from hashbench.running.datasets.card import Card, card_files
from hashbench.running.datasets.custom import files, folder, vectors
from hashbench.running.datasets.custom.data import WHITE, CustomData, FileOptions, Rule
from hashbench.running.datasets.neighbours import StoredNeighbours, StoredRows
from hashbench.running.datasets.protocol import Neighbours
from hashbench.running.datasets.readers import Block, Items
from hashbench.running.datasets.split import Split, split
from hashbench.scoring.relevance.labels import Labels

PROTOCOL = "own"  # its name
KINDS = {  # of data: in words, and the options that are not for them
    "folder": ("a folder of images", "items labels metric neighbours"),
    "arrays": ("a file of arrays", "size"),
}
TAKEN = {"cards", "weights"}  # folders of the data folder
TEXTS = (".csv", ".tsv", ".jsonl", ".txt")
MADE_LATER = ("features", "splits", neighbours.FOLDER)  # folders of a data set that other commands write


def require_name(name: str, *, replace: bool) -> str:
    """The name as it is spelled in files; raises HashbenchError unless new data can have it, or replace the user's."""
    stem = canonical(name)
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", stem) or stem in TAKEN:
        expected = f"letters, digits, - and _, a letter first, 64 at most (not {' or '.join(sorted(TAKEN))})"
        raise HashbenchError(f"{printable(name)}: not the name of a data set: {expected}")
    card = card_files().get(stem)
    if card is not None and card != _card_path(stem):
        raise HashbenchError(f"{stem}: {card} is a data set of this name: choose another name")
    if card is not None and not replace:
        raise HashbenchError(f"{stem} is there already: --replace replaces it")
    place = paths.data() / stem
    if card is None and place.exists() and not _is_left_over(place):
        raise HashbenchError(f"{place}: it exists and is no data set of yours: choose another name, or --data DIR")
    return stem


def _is_left_over(place: Path) -> bool:
    """True where an interrupted command may have left the folder: it holds no more than the file of the data set."""
    its_file = re.compile(rf"{place.name}\.h5$|\.{place.name}\.h5\.")
    return place.is_dir() and all(its_file.match(path.name) for path in place.iterdir())


def open_data(paths: Sequence[Path], options: FileOptions) -> CustomData:
    """The data at one path, or the database and the queries at two; raises HashbenchError if they are of no known kind.

    So does an option that is not for them.
    """
    for path in paths:
        if not path.exists():
            raise HashbenchError(f"{path}: no such file or folder")
        if path.suffix.lower() in TEXTS:
            advice = "numpy.savez('mine.npz', items=items, labels=labels) makes one; docs/embeddings.md embeds texts"
            raise HashbenchError(f"{path}: text: a file of arrays is expected: {advice}")
    kinds = ["folder" if path.is_dir() else "arrays" for path in paths]
    if len(set(kinds)) > 1:
        raise HashbenchError(f"{paths[1]}: the queries are of another kind than {paths[0]}: two folders, or two files")
    what, useless = KINDS[kinds[0]]
    for name, value in asdict(options).items():
        if name in useless.split() and value is not None:
            raise HashbenchError(f"--{name} cannot be combined with {what}")
    if kinds[0] == "folder":
        return folder.read(paths, options.size)
    return _of_arrays(paths, options)


def _of_arrays(paths: Sequence[Path], options: FileOptions) -> CustomData:
    """The items and labels in files of arrays, or the vectors where there are no labels or the nearest are relevant."""
    by_distance = options.metric is not None or options.neighbours is not None
    if by_distance and options.labels is not None:
        raise HashbenchError("--labels: with --metric or --neighbours the nearest items are relevant: not both")
    if by_distance or not any(files.has_labels(path, options.labels) for path in paths):
        return vectors.read(paths, options)
    return files.read(paths, options.items, options.labels)


def add(name: str, data: CustomData, rule: Rule, options: FileOptions, *, replace: bool = False) -> Card:
    """The card of the stored data set; after an error nothing of it is stored, and an old one is unchanged."""
    with locked(paths.custom_cards() / ".lock", wait=True, busy="another process adds a data set", instead="--data"):
        stem = require_name(name, replace=replace)
        values = _values(stem, data, rule, options)
        card = parse(Card, {**values, "name": stem}, stem)
        place = store.path_of(card).parent
        remove_parts(place, f"{stem}.h5")
        remove_parts(paths.custom_cards(), f"{stem}.toml")
        require_writable(place, data.size_bytes + (16 << 20), instead="--data")
        try:
            with atomic(_card_path(stem)) as temporary:
                # a full disk is met before old data are replaced; the checksum has the length that it will have
                temporary.write_text(card_text(values | {"content_sha256": "0" * 64}), encoding="utf-8")
                nearest: StoredNeighbours | None = None

                def find_neighbours(items: Items) -> None:
                    nonlocal nearest
                    nearest = _neighbours(card, data, items)

                store.write(card, _blocks(data, f"{stem}: convert"), {}, check=find_neighbours)
                values["content_sha256"] = store.stated_sha256(card)
                temporary.write_text(card_text(values), encoding="utf-8")
        except BaseException:
            if not _card_path(stem).exists():
                (place / f"{stem}.h5").unlink(missing_ok=True)
                with suppress(OSError):  # it holds something else
                    place.rmdir()
            raise
        paths.read_again()
        for part in MADE_LATER:
            shutil.rmtree(place / part, ignore_errors=True)
        card = parse(Card, {**values, "name": stem}, stem)
        if nearest is not None:
            stored = store.open_dataset(card)
            neighbours.write(neighbours.path_of(stored, _split(card, stored.labels), _rule(card)), nearest)
        return card


def nearest_of(card: Card) -> StoredNeighbours:
    """The nearest items of the queries of a data set of vectors without labels."""
    data = store.open_dataset(card)
    return neighbours.stored_neighbours(data, _split(card, data.labels), _rule(card), progress=True)


def warnings_of(card: Card) -> list[str]:
    """Warnings about these nearest items, of which as many count as the protocol says."""
    return nearest_of(card).warnings(_rule(card).k)


def _split(card: Card, labels: Labels) -> Split:
    return split(labels, card.protocol(PROTOCOL), card.name, PROTOCOL)


def _rule(card: Card) -> Neighbours:
    rule = card.protocol(PROTOCOL).relevance
    assert isinstance(rule, Neighbours)
    return rule


def _neighbours(card: Card, data: CustomData, items: Items) -> StoredNeighbours | None:
    """The nearest items of the queries, which may come with the vectors; None of data with labels.

    Raises HashbenchError for vectors that cannot be compared, and if those that came are not the nearest.
    """
    if data.metric is None:
        return None
    chosen = _split(card, data.labels.labels)
    rule = _rule(card)
    queries = StoredRows(items, chosen.query_ids)
    database = StoredRows(items, chosen.database_ids)
    if data.neighbours is not None:
        ids = data.neighbours.whole()
        nearest = neighbours.verified_neighbours(data.neighbours.where, ids, queries, database, rule.metric)
        if nearest.ids.shape[1] == neighbours.depth_of(rule, database.shape[0]):
            return nearest
    with retold(lambda fault: f"{data.paths[0]}: {fault}", HashbenchError):
        return neighbours.computed(queries, database, rule, progress=True)


def remove(stem: str) -> None:
    """Removes a data set of the user, with its features and splits; rows remain."""
    _card_path(stem).unlink()
    place = paths.data() / stem
    (place / f"{stem}.h5").unlink(missing_ok=True)
    for part in MADE_LATER:
        shutil.rmtree(place / part, ignore_errors=True)
    with suppress(OSError):  # it holds something else
        place.rmdir()


def _card_path(stem: str) -> Path:
    return paths.custom_cards() / f"{stem}.toml"


def _values(stem: str, data: CustomData, rule: Rule, options: FileOptions) -> dict[str, Any]:
    """The content of the card without the checksum of the content, which is not known yet."""
    labels = data.labels
    values: dict[str, Any] = {
        "title": f"custom data set, from {' and '.join(printable(path.name) for path in data.paths)}",
        "custom": True,
        "made_from": arguments_of(data.paths, rule, options),
        "kind": "features",
        "item_shape": list(data.shape),
    }
    if data.is_images:
        values |= {"kind": "images", "value_max": WHITE}
    values |= {
        "n_items": data.n_items,
        "n_classes": len(labels.counts),
        "labels": labels.kind,
        "class_names": labels.names,
        "class_counts": labels.counts,
    }
    protocol = rule.protocol(data)
    card = parse(Card, {**values, "name": stem, "protocols": {PROTOCOL: protocol}}, stem)
    drawn = split(labels.labels, card.protocol(PROTOCOL), stem, PROTOCOL)
    protocol |= {"n_queries": len(drawn.query_ids), "n_database": len(drawn.database_ids)}
    protocol |= {"n_train": len(drawn.train_ids), "ids_sha256": drawn.sha256}
    return {**values, "protocols": {PROTOCOL: protocol}}


def arguments_of(paths: Sequence[Path], *chosen: Rule | FileOptions) -> str:
    """The arguments of ``hashbench dataset add`` that follow the name, so that it can be repeated from any folder."""
    words = [os.fsencode(path.resolve()).decode("utf-8", "replace") for path in paths]
    for options in chosen:
        for field in fields(options):
            value = getattr(options, field.name)
            option = field.name.replace("_", "-")
            if value == field.default:
                continue
            if option.endswith("-per-class"):
                option = option.removesuffix("-per-class")
                value = f"{value}/class"
            words += [f"--{option}", str(value)]
    return shlex.join(words)


def _blocks(data: CustomData, what: str) -> Iterator[Block]:
    start = 0
    for items in with_bar(data.blocks(), what, "item", data.n_items, size=len):
        part = slice(start, start + len(items))
        start = part.stop
        if not data.is_images:
            data.spread.add(items)
        names = data.names
        if names is not None:
            names = names[part]
        yield Block(items, data.labels.labels[part], names)
    if data.spread.n_constant == math.prod(data.shape):
        raise HashbenchError(f"{data.paths[0]}: all items are the same: features that differ are expected")


def card_text(values: Mapping[str, Any]) -> str:
    """The card as TOML, with a table for each protocol."""
    tables = {"": {key: value for key, value in values.items() if key != "protocols"}}
    tables |= {f"\n[protocols.{name}]\n": protocol for name, protocol in values["protocols"].items()}
    lines = []
    for head, table in tables.items():
        lines.append(head + "\n".join(f"{key} = {toml_value(value)}" for key, value in table.items()))
    text = "\n".join(lines) + "\n"
    assert tomllib.loads(text) == values
    return text
