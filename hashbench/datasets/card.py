"""Cards: what a data set is, where it comes from, how its bytes are known to be right, how it is split."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from hashbench import paths
from hashbench.config import Strict, parse, read_toml
from hashbench.datasets.protocol import Count, Parts, PerClass, PerLabel, Positive, Protocol, Random, Sha256, Stratified
from hashbench.errors import HashbenchError, unknown
from hashbench.registry import canonical

Sha512 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
DRAWS = ("per_class", "per_label", "random", "parts", "stratified")


def _draw(value: object) -> str | None:
    """The kind of a protocol, of a table or made already; None for what is neither, or says none that exists."""
    draw = value.get("draw", "per_class") if isinstance(value, dict) else getattr(value, "draw", None)
    return draw if draw in DRAWS else None


AnyProtocol = Annotated[
    Annotated[PerClass, Tag("per_class")]
    | Annotated[PerLabel, Tag("per_label")]
    | Annotated[Random, Tag("random")]
    | Annotated[Parts, Tag("parts")]
    | Annotated[Stratified, Tag("stratified")],
    Discriminator(
        _draw,
        custom_error_type="protocol_draw",
        custom_error_message=f"a protocol is a table whose draw is one of {', '.join(DRAWS)}",
    ),
]


class Verified(Strict):
    """What is known of a file's bytes; a file without a checksum says why in its note."""

    size_bytes: Count | None = None
    sha256: Sha256 | None = None
    sha512: Sha512 | None = None
    md5: Md5 | None = None
    note: str = ""

    @model_validator(mode="after")
    def _checksum_or_reason(self) -> "Verified":
        if not self.checksums and not self.note:
            raise ValueError("a file needs sha256, sha512 or md5, or a note that says why it has none")
        return self

    @property
    def checksums(self) -> dict[str, str]:
        """The checksums that are known, by algorithm, as ``hashlib`` names them."""
        known = {"sha256": self.sha256, "sha512": self.sha512, "md5": self.md5}
        return {algorithm: value for algorithm, value in known.items() if value is not None}


class Member(Verified):
    """A file that a reader needs; ``path`` is its name inside the source, with forward slashes.

    What is known of it is known of its decompressed bytes. ``packed`` is its name there where it is compressed
    by itself (.gz, .bz2, .xz or .Z), and ``limit_bytes`` what a member without ``size_bytes`` may grow to.
    """

    path: str
    packed: str | None = None
    limit_bytes: Positive = 4 << 30


class Source(Verified):
    """A file to be fetched: where from (in order of preference), its name, and the members that a reader needs.

    Where no address serves it to a program, ``urls`` is empty and ``manual`` tells a person what to do.
    ``images = true`` is an archive of images that the lists of other sources name: it is not read as an archive,
    but unpacked by the user into a folder.
    """

    urls: list[str] = []
    file: Annotated[str, StringConstraints(pattern=r"^[\w.+-]+$")]
    manual: list[str] = []
    members: list[Member] = []
    images: bool = False

    @model_validator(mode="after")
    def _can_be_had(self) -> "Source":
        if not self.urls and not self.manual:
            raise ValueError("a source needs urls, or the manual steps that lead to it")
        if self.images == bool(self.members):
            raise ValueError("a source has members, unless it is an archive of images")
        return self


class Probe(Strict):
    """One item whose bytes are known: SHA-256 of its row, as stored (C order, little-endian).

    ``label`` is its class; of a multi-label set, or one without labels, it is left out.
    """

    id: Count
    label: int | None = None
    sha256: Sha256


class Card(Strict):
    """A file of datasets/; ``name`` is its stem.

    ``item_shape`` is [height, width, channels] of images (uint8, 0 .. ``value_max``) or [d] of features
    (float32). ``labels`` are one class an item, several of ``n_classes`` labels an item, or none. An ``embedded``
    set comes with an installed package and has no sources. ``labels_sha256`` is the checksum of the labels alone,
    for a set whose images not everybody can have. ``citation`` holds keys of experiments/papers.toml, with commas
    between them.
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
    n_classes: Count
    labels: Literal["class", "multi", "none"] = "class"
    class_names: list[str] = []
    class_counts: list[Count] | None = None
    embedded: bool = False
    reader: str
    sources: list[Source] = []
    content_sha256: Sha256 | None = None
    labels_sha256: Sha256 | None = None
    probes: list[Probe] = []
    protocols: dict[str, AnyProtocol] = {}

    @model_validator(mode="after")
    def _hangs_together(self) -> "Card":
        if self.embedded == bool(self.sources):
            raise ValueError("an embedded set has no sources, any other has at least one")
        if (self.kind == "images") != (len(self.item_shape) == 3):
            raise ValueError("images have item_shape [height, width, channels], features [d]")
        if (self.kind == "images") != (self.value_max is not None):
            raise ValueError("images state value_max, features do not")
        if (self.labels == "none") != (self.n_classes == 0):
            raise ValueError('a set has classes, unless labels = "none"')
        if self.class_names and len(self.class_names) != self.n_classes:
            raise ValueError("class_names needs one entry a class")
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
