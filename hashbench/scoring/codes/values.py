"""Counts the values of codes, and refuses those that cannot be bits: the one check of files, arrays and tensors."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hashbench.foundation.errors import HashbenchError

WHOLE = (
    "whole numbers are 0 and 1, or -1 and +1: codes > 0 are the bits of others, and packed bytes need their length "
    "(bits=N, --layout N)"
)
POSITIVE = (
    "but no value is below 0: probabilities have the bits codes > 0.5 and counts codes > 0; real values are on both "
    "sides of 0, as of tanh, or 0 and 1, or -1 and +1"
)


class CodeValues:
    """The values of the codes called ``where``, counted block by block: those that are 0, negative and so on."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.n = self.n_zero = self.n_negative = self.n_other = 0  # other: neither -1 nor 0 nor 1
        self.other: float = 0.0  # the first of these

    @property
    def n_set(self) -> int:
        """The number of values above 0."""
        return self.n - self.n_zero - self.n_negative

    def add(self, block: Any, count: Callable[[Any], Any] = np.count_nonzero) -> None:
        """Counts an array, or, by torch's ``count``, a tensor; HashbenchError for whole numbers that are no bits."""
        zeros = block == 0
        other = (block != 1) & ~zeros & (block != -1)
        n_other = int(count(other))
        if n_other and not self.n_other:
            self.other = block[other].ravel()[0].item()
            if isinstance(self.other, int):
                raise HashbenchError(f"{self.where}: {self.other} is no bit: {WHOLE}")
        self.n += int(np.prod(block.shape))
        self.n_zero += int(count(zeros))
        self.n_negative += int(count(block < 0))
        self.n_other += n_other


def interpret(sides: Sequence[CodeValues]) -> list[str]:
    """Notes about the values of queries and database, all counted; HashbenchError where they cannot be of codes."""
    counted = [side for side in sides if side.n]
    others = [side for side in counted if side.n_other]
    if others and not any(side.n_negative for side in others):
        raise HashbenchError(f"{others[0].where}: {others[0].other} is in it, {POSITIVE}")
    expected = "0 and 1, or -1 and +1, are expected"
    if any(side.n_negative for side in counted) and any(side.n_zero for side in counted):
        if not any(side.n_set for side in counted):
            raise HashbenchError(f"{counted[0].where}: -1 and 0 and no +1 are in it: {expected}")
        # zeros among -1 and +1 are undecided bits, and nothing else shows that -1 is meant beside 0
        is_signed = any(side.n_negative and side.n_set for side in counted)
        for side in counted:
            if side.n_negative and side.n_zero and not side.n_set and not is_signed:
                raise HashbenchError(f"{side.where}: -1 and 0 and no +1 are in it: {expected}")
    notes = []
    for side in counted:
        zeros = f"{side.n_zero} of {side.n} values are exactly 0, and those bits are not set"
        if side.n_other:
            notes.append(f"{side.where}: real values, binarised at > 0; {zeros}")
        elif side.n_negative and side.n_zero:
            notes.append(f"{side.where}: codes of -1 and +1 with zeros: {zeros}")
    return notes


def not_numeric(where: str, dtype: str, kind: str = "") -> HashbenchError:
    """The error for a type that is no number; for the ``kind`` of codes, with what makes numbers of them."""
    fault = f"{where}: {dtype} is not numeric: numbers are expected"
    rows = {"U": "numpy.asarray(codes)", "S": "numpy.asarray(codes).astype(str)", "O": "numpy.asarray(codes)"}
    if kind not in rows:
        return HashbenchError(fault)
    return HashbenchError(f"{fault}: codes = numpy.array([list(row) for row in {rows[kind]}], float)")
