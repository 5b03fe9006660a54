"""Mismatches between a card and the data: size, class counts, probes, checksums."""

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hashbench.datasets.card import Card
from hashbench.datasets.checksums import array_sha256
from hashbench.datasets.readers import Items
from hashbench.relevance.labels import Labels

if TYPE_CHECKING:
    import h5py


def mismatches(card: Card, labels: Labels, content: "tuple[Items | h5py.Dataset, str] | None") -> Iterator[str]:
    """The ways in which labels and content differ from the card, one line each; ``content`` is (items, checksum)."""
    if len(labels) != card.n_items:
        yield f"{len(labels)} items; the card states {card.n_items}"
    yield from _label_mismatches(card, labels)
    for probe in card.probes:
        if probe.label is not None and labels[probe.id] != probe.label:
            yield f"item {probe.id} has label {labels[probe.id]}; the card states {probe.label}"
        if content and hashlib.sha256(content[0][probe.id].tobytes()).hexdigest() != probe.sha256:
            yield f"item {probe.id} has other bytes than the card states"
    if card.labels_sha256 not in (None, array_sha256(labels)):
        yield f"the labels have checksum {array_sha256(labels)[:12]}; the card states {str(card.labels_sha256)[:12]}"
    if content and card.content_sha256 not in (None, content[1]):
        yield checksum_mismatch(card, content[1])


def _label_mismatches(card: Card, labels: Labels) -> Iterator[str]:
    highest = 1 if labels.ndim == 2 else card.n_classes - 1
    if labels.min(initial=0) < 0 or labels.max(initial=0) > highest:
        yield f"labels from {labels.min()} to {labels.max()}; 0 to {highest} exist"
    counts = labels.sum(axis=0, dtype=np.int64) if labels.ndim == 2 else np.bincount(labels, minlength=card.n_classes)
    if card.class_counts is not None and counts.tolist() != card.class_counts:
        yield f"class counts are {counts.tolist()}; the card states {card.class_counts}"


def checksum_mismatch(card: Card, sha256: str) -> str:
    """The line that says that the content has this checksum and not that of the card."""
    return f"the content has checksum {sha256[:12]}; the card states {str(card.content_sha256)[:12]}"
