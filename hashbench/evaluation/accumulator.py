"""Scores of codes that come in batches, as in the evaluation of a training loop."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes import Codes
from hashbench.evaluation import arrays
from hashbench.evaluation.arrays import BitOrder, Bytes
from hashbench.evaluation.scorer import DEFAULT, score
from hashbench.evaluation.scores import Empty, Scores, checked
from hashbench.foundation.errors import HashbenchError
from hashbench.histogram.counting import AnyCodes, on_cpu
from hashbench.histogram.device import for_arrays
from hashbench.histogram.ties import Policy
from hashbench.metrics import Metrics


class _Side:
    """The batches of the queries or of the database."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._codes: list[AnyCodes | Bytes] = []
        self._labels: list[NDArray[Any]] = []

    def read(self, codes: Any, labels: Any, device: str, bits: int | None) -> "tuple[AnyCodes | Bytes, NDArray[Any]]":
        """A batch of codes and labels; raises HashbenchError if they do not fit each other or the batches before."""
        if codes is None or labels is None:
            raise HashbenchError(f"{self.name}_codes and {self.name}_labels: a batch needs both")
        batch = arrays.read_codes(f"{self.name}_codes", codes, device, bits)
        of = arrays.read_labels(f"{self.name}_labels", labels)
        if len(of) != len(batch):
            raise HashbenchError(f"{self.name}_labels: {len(of)} rows, {self.name}_codes has {len(batch)}: one each")
        self._check_like_first("codes", _kind_of_codes(batch), [_kind_of_codes(one) for one in self._codes[:1]])
        self._check_like_first("labels", _kind_of_labels(of), [_kind_of_labels(one) for one in self._labels[:1]])
        return batch, of

    def _check_like_first(self, what: str, kind: str, first: list[str]) -> None:
        if first and kind != first[0]:
            raise HashbenchError(f"{self.name}_{what}: a batch of {kind} after batches of {first[0]}: all must agree")

    def add(self, codes: AnyCodes | Bytes, labels: NDArray[Any]) -> None:
        """Keeps a batch that ``read`` returned."""
        self._codes.append(codes)
        self._labels.append(labels)

    def codes(self) -> AnyCodes | Bytes:
        """The codes of all batches; raises HashbenchError if there was none."""
        if not self._codes:
            raise HashbenchError(f"{self.name}: no batch yet: update({self.name}_codes=..., {self.name}_labels=...)")
        return _joined(self._codes)

    def labels(self) -> NDArray[Any]:
        """The labels of all batches."""
        return np.concatenate(self._labels)


def _kind_of_codes(batch: AnyCodes | Bytes) -> str:
    return f"{batch.shape[1]} packed bytes" if isinstance(batch, np.ndarray) else f"{batch.n_bits} bits"


def _kind_of_labels(batch: NDArray[Any]) -> str:
    if batch.ndim == 2:
        return f"{batch.shape[1]} multi-hot labels"
    return "names of classes" if batch.dtype.kind == "U" else "class ids"


def _joined(batches: Sequence[AnyCodes | Bytes]) -> AnyCodes | Bytes:
    """All codes, on the device where they are, or in NumPy's memory if they are not all on one device."""
    held = [batch for batch in batches if isinstance(batch, np.ndarray)]
    if held:
        return np.concatenate(held)
    packed = [batch for batch in batches if not isinstance(batch, np.ndarray)]
    on_device = [batch for batch in packed if not isinstance(batch, Codes)]
    if len(on_device) == len(packed) and len({batch.words.device for batch in on_device}) == 1:
        import torch

        return replace(on_device[0], words=torch.cat([batch.words for batch in on_device]))
    return Codes(np.concatenate([on_cpu(batch).words for batch in packed]), packed[0].n_bits)


class ScoreAccumulator:
    """Collects codes and labels in batches; ``compute`` returns what ``score`` returns for all of them.

    Queries and database may come in any order and in batches of any size; the rows of a side keep the order in which
    they came. Codes are packed at once, a bit each: 8 MB for a million codes of 64 bits. Those of tensors on a GPU are
    packed and stay there. The options are those of ``score``.

    >>> accumulator = ScoreAccumulator("ap")
    >>> accumulator.update(database_codes=[[1, 1]], database_labels=[7])
    >>> accumulator.update(query_codes=[[1, 0]], query_labels=[7], database_codes=[[0, 0]], database_labels=[3])
    >>> accumulator.compute()["ap"]
    0.75
    >>> accumulator.reset()
    """

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
        checked(ties, empty)
        Metrics.parse(metrics)  # a wrong name is said before the first batch
        self._device, self._bits, self._bit_order = device, bits, bit_order
        self._options: dict[str, Any] = {
            "metrics": metrics,
            "ties": ties,
            "weights": weights,
            "empty": empty,
            "exclude_self": exclude_self,
        }
        self.reset()

    def reset(self) -> None:
        """Forgets all batches."""
        self._query, self._database = _Side("query"), _Side("database")

    def update(
        self,
        *,
        query_codes: Any = None,
        query_labels: Any = None,
        database_codes: Any = None,
        database_labels: Any = None,
    ) -> None:
        """Adds a batch of queries, of the database, or of both; a wrong one raises HashbenchError and adds nothing."""
        given = ((self._query, query_codes, query_labels), (self._database, database_codes, database_labels))
        batches = [
            (side, *side.read(codes, labels, for_arrays(self._device, codes), self._bits))
            for side, codes, labels in given
            if not (codes is None and labels is None)
        ]
        if not batches:
            raise HashbenchError("nothing to add: query_codes and query_labels, or database_codes and database_labels")
        for side, codes, labels in batches:  # all were read: now none can fail
            side.add(codes, labels)

    def compute(self) -> Scores:
        """The scores of all batches since the last ``reset``; more batches may follow."""
        sides = [side.codes() for side in (self._query, self._database)]
        query, database = arrays.unpacked(sides, self._bits, self._bit_order)
        query_labels, database_labels = (side.labels() for side in (self._query, self._database))
        device = for_arrays(self._device, *(getattr(each, "words", None) for each in (query, database)))
        return score(query, database, query_labels, database_labels, device=device, **self._options)
