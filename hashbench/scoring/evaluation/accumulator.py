"""Scores of codes that come in batches, as in the evaluation of a training loop."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.arguments import checked_arguments
from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.codes import Codes
from hashbench.scoring.codes.values import CodeValues, interpret
from hashbench.scoring.evaluation import arrays
from hashbench.scoring.evaluation.arrays import BitOrder
from hashbench.scoring.evaluation.scorer import DEFAULT, score
from hashbench.scoring.evaluation.scores import Empty, Scores
from hashbench.scoring.histogram.counting import on_cpu
from hashbench.scoring.histogram.device import for_arrays
from hashbench.scoring.histogram.ties import Policy
from hashbench.scoring.metrics import Metrics

SIDES = ("query", "database")
Batch = tuple[Codes, NDArray[Any], CodeValues]  # codes and labels, and what values the codes were


class ScoreAccumulator:
    """Collects codes and labels in batches; ``compute`` returns what ``score`` returns for all of them.

    Batches of any size may come in any order; a side keeps its order. Codes are packed at once, and kept in the memory
    of the machine. Options and labels are those of ``score``, but for levels of pairs, which would need all items at
    once. They are counted where the last batch of codes was.
    """

    @checked_arguments
    def __init__(
        self,
        metrics: str | Sequence[str] = DEFAULT,
        ties: Policy = "expected",
        device: str = "auto",
        weights: Any = None,
        *,
        bits: int | None = None,
        bit_order: BitOrder | None = None,
        empty: Empty = "skip",
        exclude_self: Any = False,
    ) -> None:
        names = Metrics.parse(metrics).names  # a wrong name is said before the first batch
        self._score = partial(score, metrics=names, ties=ties, weights=weights, empty=empty, exclude_self=exclude_self)
        self._device = device
        self._bits = bits
        self._bit_order = bit_order
        self.reset()

    def reset(self) -> None:
        """Forgets all batches."""
        self._updates: list[dict[str, Batch]] = []  # by side: query, database
        self._used_device = "cpu"

    def update(
        self,
        *,
        query_codes: Any = None,
        query_labels: Any = None,
        database_codes: Any = None,
        database_labels: Any = None,
    ) -> None:
        """Adds a batch of queries, of the database, or of both; a wrong one raises HashbenchError and adds nothing."""
        both = {"query": (query_codes, query_labels), "database": (database_codes, database_labels)}
        read = {}
        for side, (codes, labels) in both.items():
            if codes is not None or labels is not None:
                read[side] = self._read(side, codes, labels)
        if not read:
            raise HashbenchError("nothing to add: query_codes and query_labels, or database_codes and database_labels")
        self._updates.append(read)  # all or, after an interrupt, nothing

    def compute(self) -> Scores:
        """The scores of all batches since the last ``reset``; more batches may follow."""
        sides = [self._batches(side) for side in SIDES]
        for side, batches in zip(SIDES, sides, strict=True):
            if not batches:
                raise HashbenchError(f"{side}: no batch yet: update({side}_codes=..., {side}_labels=...)")
        interpret([values for batches in sides for _, _, values in batches])
        codes = [
            Codes(np.concatenate([codes.words for codes, _, _ in batches]), batches[0][0].n_bits) for batches in sides
        ]
        labels = [np.concatenate([labels for _, labels, _ in batches]) for batches in sides]
        return self._score(*codes, *labels, device=self._used_device)

    def _batches(self, side: str) -> list[Batch]:
        return [update[side] for update in self._updates if side in update]

    def _read(self, side: str, codes: Any, labels: Any) -> Batch:
        """A batch of codes and labels; raises HashbenchError if they do not fit each other or the batches before."""
        if codes is None or labels is None:
            raise HashbenchError(f"{side}_codes and {side}_labels: a batch needs both")
        self._used_device = for_arrays(self._device, codes)
        read, values = arrays.read_codes(f"{side}_codes", codes, self._used_device, self._bits, self._bit_order)
        batch = on_cpu(read)
        batch_labels = arrays.read_labels(f"{side}_labels", labels)
        if len(batch_labels) != len(batch):
            raise HashbenchError(f"{side}_labels: {len(batch_labels)} rows, {side}_codes has {len(batch)}: one each")
        for codes_before, labels_before, _ in self._batches(side)[:1]:
            if codes_before.n_bits != batch.n_bits:
                bits = f"{batch.n_bits} bits after batches of {codes_before.n_bits} bits"
                raise HashbenchError(f"{side}_codes: a batch of {bits}: all must agree")
            if _kind(labels_before) != _kind(batch_labels):
                kinds = f"{_kind(batch_labels)} after batches of {_kind(labels_before)}"
                raise HashbenchError(f"{side}_labels: a batch of {kinds}: all must agree")
        return batch, batch_labels, values


def _kind(labels: NDArray[Any]) -> str:
    if labels.ndim == 2:
        return f"{labels.shape[1]} columns of labels"
    return "names of classes" if labels.dtype.kind == "U" else "class ids"
