"""The objectives of batches once more, as loops over pairs, triples and bits, from the formulas of their papers.

Each takes rows of outputs as lists, and the set of the labels of each example; it knows nothing of the package.
"""

import math
from collections.abc import Callable, Sequence

Rows = Sequence[Sequence[float]]
Labels = Sequence[set[int]]


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return dot(a, b) / math.sqrt(dot(a, a) * dot(b, b))


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def sign(x: float) -> float:
    return 1.0 if x > 0 else -1.0


def pairs(labels: Labels) -> list[tuple[int, int, bool]]:
    n = range(len(labels))
    return [(i, j, bool(labels[i] & labels[j])) for i in n for j in n if i != j]


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def minus_log(s: float, p: float) -> float:
    """- s log p - (1 - s) log(1 - p)."""
    return -s * math.log(p) - (1 - s) * math.log(1 - p)


def mean_off_corners(rows: Rows, of_gap: Callable[[float], float]) -> float:
    """The mean over examples and bits of a function of |u| - 1."""
    return mean([of_gap(abs(u) - 1) for row in rows for u in row])


def dsh(rows: Rows, labels: Labels, m: float, alpha: float) -> float:
    total = 0.0
    for i, j, similar in pairs(labels):
        d = sum((x - y) ** 2 for x, y in zip(rows[i], rows[j], strict=True))
        total += d / 2 if similar else max(m - d, 0) / 2
        total += alpha * sum(abs(abs(x) - 1) for x in rows[i]) + alpha * sum(abs(abs(x) - 1) for x in rows[j])
    return total / max(len(pairs(labels)), 1)


def dhn(rows: Rows, labels: Labels, cosines: bool, a: float, weigh_similar: bool, eta: float) -> float:
    all_pairs = pairs(labels)
    n_similar = sum(similar for *_, similar in all_pairs)
    costs = []
    for i, j, similar in all_pairs:
        p = cosine(rows[i], rows[j]) if cosines else dot(rows[i], rows[j])
        weight = len(all_pairs) / n_similar if similar and weigh_similar else 1.0
        costs.append(weight * minus_log(similar, logistic(a * p)))
    return mean(costs) + eta * mean_off_corners(rows, lambda gap: math.log(math.cosh(gap)))


def dch(rows: Rows, labels: Labels, cosines: bool, gamma: float, weighting: str, eta: float) -> float:
    bits = len(rows[0])
    all_pairs = pairs(labels)
    n_similar = sum(similar for *_, similar in all_pairs)

    def distance(a: Sequence[float], b: Sequence[float]) -> float:
        return bits / 2 * (1 - cosine(a, b)) if cosines else sum((x - y) ** 2 for x, y in zip(a, b, strict=True))

    weight = {True: len(all_pairs) / n_similar if weighting != "none" else 1.0}
    weight[False] = len(all_pairs) / (len(all_pairs) - n_similar) if weighting == "both" else 1.0
    costs = []
    for i, j, similar in all_pairs:
        p = gamma / (gamma + distance(rows[i], rows[j]) + 0.001)
        costs.append(weight[similar] * minus_log(similar, p))
    corner = [math.log(1 + distance([abs(x) for x in row], [1.0] * bits) / gamma) for row in rows]
    return mean(costs) + eta * mean(corner)


def dbdh(rows: Rows, labels: Labels, binary: bool, scale: float, eta: float, over_items: bool) -> float:
    codes = [[sign(x) if binary else max(-1.0, min(1.0, x)) for x in row] for row in rows]
    costs = [minus_log(s, logistic(scale * dot(codes[i], codes[j]))) for i, j, s in pairs(labels)]
    lines = list(zip(*codes, strict=True)) if over_items else codes
    return mean(costs) + eta * mean([mean(line) ** 2 for line in lines])


def qsmi(rows: Rows, labels: Labels, clamped: bool, alpha_of_sum: float) -> float:
    """As the authors write it, in sums; divided by the number of pairs."""
    n = len(rows)
    near = [[(cosine(a, b) + 1) / 2 for b in rows] for a in rows]
    same = [[1.0 if i == j or labels[i] & labels[j] else 0.0 for j in range(n)] for i in range(n)]
    m = n * n / sum(map(sum, same))
    total = alpha_of_sum * sum(abs(abs(u) - 1) for row in rows for u in row)
    for i in range(n):
        for j in range(n):
            y = near[i][j]
            d = same[i][j]
            total += (d * y - 1) ** 2 + y**2 / m if clamped else -(d * y - y / m)
    return total / n**2


def lcdsh(rows: Rows, labels: Labels, eta: float) -> float:
    costs = []
    for i, j, similar in pairs(labels):
        theta = dot(rows[i], rows[j]) / 2
        binary = dot([sign(x) for x in rows[i]], [sign(x) for x in rows[j]]) / 2
        s = 1 if similar else -1
        costs.append(math.log(1 + math.exp(-s * theta)) + eta * (logistic(theta) - logistic(binary)) ** 2)
    return mean(costs)


