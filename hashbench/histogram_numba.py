"""The counting kernel on the CPU."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:  # noqa: ARG001
    """Set bits of a uint64: the processor's own instruction, which Numba has no name for."""

    def build(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), build


def compiled(function: Callable[..., None]) -> Callable[..., None]:
    """``function`` compiled without the GIL, kept on disk for later processes where a cache can be written."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither beside this file nor in the user's cache folder
        return njit(nogil=True)(function)


@compiled
def count_block(
    query: NDArray[np.uint64],
    database: NDArray[np.uint64],
    level: NDArray[np.uint16],
    counts: NDArray[np.int64],
) -> None:
    """Adds one block of pairs to ``counts`` int64[q, d, v].

    query uint64[q, w], database uint64[n, w], level uint16[q, n] (indices of levels).
    """
    for q in range(query.shape[0]):
        for n in range(database.shape[0]):
            distance = np.uint64(0)
            for w in range(query.shape[1]):
                distance += popcount(query[q, w] ^ database[n, w])
            counts[q, distance, level[q, n]] += 1
