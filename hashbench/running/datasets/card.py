"""Cards: a card says what a data set is, where it comes from, which checksums it has and how it is split."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AliasChoices, Field, StringConstraints, field_validator, model_validator

from hashbench.foundation import paths
from hashbench.foundation.config import Strict, parse, read_toml
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.paths import read_once
from hashbench.foundation.registry import canonical
from hashbench.running.datasets.protocol import DRAWS, HELD_OUT, AnyProtocol, Count, HeldOut, Positive, Protocol, Sha256

Sha512 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


class ExpectedFile(Strict):
    """The size and the checksums that a file must have; without a checksum, ``note`` says why there is none."""

    size_bytes: Count | None = None
    sha256: Sha256 | None = None
    sha512: Sha512 | None = None
    md5: Md5 | None = None
    note: str = ""

    @model_validator(mode="after")
    def _checksum_or_reason(self) -> "ExpectedFile":
        if not self.checksums and not self.note:
            raise ValueError("a file needs sha256, sha512 or md5, or a note that says why it has none")
        return self

    @property
    def checksums(self) -> dict[str, str]:
        """The known checksums; the keys are the names of the algorithms in ``hashlib``."""
        return self.model_dump(include={"sha256", "sha512", "md5"}, exclude_none=True)


class Member(ExpectedFile):
    """A file that a reader needs: its ``path`` in the source, or ``packed``, the path of the same file compressed."""

    path: str
    packed: str | None = None
    limit_bytes: Positive = 4 << 30


class Source(ExpectedFile):
    """A file to download: its addresses, the best first, its name, and the members that a reader needs."""

    urls: list[str] = []
    file: Annotated[str, StringConstraints(pattern=r"^[\w.+-]+$")]
    manual: list[str] = []  # the steps that no program can do
    members: list[Member] = []
    images: bool = False  # an archive of the images that lists name, which the user unpacks


class Card(Strict):
    """The content of a file datasets/NAME.toml; ``name`` is NAME."""

    former_keys = {"probes": "content_sha256 is the checksum of all items"}
    name: str
    title: str
    # stored by ``hashbench dataset add NAME``; cards of before December 2026 call it own
    custom: bool = Field(False, validation_alias=AliasChoices("custom", "own"))
    made_from: str = ""  # the arguments of that command
    citation: str = ""  # keys of experiments/papers.toml
    licence: str = ""
    homepage: str = ""
    kind: Literal["images", "features"]
    item_shape: list[Positive] = Field(min_length=1)  # [height, width, channels] of images, [d] of features
    value_max: Positive | None = None
    n_items: Positive
    n_classes: Count
    labels: Literal["class", "multi", "none"] = "class"
    class_names: list[str] = []
    class_counts: list[Count] | None = None
    embedded: bool = False  # part of an installed package
    reader: str = ""
    sources: list[Source] = []
    content_sha256: Sha256 | None = None
    labels_sha256: Sha256 | None = None
    protocols: dict[str, AnyProtocol] = {}

    @field_validator("protocols", mode="before")
    @classmethod
    def _by_class_unless_said(cls, tables: Any) -> Any:
        if not isinstance(tables, dict):
            return tables
        complete = {}
        for name, table in tables.items():
            if not isinstance(table, dict) or table.get("draw", "per_class") not in DRAWS:
                raise ValueError(f"{name}: a protocol is a table whose draw is one of {', '.join(DRAWS)}")
            complete[name] = {"draw": "per_class"} | table
        return complete

    @model_validator(mode="after")
    def _is_consistent(self) -> "Card":
        if fault := next(self._faults(), None):
            raise ValueError(fault)
        return self

    def _faults(self) -> Iterator[str]:
        is_image = self.kind == "images"
        if self.custom and (self.embedded or self.sources or self.reader):
            yield "a custom data set has no sources and no reader: hashbench dataset add stored it"
        if not self.custom and self.embedded == bool(self.sources):
            yield "an embedded data set has no sources, any other has at least one"
        if is_image != (len(self.item_shape) == 3):
            yield "images have item_shape [height, width, channels], features [d]"
        if is_image != (self.value_max is not None):
            yield "images state value_max, features do not"
        if (self.labels == "none") != (self.n_classes == 0):
            yield 'a data set needs classes, unless labels = "none"'
        if len(self.class_names) not in (0, self.n_classes):
            yield "class_names needs one entry for each class"
        for name, rule in self.protocols.items():
            if rule.stands_for(name) not in self.protocols:
                yield f"protocol {name}: the card has no protocol {rule.stands_for(name)}"

    @property
    def dtype(self) -> np.dtype[np.uint8] | np.dtype[np.float32]:
        """The type of the items: uint8 for images, little-endian float32 for features."""
        if self.kind == "images":
            return np.dtype(np.uint8)
        return np.dtype("<f4")

    @property
    def read_sources(self) -> list[Source]:
        """The sources whose members are read: all but the archives of images, which the user unpacks."""
        return [source for source in self.sources if not source.images]

    @property
    def how_to_get(self) -> str:
        """The command that stores the data set on this machine."""
        if self.custom:
            return f"hashbench dataset add {self.name} {self.made_from} --replace"
        return f"hashbench download {self.name}"

    def protocol_name(self, name: str | None) -> str:
        """``name``, or the only protocol that draws items of its own; raises HashbenchError if there are several."""
        if name is not None:
            return canonical(name)
        independent = [name for name, rule in self.protocols.items() if rule.stands_for(name) == name]
        if len(independent) == 1:
            return independent[0]
        known = "its card has none"
        if self.protocols:
            known = f"one of {', '.join(sorted(self.protocols))} (hashbench show {self.name} says what each is)"
        raise HashbenchError(f"{self.name}: which protocol? --protocol NAME is needed: {known}")

    def protocol(self, name: str) -> Protocol:
        """The protocol named ``name``, or that it names with ``_held_out``; HashbenchError if there is none."""
        stem = canonical(name)
        if stem in self.protocols:
            return self.protocols[stem]
        base = stem.removesuffix(HELD_OUT)
        if base not in self.protocols:
            raise unknown(f"protocol of {self.name}", name, self.protocols)
        return self.held_out(base, [base], self.protocols[base].seed)

    def held_out(self, base: str, left_out: list[str], seed: int, splits: int | None = None) -> HeldOut:
        """The protocol for choosing settings whose queries are held out of the database of the protocol ``base``."""
        return HeldOut(
            of=base,
            left_out=sorted(left_out),
            seed=seed,
            splits=splits,
            relevance=self.protocol(base).relevance,
            rules={name: self.protocol(name) for name in sorted({base, *left_out})},
        )


def cards() -> list[str]:
    """The names of all data sets, sorted; each has a card."""
    return list(card_files())


def card_files() -> dict[str, Path]:
    """The card of each data set by name: from the named root, else the user's own, else the shipped one."""
    *named, shipped = (root / "datasets" for root in paths.roots())
    return paths.toml_files([*named, paths.custom_cards(), shipped])


@read_once
def load_card(name: str) -> Card:
    """The card of the data set named ``name``; raises HashbenchError for an unknown name or an invalid card."""
    stem = canonical(name)
    files = card_files()
    if stem not in files:
        raise unknown("dataset", name, files)
    values = read_toml(files[stem])
    if "name" in values:
        raise HashbenchError(f"{files[stem]}: unknown key 'name': a data set has the name of its file")
    card = parse(Card, {**values, "name": stem}, str(files[stem]))
    if card.custom:  # they need none of these
        return card
    missing = [key for key in ("citation", "licence", "homepage", "reader") if key not in card.model_fields_set]
    for rule, protocol in card.protocols.items():
        if "citation" not in protocol.model_fields_set:
            missing.append(f"protocols.{rule}.citation")
    if missing:
        raise HashbenchError(f"{files[stem]}: key {missing[0]!r} is missing")
    return card
