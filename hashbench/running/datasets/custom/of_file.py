"""The data set that a file of vectors is: found by the file, or added under the name of the file."""

import shlex
import tomllib
from contextlib import suppress
from pathlib import Path

import numpy as np

from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.files import locked, write_text
from hashbench.foundation.registry import canonical
from hashbench.running.datasets import store
from hashbench.running.datasets.card import Card, card_files, load_card
from hashbench.running.datasets.custom import add
from hashbench.running.datasets.custom.data import CustomData, FileOptions, Rule
from hashbench.running.datasets.custom.files import find
from hashbench.running.datasets.protocol import Neighbours


def card_of_file(path: Path) -> tuple[Card, list[str] | None]:
    """The card of the data set that was made from the file alone; if it is added now, as its stem, what is noted.

    Raises HashbenchError for a file that has labels or no vectors, where the file has changed since it was added, and
    where another data set has the name.
    """
    data = add.open_data([path], FileOptions())
    if data.metric is None:
        name = canonical(path.stem)
        raise HashbenchError(f"{path}: it has labels: hashbench dataset add {name} {path}, then bench {name}")
    if (card := _made_from(path)) is not None:
        if not _is_stored(card, data):
            fault = f"it has changed since it was added as {printable(card.name)}"
            raise HashbenchError(f"{path}: {fault}: {card.how_to_get}")
        return card, None
    stem = canonical(path.stem)
    if stem in card_files():
        other = f"{stem} is a data set already, of another file or made with options"
        advice = f"hashbench dataset add NAME {shlex.quote(str(path))}, then hashbench bench NAME"
        raise HashbenchError(f"{path}: {other}: {advice}")
    add.require_name(stem, replace=False)
    return add.add(stem, data, Rule(), FileOptions()), data.notes


def _made_from(path: Path) -> Card | None:
    """The data set that was added from this file without options; that of its name, if there are several."""
    stem = canonical(path.stem)
    made_from = add.arguments_of([path], Rule(), FileOptions())
    names = sorted(paths.toml_files([paths.custom_cards()]), key=lambda name: name != stem)
    cards = (load_card(name) for name in names)
    return next((card for card in cards if card.made_from == made_from), None)


def _is_stored(card: Card, data: CustomData) -> bool:
    """True where the stored items are those of the file."""
    stored = store.open_dataset(card).items
    if card.labels != "none" or data.n_items != len(stored) or data.shape != stored.shape[1:]:
        return False
    first = 0
    for block in data.blocks():
        if not np.array_equal(block, stored[first : first + len(block)]):
            return False
        first += len(block)
    return True


def file_to_encode(card: Card) -> Path | None:
    """The file that the data set was added from; None where it is not known, or is none of which items are encoded."""
    words = shlex.split(card.made_from)
    if not words:
        return None
    with suppress(HashbenchError):
        items, _ = find(Path(words[0]))
        if items.shape[1:] == tuple(card.item_shape):
            return Path(words[0])
    return None


def with_k(card: Card, name: str, k: int) -> str:
    """The protocol like the one called ``name`` by which ``k`` items are relevant; it is added to a card of the user.

    Raises HashbenchError for more items than the database has, and for another ``k`` of a card that is not the user's.
    """
    protocol = card.protocol(name)
    rule = protocol.relevance
    assert isinstance(rule, Neighbours)
    if rule.k == k:
        return name
    if protocol.n_database is not None and k > protocol.n_database:
        raise HashbenchError(f"--k {k:,}: the database of {card.name} has {protocol.n_database:,} items")
    other = f"{name}_k{k}"
    if other in card.protocols:
        return other
    if not card.custom:
        raise HashbenchError(f"--k {k}: the protocol {name} of {card.name} has k = {rule.k}, and takes no other")
    path = paths.custom_cards() / f"{card.name}.toml"
    with locked(paths.custom_cards() / ".lock", wait=True, busy="another process adds a data set", instead="--data"):
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        like = values["protocols"][name]
        title = like["title"].replace(f"relevant are the {rule.k} nearest", f"relevant are the {k} nearest")
        relevance = {**like["relevance"], "k": k}
        values["protocols"][other] = {**like, "of": name, "title": title, "relevance": relevance}
        write_text(path, add.card_text(values))
    paths.read_again()
    return other
