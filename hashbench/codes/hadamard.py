"""Hadamard matrices: rows of +1 and -1, any two of which differ in half of their entries."""

import numpy as np
from numpy.typing import NDArray

Signs = NDArray[np.int8]


def hadamard(order: int) -> Signs | None:
    """A Hadamard matrix int8[order, order]: H H^T = order I; None if none of these constructions has that order.

    Sylvester's for powers of 2; Paley's two, of orders p + 1 and 2 (p + 1) for primes p; and the doubling of these.
    That is every possible order below 100 except 52 and 92.
    """
    if order in (1, 2):
        return np.array([[1, 1], [1, -1]], np.int8)[:order, :order]
    if order < 1 or order % 4:
        return None
    paley = _paley(order) if order & (order - 1) else None
    half = hadamard(order // 2) if paley is None else None
    return paley if half is None else np.kron(np.array([[1, 1], [1, -1]], np.int8), half)


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % divisor for divisor in range(2, int(n**0.5) + 1))


def _paley(order: int) -> Signs | None:
    """Paley's construction over the whole numbers modulo a prime p: order p + 1 or 2 (p + 1)."""
    for p, is_first in ((order - 1, True), (order // 2 - 1, False)):
        if not _is_prime(p) or p % 4 != (3 if is_first else 1):
            continue
        residues = {x * x % p for x in range(1, p)}
        character = np.array([0, *(1 if x in residues else -1 for x in range(1, p))], np.int8)
        jacobsthal = character[(np.arange(p)[:, None] - np.arange(p)) % p]
        core = np.zeros((p + 1, p + 1), np.int8)
        core[0, 1:], core[1:, 0], core[1:, 1:] = 1, -1 if is_first else 1, jacobsthal
        if is_first:
            return core + np.eye(p + 1, dtype=np.int8)
        plus, minus = np.array([[1, 1], [1, -1]], np.int8), np.array([[1, -1], [-1, -1]], np.int8)
        return np.kron(core, plus) + np.kron(np.eye(p + 1, dtype=np.int8), minus)
    return None
