"""What other code would print, against slow transcriptions of how each is described, query by query."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.one_line import one_line
from support.strategies import CodeSet, code_sets

from hashbench.scoring.codes import pack
from hashbench.scoring.evaluation.conventions import CONVENTIONS, ConventionValue
from hashbench.scoring.relevance.labels import ClassRelevance

Order = list[int]  # the levels of the items, first rank first

cutoffs = st.none() | st.integers(1, 14)


def printed(name: str, drawn: CodeSet, cutoff: int | None = None) -> dict[str, ConventionValue]:
    return CONVENTIONS.get(name).evaluate(pack(drawn.query), pack(drawn.database), drawn.relevance, cutoff=cutoff)


def distances(drawn: CodeSet) -> np.ndarray:
    return (drawn.query[:, None] != drawn.database[None]).sum(axis=2)


def levels(drawn: CodeSet) -> np.ndarray:
    everything = slice(0, len(drawn.query)), slice(0, len(drawn.database))
    return drawn.relevance.levels[drawn.relevance.block(*everything)]


def ordered(drawn: CodeSet, sort: Callable[[np.ndarray], np.ndarray]) -> list[Order]:
    pairs = zip(distances(drawn), levels(drawn), strict=True)
    return [level[sort(distance)].tolist() for distance, level in pairs]


def over_retrieved(order: Sequence[int]) -> float:
    """The mean precision at the relevant ranks of a list, 0 where there are none."""
    hits = [rank for rank, level in enumerate(order, 1) if level > 0]
    return sum(result / rank for result, rank in enumerate(hits, 1)) / len(hits) if hits else 0.0


def close(one: ConventionValue, other: float | None) -> bool:
    if other is None or one.value is None:
        return one.value is other
    return math.isclose(one.value, other, abs_tol=1e-12)


@given(code_sets(max_items=40), cutoffs)
def test_deephash(drawn: CodeSet, cutoff: int | None) -> None:
    total = 0.0
    for order in ordered(drawn, lambda row: np.argsort((0.5 * row * 2).astype(np.float32))):
        total += over_retrieved(order[: -1 if cutoff is None else cutoff])
    ((name, result),) = printed("deephash", drawn, cutoff).items()
    assert name == ("mAP" if cutoff is None else f"mAP@{cutoff}")
    assert close(result, total / len(drawn.query))


@given(code_sets(max_items=40), cutoffs)
def test_hashnet(drawn: CodeSet, cutoff: int | None) -> None:
    n_bits = drawn.query.shape[1]
    n_items = len(drawn.database)
    if cutoff is not None and cutoff > n_items:
        with one_line(f"hashnet: R = {cutoff} of {n_items} items"):
            printed("hashnet", drawn, cutoff)
        return
    similarity = n_bits - 2 * distances(drawn)  # of codes of -1 and +1
    ranked = np.argsort(-similarity.T.astype(np.float32), axis=0)
    kept = []
    for level, column in zip(levels(drawn), ranked.T, strict=True):
        top = level[column][:cutoff]
        if top.any():
            kept.append(over_retrieved(top.tolist()))
    ((figure, result),) = printed("hashnet", drawn, cutoff).items()
    assert figure == ("MAP" if cutoff is None else f"MAP@{cutoff}")
    assert close(result, sum(kept) / len(kept) if kept else None)


def without_the_first(order: Sequence[int]) -> float:
    """Precision times the increments of recall from rank 2 on."""
    relevant = [int(level > 0) for level in order]
    increments = [0, *relevant[1:]]
    gained = sum(step * sum(relevant[: t + 1]) / (t + 1) for t, step in enumerate(increments))
    return gained / sum(relevant) if any(relevant) else 0.0


@given(code_sets(max_items=30), cutoffs)
def test_talr_ap(drawn: CodeSet, cutoff: int | None) -> None:
    suffix = "" if cutoff is None else f"@{cutoff}"
    result = printed("talr", drawn, cutoff)
    sign = {"AP": 0, "AP upper bound": -1, "AP lower bound": 1}
    for name, way in sign.items():
        total = 0.0
        for distance, level in zip(distances(drawn), levels(drawn), strict=True):
            rank = sorted(range(len(level)), key=lambda i, d=distance, v=level: (d[i], way * (v[i] > 0)))
            total += without_the_first(level[rank][:cutoff].tolist())
        assert close(result[name + suffix], total / len(drawn.query)), name


def tie_average(distance: np.ndarray, gain: np.ndarray, weight: np.ndarray) -> float:
    """The sum over tie groups of their mean gain times the weights of their ranks."""
    total = 0.0
    before = 0
    for d in sorted(set(distance.tolist())):
        group = gain[distance == d]
        total += group.mean() * weight[before : before + len(group)].sum()
        before += len(group)
    return float(total)


@given(code_sets(max_items=30))
def test_talr_tie_aware(drawn: CodeSet) -> None:
    result = printed("talr", drawn, 3)
    average: list[float] = []
    gathered = []
    weight = 1 / np.log2(np.arange(len(drawn.database)) + 2)
    for q, (distance, level) in enumerate(zip(distances(drawn), levels(drawn), strict=True)):
        gain = np.minimum(2.0**level, 127) - 1  # an int8 holds no more
        ideal = float((np.sort(gain)[::-1] * weight).sum())
        gathered.append(tie_average(distance, gain, weight) / ideal if ideal else 1.0)
        if (level > 0).any():
            average += [0.0] * (q - len(average))  # as MATLAB fills the entries that an assignment jumps over
            average.append(tie_aware_ap(distance, level > 0))
    assert close(result["tieAP"], float(np.mean(average)) if average else None)
    assert close(result["tieNDCG"], float(np.mean(gathered)))


def tie_aware_ap(distance: np.ndarray, relevant: np.ndarray) -> float:
    total = 0.0
    n0 = 0
    p0 = 0
    for d in sorted(set(distance.tolist())):
        n = int((distance == d).sum())
        p = int((relevant & (distance == d)).sum())
        step = (p - 1) / (n - 1) if n > 1 else 0.0
        total += p / n * sum((p0 + 1 + j * step) / (n0 + j + 1) for j in range(n)) if p else 0.0
        n0, p0 = n0 + n, p0 + p
    return total / int(relevant.sum())


@given(code_sets(max_items=30), st.integers(1, 14))
def test_trec(drawn: CodeSet, k: int) -> None:
    names = [f"d{i:02d}" for i in range(len(drawn.database))]
    runs = []
    for distance, level in zip(distances(drawn), levels(drawn), strict=True):
        by_name_last_first = sorted(range(len(names)), key=lambda i: names[i], reverse=True)
        runs.append(level[sorted(by_name_last_first, key=lambda i, d=distance: d[i])].tolist())
    kept = [run for run in runs if any(run)]

    def over_queries(measure: Callable[[Order], float]) -> float | None:
        return sum(map(measure, kept)) / len(kept) if kept else None

    def relevant(run: Order) -> int:
        return sum(level > 0 for level in run)

    def dcg(run: Order, depth: int) -> float:
        return sum(level / math.log2(t + 2) for t, level in enumerate(run[:depth]))

    whole = {
        "map": over_retrieved,
        "Rprec": lambda run: relevant(run[: relevant(run)]) / relevant(run),
        "ndcg": lambda run: dcg(run, len(run)) / dcg(sorted(run, reverse=True), len(run)),
    }
    cut = {
        f"map_cut_{k}": lambda run: over_retrieved(run[:k]) * relevant(run[:k]) / relevant(run),
        f"P_{k}": lambda run: relevant(run[:k]) / k,
        f"recall_{k}": lambda run: relevant(run[:k]) / relevant(run),
        f"ndcg_cut_{k}": lambda run: dcg(run, k) / dcg(sorted(run, reverse=True), k),
    }
    for cutoff, measures in ((None, whole), (k, cut)):
        result = printed("trec", drawn, cutoff)
        assert list(result) == list(measures)
        for name, measure in measures.items():
            assert close(result[name], over_queries(measure)), name


@pytest.mark.filterwarnings("ignore:No positive class found")
@settings(max_examples=40)
@given(code_sets(max_items=30), cutoffs)
def test_sklearn(drawn: CodeSet, cutoff: int | None) -> None:
    from sklearn.metrics import average_precision_score, ndcg_score

    result = printed("sklearn", drawn, cutoff)
    pairs = list(zip(-distances(drawn), levels(drawn), strict=True))
    truth = float(np.mean([average_precision_score(level > 0, score) for score, level in pairs]))
    assert close(result["average_precision_score"], truth)
    name = "ndcg_score" if cutoff is None else f"ndcg_score@{cutoff}"
    if len(drawn.database) == 1:
        with pytest.raises(ValueError, match="more than 1 document"):
            ndcg_score(levels(drawn), -distances(drawn))
        assert result[name].value is None
    else:
        assert close(result[name], ndcg_score(levels(drawn), -distances(drawn).astype(float), k=cutoff))


def test_only_what_an_unstable_sort_decides_is_of_this_machine() -> None:
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, 2, (size, 4), np.uint8) for size in (3, 50)]
    drawn = CodeSet(*codes, ClassRelevance(rng.integers(0, 3, 3), rng.integers(0, 3, 50)))
    for name in CONVENTIONS.names:
        flags = {figure.of_this_machine for figure in printed(name, drawn).values()}
        assert flags == {name in ("deephash", "hashnet")}


def test_queries_that_are_all_empty_give_what_each_code_gives() -> None:
    drawn = CodeSet(
        np.zeros((2, 3), np.uint8), np.zeros((4, 3), np.uint8), ClassRelevance(np.array([1, 2]), np.zeros(4, np.int64))
    )
    values = {name: [figure.value for figure in printed(name, drawn).values()] for name in CONVENTIONS.names}
    assert values == {
        "deephash": [0.0],
        "hashnet": [None],
        "sklearn": [0.0, 0.0],
        "talr": [0.0, 0.0, 0.0, None, 1.0],
        "trec": [None, None, None],
    }
