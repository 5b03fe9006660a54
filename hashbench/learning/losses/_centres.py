"""Fixed codes of the classes, their centres: drawn before training, by the seed of the run."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from math import comb
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.codes.hadamard import Signs, hadamard

Kind = Literal["hadamard", "hadamard_first", "bernoulli", "max_distance"]

ANY_LENGTH = "centres = 'max_distance' takes any number of bits"
DRAWS = 100  # of all centres, until no two are equal and no bit is the same in all
# of the bits: the distance that max_distance asks for
FIRST_SHARE = 0.61
STEP = 0.01
LAST_SHARE = 0.2
TRIES = 10_000  # for a centre that is as far as that, until it asks for less


def centres(kind: Kind, n_classes: int, bits: int, seed: int) -> Signs:
    """The centres of ``n_classes`` classes, int8[n_classes, bits] of -1 and +1, a function of the arguments alone.

    ``hadamard``: rows of a Hadamard matrix in random order with random signs, then their negatives; the first ``bits``
    centres are bits / 2 apart. ``hadamard_first``: the first rows, then their negatives, in the order of the released
    code of yuan2020central, whose columns repeat: at 64 bits ten classes have 16 different bits. Both go on with
    random codes of bits / 2 ones where there are more than 2 bits classes. ``bernoulli``: each bit is +1 with
    probability 1/2. ``max_distance``: random codes, kept if they are 0.61 bits away from all centres before them, or,
    0.01 bits less after each 10,000 that are not, as the code of an author of fan2020deep has it.

    A draw with a bit that is the same in all centres is repeated, up to 100 times; few classes have none without.
    Raises HashbenchError where there are fewer codes than classes, or no such codes of this length.
    """
    here = f"centres of {n_classes} classes at {bits} bits: centres = {kind!r}"
    rng = np.random.default_rng(seed)
    if kind in ("bernoulli", "max_distance"):
        n_codes = 2**bits
    else:
        n_codes = max(2 * bits, comb(bits, bits // 2))
    if n_codes < n_classes:
        raise HashbenchError(f"{here}: there are {n_codes} such codes: more bits, or fewer classes")
    if kind == "bernoulli":
        draw = partial(_distinct, np.empty((0, bits), np.int8), n_classes, _random_code)
    elif kind == "max_distance":
        draw = partial(_far_apart, n_classes, bits)
    else:
        matrix = hadamard(bits)
        if matrix is None:
            raise HashbenchError(f"{here}: no Hadamard matrix of order {bits} is constructed here: {ANY_LENGTH}")
        if kind == "hadamard_first":  # its rows are fixed, so a bit that is the same in all of them stays
            first = np.concatenate([matrix, -matrix])[:n_classes]
            return _distinct(first, n_classes, _half_code, rng)
        draw = partial(_hadamard_rows, matrix, n_classes)
    best = draw(rng)
    for _ in range(DRAWS - 1):
        if _constant_bits(best) == 0:
            break
        drawn = draw(rng)
        if _constant_bits(drawn) < _constant_bits(best):
            best = drawn
    return best


def distances(codes: Signs) -> tuple[int, float]:
    """The smallest and the mean Hamming distance between two of ``codes`` int8[n, bits], n >= 2."""
    wide = codes.astype(np.float32)  # exact: a product is at most the number of bits
    apart = (codes.shape[1] - wide @ wide.T)[np.triu_indices(len(codes), 1)] / 2
    return int(apart.min()), float(apart.mean(dtype=np.float64))


def eigen_signs(similarity: NDArray[np.float64], bits: int, seed: int) -> Signs:
    """Codes int8[n, bits] whose inner products approximate bits (2 S - 1): binary matrix pursuit [cakir2018hashing].

    ``similarity`` is S float64[n, n], symmetric, in [0, 1]. Bit t is the sign of the leading eigenvector of the
    residual bits (2 S - 1) - sum_{s < t} y_s y_s^T: the variant in which all bits weigh the same. A bit y that is an
    earlier one (or its negative), or has y^T residual y <= 0, is replaced by a random one that is neither, if 100 draws
    find one. Where eigenvalues are equal, as those of n classes are, the eigenvector would be the eigensolver's choice:
    a small random matrix, by the seed, is added for it.
    """
    rng = np.random.default_rng(seed)
    n = len(similarity)
    residual = bits * (2 * similarity - 1)
    earlier = np.empty((0, n))
    for _ in range(bits):
        noise = rng.standard_normal((n, n)) * (1e-6 * bits)
        vector = scipy.linalg.eigh(residual + noise + noise.T, subset_by_index=[n - 1, n - 1])[1][:, 0]
        vector = vector * np.sign(vector[np.abs(vector).argmax()])  # the eigensolver gives it either sign
        bit = np.where(vector >= 0, 1.0, -1.0)
        others = (rng.choice([-1.0, 1.0], n) for _ in range(100))
        useful = (y for y in chain([bit], others) if not np.any(np.abs(earlier @ y) == n) and y @ residual @ y > 0)
        bit = next(useful, bit)
        residual = residual - np.outer(bit, bit)
        earlier = np.vstack([earlier, bit])
    return earlier.T.astype(np.int8)


def _hadamard_rows(matrix: Signs, n_classes: int, rng: np.random.Generator) -> Signs:
    # a random sign of each row changes no distance between rows, and no bit is the same in all centres
    signed = rng.permutation(matrix) * rng.choice(np.array([-1, 1], np.int8), (len(matrix), 1))
    rows = np.concatenate([signed, -rng.permutation(signed)])[:n_classes]
    return _distinct(rows, n_classes, _half_code, rng)


def _random_code(bits: int, rng: np.random.Generator) -> Signs:
    return rng.choice(np.array([-1, 1], np.int8), bits)


def _half_code(bits: int, rng: np.random.Generator) -> Signs:
    return rng.permutation(np.repeat(np.array([-1, 1], np.int8), bits // 2))


def _distinct(
    first: Signs, n: int, draw: Callable[[int, np.random.Generator], Signs], rng: np.random.Generator
) -> Signs:
    """``first``, and codes that are drawn until there are ``n`` different ones."""
    codes = {code.tobytes(): code for code in first}
    while len(codes) < n:
        code = draw(first.shape[1], rng)
        codes.setdefault(code.tobytes(), code)
    return np.stack(list(codes.values()))


def _far_apart(n_classes: int, bits: int, rng: np.random.Generator) -> Signs:
    codes = np.empty((0, bits), np.float32)
    share = FIRST_SHARE
    failures = 0
    while len(codes) < n_classes:
        tried = rng.choice(np.array([-1, 1], np.float32), (min(1000, TRIES - failures), bits))
        nearest = (bits - tried @ codes.T).min(1, initial=2 * bits) / 2
        far = np.flatnonzero(nearest >= share * bits)
        if len(far):
            codes = np.vstack([codes, tried[far[0]]])
            failures = 0
            continue
        failures += len(tried)
        if failures == TRIES:
            share = share - STEP
            failures = 0
        if share < LAST_SHARE:
            few = f"{n_classes} codes of {bits} bits that are {LAST_SHARE} bits apart were not found"
            raise HashbenchError(f"centres = 'max_distance': {few}: more bits, or centres = 'bernoulli'")
    return codes.astype(np.int8)


def _constant_bits(codes: Signs) -> int:
    return int((codes == codes[0]).all(0).sum())
