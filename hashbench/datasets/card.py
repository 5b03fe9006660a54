"""Cards: what a data set is, where it comes from, how its bytes are known to be right, how it is split."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, StringConstraints, model_validator

from hashbench import paths
from hashbench.config import Strict, parse, read_toml
from hashbench.errors import HashbenchError, unknown
from hashbench.registry import canonical

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


class Verified(Strict):
    """What is known of a file's bytes; a file without a checksum says why in its note."""

    size_bytes: Count | None = None
    sha256: Sha256 | None = None
    md5: Md5 | None = None
    note: str = ""

    @model_validator(mode="after")
    def _checksum_or_reason(self) -> "Verified":
        if self.sha256 is None and self.md5 is None and not self.note:
            raise ValueError("a file needs sha256 or md5, or a note that says why it has none")
        return self


class Member(Verified):
    """A file inside a source; ``path`` is its name there, with forward slashes."""

    path: str


class Source(Verified):
    """A file to be fetched: where from (in order of preference), its name, and the members that a reader needs."""

    urls: list[str] = Field(min_length=1)
    file: Annotated[str, StringConstraints(pattern=r"^[\w.+-]+$")]
    members: list[Member] = Field(min_length=1)


class Probe(Strict):
    """One item whose bytes are known: SHA-256 of its row, as stored (C order, little-endian)."""

    id: Count
    label: int
    sha256: Sha256


class Protocol(Strict):
    """How a data set is split: so many queries and training items a class.

    ``train_per_class`` 0 trains on the whole database. ``database = "rest"`` is everything that is not a
    query, the training items included. The expected sizes and the checksum of the ids (for ``seed``) are
    what ``hashbench split --check`` compares with.
    """

    title: str
    queries_per_class: Positive
    train_per_class: Count
    database: Literal["rest"] = "rest"
    seed: Count = 0
    citation: str
    note: str = ""
    n_queries: Count | None = None
    n_database: Count | None = None
    n_train: Count | None = None
    ids_sha256: Sha256 | None = None


class Card(Strict):
    """A file of datasets/; ``name`` is its stem.

    ``item_shape`` is [height, width, channels] of images (uint8, 0 .. ``value_max``) or [d] of features
    (float32). An ``embedded`` set comes with an installed package and has no sources.
    """

    name: str
    title: str
    citation: str
    licence: str
    homepage: str
    kind: Literal["images", "features"]
    item_shape: list[Positive] = Field(min_length=1)
    value_max: Positive | None = None
    n_items: Positive
    n_classes: Positive
    class_names: list[str] = []
    class_counts: list[Count] | None = None
    multi_label: bool = False
    embedded: bool = False
    reader: str
    sources: list[Source] = []
    content_sha256: Sha256 | None = None
    probes: list[Probe] = []
    protocols: dict[str, Protocol] = {}

    @model_validator(mode="after")
    def _hangs_together(self) -> "Card":
        if self.embedded == bool(self.sources):
            raise ValueError("an embedded set has no sources, any other has at least one")
        if (self.kind == "images") != (len(self.item_shape) == 3):
            raise ValueError("images have item_shape [height, width, channels], features [d]")
        if (self.kind == "images") != (self.value_max is not None):
            raise ValueError("images state value_max, features do not")
        if self.class_counts is not None and len(self.class_counts) != self.n_classes:
            raise ValueError("class_counts needs one entry a class")
        if any(probe.id >= self.n_items for probe in self.probes):
            raise ValueError(f"a probe's id is beyond the last item, {self.n_items - 1}")
        return self

    @property
    def dtype(self) -> np.dtype[np.uint8] | np.dtype[np.float32]:
        """The type of the items: uint8 of images, little-endian float32 of features."""
        return np.dtype(np.uint8) if self.kind == "images" else np.dtype("<f4")

    def protocol(self, name: str) -> Protocol:
        """The protocol called ``name``; raises HashbenchError with the nearest names."""
        try:
            return self.protocols[canonical(name)]
        except KeyError:
            raise unknown(f"protocol of {self.name}", name, self.protocols) from None


def cards() -> list[str]:
    """The names of all data sets that have a card, sorted."""
    return sorted(path.stem for path in (paths.root() / "datasets").glob("*.toml"))


def load_card(name: str) -> Card:
    """The card of the data set called ``name`` (``-`` and ``_`` are one).

    Raises HashbenchError for an unknown name, with the nearest ones, and for a card that is not as it should be.
    """
    stem = canonical(name)
    if stem not in cards():
        raise unknown("dataset", name, cards())
    path = paths.root() / "datasets" / f"{stem}.toml"
    values = read_toml(path)
    if "name" in values:
        raise HashbenchError(f"{path}: unknown key 'name': a data set is called by its file's name")
    return parse(Card, {**values, "name": stem}, str(path))
