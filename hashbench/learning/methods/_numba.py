"""The compiled parts of shallow methods: trees, pairs of BRE, rankings of StructHash, triplets of CGH.

In loops, where NumPy's words for whole arrays would take Numba seconds to compile.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.scoring.histogram.numba_kernel import compiled, inner

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

BINS = 64  # of a feature
NO_CUT = BINS - 1  # no bin is above it: all examples go to the left
BLOCK = 64  # items that are evaluated together, so that a tree is read once for all of them


@compiled
def boost(
    binned: Bytes, signs: Floats, weights: Floats, tried: Longs, trim: float, features: Ints, cuts: Longs,
    values: Floats, scores: Floats,
) -> None:  # fmt: skip
    """Grows the trees of one bit by discrete AdaBoost, each of features ``tried``; writes the last four arrays."""
    least = 0.5 / len(signs)
    leaf = np.empty(len(signs), np.int64)
    now = np.empty(len(signs))
    signed = np.empty(len(signs))
    for tree in range(len(tried)):
        total = 0.0
        for i in range(len(signs)):
            now[i] = weights[i] * np.exp(-signs[i] * scores[i])
            total += now[i]
        for i in range(len(signs)):
            now[i] /= total
            signed[i] = signs[i] * now[i]
        rows = _heavy_rows(now, trim)
        _grow(binned, signed, now, rows, tried[tree], features[tree], cuts[tree], values[tree])
        error = _error(binned, signs, now, features[tree], cuts[tree], values[tree], leaf)
        # a tree without errors would get an infinite weight; one that is no better than a coin gets none
        error = min(max(error, least), 0.5)
        weight = 0.5 * np.log((1 - error) / error)
        for k in range(values.shape[1]):
            values[tree, k] *= weight
        for i in range(len(signs)):
            scores[i] += values[tree, leaf[i]]


@inner
def _heavy_rows(weights: Floats, trim: float) -> Longs:
    """The rows in their order, without those of smallest weight that have the share ``trim`` of all weight."""
    ordered = np.sort(weights)
    light = 0.0
    first = 0
    equal = 0
    while trim > 0 and light + ordered[first] <= trim:
        light += ordered[first]
        first += 1
    for k in range(first):  # of rows as heavy as the lightest that stays, the first are left out
        equal += ordered[k] == ordered[first]
    rows = np.empty(len(weights) - first, np.int64)
    n = 0
    for i in range(len(weights)):
        if weights[i] == ordered[first] and equal > 0:
            equal -= 1
        elif not weights[i] < ordered[first]:
            rows[n] = i
            n += 1
    return rows


@inner
def _grow(
    binned: Bytes, signed: Floats, weights: Floats, rows: Longs, tried: Longs, features: Ints, cuts: Longs,
    values: Floats,
) -> None:  # fmt: skip
    """Grows one tree level by level; each split has the smallest weighted Gini impurity."""
    node = np.zeros(len(rows), np.int64)
    first = 0
    while first < len(features):
        level = features[first : 2 * first + 1], cuts[first : 2 * first + 1]
        _split_level(binned, signed, weights, rows, tried, node, level[0], level[1])
        for i in range(len(rows)):
            k = first + node[i]
            # to the right if the value is above the threshold; the children of k in the list are 2 k + 1 and 2 k + 2
            node[i] = 2 * node[i] + np.int64(np.int64(binned[features[k], rows[i]]) > cuts[k])
        first = 2 * first + 1
    totals = np.zeros(len(values))
    for i in range(len(rows)):
        totals[node[i]] += signed[rows[i]]
    for k in range(len(values)):
        values[k] = 1.0 if totals[k] >= 0 else -1.0


@inner
def _split_level(
    binned: Bytes, signed: Floats, weights: Floats, rows: Longs, tried: Longs, node: Longs, features: Ints, cuts: Longs
) -> None:
    """The best split of each node of a level, among the ``tried`` features: the greatest sum of S^2 / W."""
    # S is the sum of the signed weights of a child, W of the weights: the Gini impurity is (W - S^2 / W) / 2
    sums = np.zeros((len(features), BINS, 2))
    total = np.zeros((len(features), 2))
    place = np.empty(len(rows), np.int64)  # of the first bin of the node of each row
    pairs = np.empty((len(rows), 2))
    for i in range(len(rows)):
        pairs[i, 0] = weights[rows[i]]
        pairs[i, 1] = signed[rows[i]]
        total[node[i], 0] += pairs[i, 0]
        total[node[i], 1] += pairs[i, 1]
        place[i] = node[i] * BINS
    best = np.zeros(len(features))
    for k in range(len(features)):
        features[k] = tried[0]
        cuts[k] = NO_CUT
        if total[k, 0] > 0:
            best[k] = total[k, 1] ** 2 / total[k, 0] + 1e-12 * total[k, 0]
    flat = sums.reshape(-1, 2)
    for feature in tried:
        for at in range(len(flat)):
            flat[at, 0] = flat[at, 1] = 0
        of_feature = binned[feature]
        for i in range(len(rows)):
            at = place[i] + of_feature[rows[i]]
            flat[at, 0] += pairs[i, 0]
            flat[at, 1] += pairs[i, 1]
        for k in range(len(features)):
            _best_cut(sums[k], total[k], feature, k, best, features, cuts)


@inner
def _best_cut(sums: Floats, total: Floats, feature: int, k: int, best: Floats, features: Ints, cuts: Longs) -> None:
    left = 0.0
    left_signed = 0.0
    for cut in range(BINS - 1):
        if sums[cut, 0] == 0:
            continue
        left += sums[cut, 0]
        left_signed += sums[cut, 1]
        right = total[0] - left
        right_signed = total[1] - left_signed
        if right <= 1e-12 * total[0]:
            break
        gain = (left_signed * left_signed * right + right_signed * right_signed * left) / (left * right)
        if gain > best[k]:
            best[k] = gain
            features[k] = feature
            cuts[k] = cut


@inner
def _error(
    binned: Bytes, signs: Floats, weights: Floats, features: Ints, cuts: Longs, values: Floats, leaf: Longs
) -> float:
    """The weight of the examples whose leaf has the wrong sign; writes the ``leaf`` of each example."""
    error = 0.0
    for i in range(len(signs)):
        k = np.int64(0)
        while k < len(features):
            k = 2 * k + 1 + np.int64(np.int64(binned[features[k], i]) > cuts[k])
        leaf[i] = k - len(features)
        if values[leaf[i]] != signs[i]:
            error += weights[i]
    return error


@compiled
def evaluate(items: Floats, features: Ints, thresholds: Floats, values: Floats, scores: Floats) -> None:
    """Adds to ``scores`` [n, bits] the values of the leaves that ``items`` [n, d] reach, in the order of the trees."""
    nodes = features.shape[2]
    for start in range(0, len(items), BLOCK):
        stop = min(start + BLOCK, len(items))
        for bit in range(features.shape[0]):
            for tree in range(features.shape[1]):
                feature = features[bit, tree]
                threshold = thresholds[bit, tree]
                value = values[bit, tree]
                for i in range(start, stop):
                    k = np.int64(0)
                    while k < nodes:
                        k = 2 * k + 1 + np.int64(items[i, feature[k]] > threshold[k])
                    scores[i, bit] += value[k - nodes]


@compiled
def worst_rankings(
    distances: Singles, order: Longs, r: int, n_relevant: Longs, n_irrelevant: Longs, costs: Floats, which: Longs,
    weights: Singles, losses: Floats,
) -> None:  # fmt: skip
    """Writes ``weights`` [m, r + s] and ``losses`` [m] of ``most_violated``; ``order`` sorts each side."""
    best = np.empty(costs.shape[2])
    ahead = np.empty(costs.shape[2])
    value = np.empty(costs.shape[2])
    choice = np.empty(costs.shape[1:], np.int64)
    for q in range(len(distances)):
        p = n_relevant[q]
        n = n_irrelevant[q]
        if p > 0:
            near = order[q, :p]
            far = order[q, r : r + n]
            table = costs[which[q]]
            _interleave(distances[q, :r], near, distances[q, r:], far, table, best, ahead, value, choice)
            losses[q] = _pair_weights(near, far, table, best, choice, weights[q, :r], weights[q, r:])


@inner
def _interleave(
    relevant: Singles, near: Longs, irrelevant: Singles, far: Longs, table: Floats, best: Floats, ahead: Floats,
    value: Floats, choice: Any,
) -> None:  # fmt: skip
    """The dynamic programme: choice[j, a] is the best number, at most a, of irrelevant items before item j."""
    unit = 2 / (len(near) * len(far))
    best[0] = ahead[0] = 0
    for a in range(len(far)):
        best[a + 1] = 0
        ahead[a + 1] = ahead[a] + irrelevant[far[a]]
    for j in range(len(near)):
        distance = relevant[near[j]]
        chosen = 0
        largest = -np.inf
        for a in range(len(far) + 1):  # apart from the search for the largest one, so that several are computed at once
            value[a] = best[a] + table[j, a] - unit * (ahead[a] - a * distance)
        for a in range(len(far) + 1):
            if value[a] > largest:
                largest = value[a]
                chosen = a
            best[a] = largest
            choice[j, a] = chosen


@inner
def _pair_weights(
    near: Longs, far: Longs, table: Floats, best: Floats, choice: Any, relevant: Singles, irrelevant: Singles
) -> float:
    """Writes the weights of the relevant and irrelevant neighbours of a query; returns the loss of the ranking."""
    p = len(near)
    a = len(far)
    loss = 0.0
    unit = 2 / (p * len(far))
    if best[a] <= 0:  # no ranking violates the margin: c = 0 in eq. 10b
        return loss
    weight = np.float32(0)
    behind = len(far)  # each relevant item that ``behind`` ones precede adds a unit to their weight
    for j in range(p - 1, -1, -1):
        a = choice[j, a]
        loss += table[j, a]
        relevant[near[j]] = -unit * a
        for k in range(a, behind):
            irrelevant[far[k]] = weight
        weight = np.float32(weight + unit)
        behind = a
    for k in range(behind):
        irrelevant[far[k]] = weight
    return loss


@compiled
def squared_hinges(
    distances: Floats, r: int, n_relevant: Longs, n_irrelevant: Longs, weights: Floats, losses: Floats
) -> None:
    """Writes the triplet losses [m] of CGH, and the pair ``weights`` [m, r + s] (see ``cgh.triplet_losses``)."""
    margins = np.empty(distances.shape[1])
    totals = np.empty(r)
    squares = np.empty(r)
    for q in range(len(distances)):
        p = n_relevant[q]
        n = n_irrelevant[q]
        if p > 0:
            near = distances[q, :p]
            far = weights[q, r : r + n]
            for k in range(n):
                margins[k] = 1 - distances[q, r + k]
            unit = 2 / (p * n)
            # two passes, in each of which the processor adds several sums at once
            for j in range(p):
                for k in range(n):
                    far[k] += unit * max(0.0, margins[k] + near[j])
            totals[:] = 0
            squares[:] = 0
            for k in range(n):
                for j in range(p):
                    hinge = max(0.0, margins[k] + near[j])
                    totals[j] += hinge
                    squares[j] += hinge * hinge
            for j in range(p):
                weights[q, j] = -unit * totals[j]
                losses[q] += squares[j] / (p * n)


@compiled
def outcomes_of_pairs(
    first: Ints, second: Ints, target: Floats, distances: Floats, states: Longs, n_bits: int, others: Floats,
    start: Floats, end: Floats,
) -> None:  # fmt: skip
    """Writes ``others``, the ``distances`` of BRE's pairs without one bit, and what its flips change.

    ``states`` [n] are 4 times the place of an example's flip, plus twice its bit before any flip, plus its bit now.
    ``start`` and ``end`` [n] get at the first and at the second flip of a pair what a difference in this bit costs.
    """
    half = 0.5 / n_bits**2
    # tables, for a branch on random bits is guessed wrong every other time
    share = np.array([0.0, 1.0 / n_bits])
    sign = np.array([1.0, -1.0])
    for p in range(len(first)):
        one = states[first[p]]
        two = states[second[p]]
        differ = one ^ two
        other = distances[p] - share[differ & 1]
        others[p] = other
        cost = sign[differ >> 1 & 1] * ((other - target[p]) / n_bits + half)
        start[min(one, two) >> 2] += cost
        end[max(one, two) >> 2] += cost


@compiled
def moved_pairs(
    first: Ints, second: Ints, target: Floats, bits: Bytes, n_bits: int, others: Floats, distances: Floats,
    errors: Floats,
) -> None:  # fmt: skip
    """Writes the ``distances`` of BRE's pairs with new ``bits`` [n] of one function, and their ``errors``."""
    share = np.array([0.0, 1.0 / n_bits])
    for p in range(len(first)):
        distances[p] = others[p] + share[bits[first[p]] ^ bits[second[p]]]
        errors[p] = distances[p] - target[p]