def fastap(rows: Rows, labels: Labels, n_bins: int) -> float:
    bits = len(rows[0])
    n = len(rows)
    width = bits / n_bins
    values = []
    for q in range(n):
        h = [0.0] * (n_bins + 1)
        h_positive = [0.0] * (n_bins + 1)
        for i in range(n):
            d = (bits - dot(rows[q], rows[i])) / 2
            for bin_ in range(n_bins + 1):
                share = max(0.0, 1 - abs(d - bin_ * width) / width) if i != q else 0.0
                h[bin_] += share
                h_positive[bin_] += share * bool(labels[q] & labels[i])
        n_positive = sum(i != q and bool(labels[q] & labels[i]) for i in range(n))
        if n_positive:
            upto = range(n_bins + 1)
            terms = [h_positive[k] * sum(h_positive[: k + 1]) / sum(h[: k + 1]) for k in upto if sum(h[: k + 1]) > 0]
            values.append(1 - sum(terms) / n_positive)
    return mean(values)


def idhn(rows: Rows, labels: Labels, scale: float, gamma: float, eta: float) -> float:
    bits = len(rows[0])
    soft = [[x / (1 + abs(x)) for x in row] for row in rows]
    costs = []
    for i, j, similar in pairs(labels):
        s = len(labels[i] & labels[j]) / math.sqrt(len(labels[i]) * len(labels[j])) if similar else 0.0
        g = dot(soft[i], soft[j])
        if s > 0.99 or s < 0.01:
            x = scale * g / bits
            costs.append(math.log(1 + math.exp(x)) - s * x)
        else:
            costs.append(gamma * bits * ((g + bits) / (2 * bits) - s) ** 2)
    return mean(costs) + eta * mean_off_corners(soft, abs)


def hashnet(rows: Rows, labels: Labels, a: float) -> float:
    """Both kinds of pairs weigh the same in all."""
    kinds: dict[bool, list[float]] = {True: [], False: []}
    for i, j, similar in pairs(labels):
        kinds[similar].append(minus_log(similar, logistic(a * dot(rows[i], rows[j]))))
    return mean([mean(kind) for kind in kinds.values() if kind])


def transport(rows: Rows, signs: Rows) -> float:
    of_bits = []
    for outputs, drawn in zip(zip(*rows, strict=True), zip(*signs, strict=True), strict=True):
        of_bits.append(mean([(u - r) ** 2 for u, r in zip(sorted(outputs), sorted(drawn), strict=True)]))
    return mean(of_bits)


def margin_likelihood(rows: Rows, labels: Labels, margin: float) -> float:
    costs = []
    for i, j, similar in pairs(labels):
        theta = dot(rows[i], rows[j]) / 2
        costs.append(math.log1p(math.exp(margin - theta if similar else margin + theta)))
    return mean(costs)


class Dfh:
    """Batches one after the other: outputs of all examples, and centres, are remembered."""

    def __init__(self, labels: Labels, n_classes: int, bits: int, margin: float, mu: float, vul: float, eta: float):
        self.labels = labels
        self.n_classes = n_classes
        self.bits = bits
        self.margin = margin
        self.mu = mu
        self.vul = vul
        self.eta = eta
        self.memory = [[0.0] * bits for _ in labels]
        self.centres = [[0.0] * bits for _ in range(n_classes)]

    def weight(self, example: int, k: int) -> float:
        return 1 / len(self.labels[example]) if k in self.labels[example] else 0.0

    def loss(self, rows: Rows, examples: Sequence[int]) -> float:
        classes = range(self.n_classes)
        bits = range(self.bits)
        codes = []
        for row, i in zip(rows, examples, strict=True):
            pull = [sum(self.weight(i, k) * self.centres[k][b] for k in classes) for b in bits]
            codes.append([sign(self.mu * pull[b] + row[b]) for b in bits])
        for k in classes:
            for b in bits:
                q = sum(self.weight(i, k) * code[b] for code, i in zip(codes, examples, strict=True))
                for other in classes:
                    if other != k:
                        both = sum(self.weight(i, other) * self.weight(i, k) for i in examples)
                        q -= (both + self.vul) * self.centres[other][b]
                self.centres[k][b] = 0.0 if q == 0 else math.copysign(1, q)
        for row, i in zip(rows, examples, strict=True):
            self.memory[i] = list(row)
        costs = []
        for row, i in zip(rows, examples, strict=True):
            for j, other in enumerate(self.memory):
                theta = dot(row, other) / 2
                similar = bool(self.labels[i] & self.labels[j])
                costs.append(math.log(1 + math.exp(self.margin + (-theta if similar else theta))))
        gap = [(c - u) ** 2 for code, row in zip(codes, rows, strict=True) for c, u in zip(code, row, strict=True)]
        return mean(costs) + self.eta * mean(gap)
