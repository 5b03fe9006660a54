"""Hadamard matrices: rows of +1 and -1, any two of which differ in half of their entries."""

import numpy as np
from numpy.typing import NDArray

Signs = NDArray[np.int8]

ORDER_2 = np.array([[1, 1], [1, -1]], np.int8)


def hadamard(order: int) -> Signs | None:
    """A Hadamard matrix int8[order, order]: H H^T = order I; None if none of these constructions has that order.

    Sylvester's for powers of 2; Paley's two, of orders p + 1 and 2 (p + 1) for primes p; and the doubling of these.
    That is every possible order below 100 except 52 and 92.
    """
    if order in (1, 2):
        return ORDER_2[:order, :order]
    if order < 1 or order % 4:
        return None
    is_power_of_2 = order & (order - 1) == 0
    if not is_power_of_2:
        if _is_prime(order - 1) and (order - 1) % 4 == 3:
            core = _conference(order - 1, sign=-1)
            return core + np.eye(order, dtype=np.int8)
        if _is_prime(order // 2 - 1) and (order // 2 - 1) % 4 == 1:
            core = _conference(order // 2 - 1, sign=1)
            diagonal = np.eye(order // 2, dtype=np.int8)
            return np.kron(core, ORDER_2) + np.kron(diagonal, np.array([[1, -1], [-1, -1]], np.int8))
    half = hadamard(order // 2)
    if half is None:
        return None
    return np.kron(ORDER_2, half)


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % divisor for divisor in range(2, int(n**0.5) + 1))


def _conference(p: int, sign: int) -> Signs:
    """The matrix int8[p + 1, p + 1] of the differences modulo the prime ``p``: 1 for squares, -1 for others, 0 for 0.

    It is bordered by a row of ones and a column of ``sign``.
    """
    squares = [x * x % p for x in range(1, p)]
    character = np.full(p, -1, np.int8)
    character[squares] = 1
    character[0] = 0
    matrix = np.zeros((p + 1, p + 1), np.int8)
    matrix[0, 1:] = 1
    matrix[1:, 0] = sign
    matrix[1:, 1:] = character[(np.arange(p)[:, None] - np.arange(p)) % p]
    return matrix
