"""The same histogram counted with torch: by Triton's kernel, or by products of -1 and +1, exact in float32."""

import logging
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hashbench.foundation.errors import HashbenchError, one_line, retold
from hashbench.foundation.parallel import slices
from hashbench.scoring.codes import MAX_BITS, Codes, pack_words
from hashbench.scoring.codes.values import CodeValues, not_numeric
from hashbench.scoring.histogram.counts import Counter, Ints, Report
from hashbench.scoring.histogram.numba_kernel import is_multi_hot, is_signed
from hashbench.scoring.relevance.labels import ClassRelevance, Relevance, SharedLabelRelevance

log = logging.getLogger(__name__)

QUERY_BLOCK = 64
PAIRS = 1 << 21  # counted together by bincount: 16 MiB of keys
ITEMS = 1 << 21  # of the database, on the device at a time
WORD_BITS = 32
PACKED_BITS = 1 << 22  # bits packed at a time: 16 MiB as int32
UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)  # have few operations, or none with -1


@dataclass(frozen=True, eq=False)
class TensorCodes:
    """Packed codes on a torch device; bit j of a code is bit j % 32 of word j // 32."""

    words: Tensor  # int32[n, ceil(n_bits / 32)], padded with zero bits
    n_bits: int

    @property
    def shape(self) -> tuple[int, int]:
        """(items, bits)."""
        return len(self.words), self.n_bits

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: slice | Ints) -> "TensorCodes":
        if isinstance(rows, slice):
            return TensorCodes(self.words[rows], self.n_bits)
        return TensorCodes(self.words[torch.from_numpy(rows).to(self.words.device)], self.n_bits)

    def to_host(self) -> Codes:
        """The same codes in NumPy's memory."""
        halves = self.words.cpu().numpy().astype("<i4", copy=False)
        padded = np.zeros((len(halves), 2 * -(-self.n_bits // 64)), "<i4")
        padded[:, : halves.shape[1]] = halves
        return Codes(padded.view("<u8").astype(np.uint64, copy=False), self.n_bits)

    @staticmethod
    def of(codes: "Codes | TensorCodes", device: torch.device) -> "TensorCodes":
        """``codes`` on ``device``."""
        if isinstance(codes, TensorCodes):
            return TensorCodes(codes.words.to(device), codes.n_bits)
        return TensorCodes(_int32(codes.words, device, -(-codes.n_bits // WORD_BITS)), codes.n_bits)


def pack(codes: Tensor, values: CodeValues | None = None) -> TensorCodes:
    """The codes of a tensor [n, bits], packed on its own device: a bit is set where the value is > 0.

    Its values are added to ``values``, whose name begins the lines of errors. What is neither finite nor a number, and
    other shapes, raise HashbenchError.
    """
    values = values or CodeValues("codes")
    if codes.ndim != 2:
        raise HashbenchError(f"{values.where}: shape {tuple(codes.shape)} is not items x bits")
    if codes.is_complex():
        raise not_numeric(values.where, str(codes.dtype))
    n, n_bits = codes.shape
    if not 1 <= n_bits <= MAX_BITS:
        raise HashbenchError(f"codes: {n_bits} bits; 1 to {MAX_BITS} are possible")
    words = torch.empty((n, -(-n_bits // WORD_BITS)), dtype=torch.int32, device=codes.device)
    shifts = torch.arange(WORD_BITS, dtype=torch.int32, device=codes.device)
    for rows in slices(n, max(1, PACKED_BITS // n_bits)):
        bits = _bits(codes[rows].detach(), values)
        padded = torch.nn.functional.pad(bits, (0, -n_bits % WORD_BITS)).view(len(bits), -1, WORD_BITS)
        # no two bits add up in one place
        words[rows] = (padded.to(torch.int32) << shifts).sum(dim=2, dtype=torch.int32)
    return TensorCodes(words, n_bits)


def _bits(block: Tensor, values: CodeValues) -> Tensor:
    """The mask of values > 0; raises HashbenchError if one is not finite, or whole and other than -1, 0 and 1."""
    if block.is_floating_point():
        if not block.isfinite().all():
            raise HashbenchError(f"{values.where}: not finite (NaN or inf): finite numbers are expected")
    elif block.dtype in UNSIGNED:
        block = block.to(torch.int64)
    if block.dtype != torch.bool:
        values.add(block, torch.count_nonzero)
    return block > 0


def _int32(words: NDArray[np.uint64], device: torch.device, n_words: int | None = None) -> Tensor:
    """64-bit words [n, w] as int32[n, n_words], low halves first; all 2 w of them where no number is given."""
    halves = np.ascontiguousarray(words, "<u8").view("<i4").astype(np.int32, copy=False)[:, :n_words]
    return torch.from_numpy(np.require(halves, requirements=["C", "W"])).to(device)


class TorchCounter(Counter):
    """Counts with torch: the queries and the counts stay on the device, the database passes through it in pieces."""

    def __init__(self, query: Codes | TensorCodes, device: torch.device | str) -> None:
        super().__init__(query)
        self.device = torch.device(device)
        with self._enough_memory():
            self.words = TensorCodes.of(query, self.device).words
            self.counts = torch.zeros((len(query), query.n_bits + 1, 0), dtype=torch.int64, device=self.device)
        is_nvidia = self.device.type == "cuda" and torch.version.cuda is not None
        self.has_kernel = is_nvidia and find_spec("triton") is not None

    def _add(self, database: Codes | TensorCodes, relevance: Relevance, report: Report) -> None:
        missing = len(self.levels) - self.counts.shape[2]
        with self._enough_memory():
            if missing:
                self.counts = torch.nn.functional.pad(self.counts, (0, missing))
            for columns in slices(len(database), ITEMS):
                items = TensorCodes.of(database[columns], self.device).words
                if not self._add_in_kernel(items, relevance, columns):
                    count_products(self.counts, self.words, items, relevance, columns)
                report(len(self.words) * len(items))

    def _move(self, queries: Ints, database: Codes | TensorCodes, items: Ints) -> None:
        n_bits = self.query_shape[1]
        query = TensorCodes(self.words, n_bits)[queries].to_host()
        others = database[items]
        if isinstance(others, TensorCodes):
            others = others.to_host()
        distance = np.bitwise_count(query.words ^ others.words).sum(axis=1, dtype=np.int64)
        for level, change in ((0, -1), (1, 1)):
            key = np.ravel_multi_index((queries, distance, np.full_like(queries, level)), tuple(self.counts.shape))
            at = torch.from_numpy(key).to(self.device)
            self.counts.view(-1).index_add_(0, at, torch.full_like(at, change))

    def _counts(self) -> Ints:
        counts: Ints = self.counts.cpu().numpy()
        return counts

    def _enough_memory(self) -> AbstractContextManager[None]:
        """Raises HashbenchError if the memory of the device gets full in the block."""
        full = f"device {self.device}: its memory is full: --device cpu counts in the memory of the machine"
        return retold(lambda _: full, torch.OutOfMemoryError)

    def _add_in_kernel(self, items: Tensor, relevance: Relevance, columns: slice) -> bool:
        """Adds all pairs with Triton's kernel and returns True; False if it cannot, and then nothing has been added."""
        if not self.has_kernel or not self.counts.numel():
            return False
        from hashbench.scoring.histogram.triton_kernel import MAX_KEYS, count_into

        if self.counts[0].numel() >= MAX_KEYS:
            return False
        labels = labels_on(self.device, relevance, columns)
        if labels is None:
            return False
        try:
            with torch.cuda.device(self.device):
                count_into(self.counts, self.words, items.T.contiguous(), *labels)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # the first call compiles the kernel, which takes a C compiler among other things
            log.warning("counting by matrix products, for Triton's kernel does not compile: %s", one_line(error))
            self.has_kernel = False
        return self.has_kernel


def labels_on(device: torch.device, relevance: Relevance, columns: slice) -> tuple[Tensor, Tensor] | None:
    """Class ids int64[q] and [n], or packed labels int32[q, l] and int32[l, n]; None where the kernel compares none."""
    if not isinstance(relevance, ClassRelevance | SharedLabelRelevance):
        return None
    sides = relevance.query_labels, relevance.database_labels[columns]
    if isinstance(relevance, ClassRelevance) and all(map(is_signed, sides)):
        query, database = (torch.from_numpy(labels.astype(np.int64)).to(device) for labels in sides)
        return query, database
    if isinstance(relevance, SharedLabelRelevance) and all(map(is_multi_hot, sides)):
        query, database = (_int32(pack_words(labels), device) for labels in sides)
        return query, database.T.contiguous()
    return None


def count_products(counts: Tensor, words: Tensor, items: Tensor, relevance: Relevance, columns: slice) -> None:
    """Adds the pairs of queries int32[q, w] and items int32[n, w] to ``counts`` int64[q, d, v], by matrix products."""
    n_bins, n_levels = counts.shape[1:]
    for rows in slices(len(words), QUERY_BLOCK):
        query = _signs(words[rows], n_bins - 1)
        first = torch.arange(len(query), device=counts.device)[:, None] * (n_bins * n_levels)
        for part in slices(len(items), max(1, PAIRS // max(1, QUERY_BLOCK, n_bins))):
            with torch.autocast(counts.device.type, enabled=False):  # half precision would round long codes
                product = query @ _signs(items[part], n_bins - 1).T
            of_part = slice(columns.start + part.start, columns.start + part.stop)
            level = torch.from_numpy(relevance.block(rows, of_part).astype(np.int64)).to(counts.device)
            key = first + (n_bins - 1 - product.long()) // 2 * n_levels + level
            counts[rows] += torch.bincount(key.ravel(), minlength=counts[rows].numel()).view_as(counts[rows])


def _signs(words: Tensor, n_bits: int) -> Tensor:
    """Codes of -1 and +1, float32[n, bits]."""
    shifts = torch.arange(WORD_BITS, dtype=torch.int32, device=words.device)
    bits = (words[:, :, None] >> shifts) & 1
    return bits.flatten(1)[:, :n_bits].float() * 2 - 1
