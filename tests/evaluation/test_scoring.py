"""``hashbench.score``: other people's training scripts call this."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from support import oracles
from support.strategies import CodeSet, code_sets

import hashbench
from hashbench import metrics
from hashbench.codes import pack
from hashbench.errors import HashbenchError
from hashbench.histogram import count
from hashbench.relevance.labels import SharedLabelRelevance, from_labels

NAMES = ["ap", "ap@3", "ap(norm=retrieved)@3", "ndcg", "precision@2", "recall@2", "precision@r1", "auc"]


def scored(codes: CodeSet, names: list[str] = NAMES, ties: Any = "expected") -> hashbench.Scores:
    return hashbench.score(
        codes.query, codes.database, codes.relevance.query_labels, codes.relevance.database_labels, names, ties
    )


@given(code_sets())
def test_scores_are_those_of_the_histogram(codes: CodeSet) -> None:
    scores = scored(codes)
    counted = count(pack(codes.query), pack(codes.database), codes.relevance)
    for name, values in metrics.evaluate(counted, NAMES).items():
        np.testing.assert_allclose(scores.per_query(name), values, atol=1e-12)
        assert scores.value(name) == metrics.summarise(scores.per_query(name))
        assert scores[name] == scores.value(name).mean


@given(code_sets())
def test_worst_expected_best_stand_in_that_order(codes: CodeSet) -> None:
    scores = scored(codes)
    for name in NAMES:
        interval, mean = scores.interval(name), scores[name]
        assert (interval is None) == (mean is None)
        if interval is not None and mean is not None:
            assert interval[0] - 1e-9 <= mean <= interval[1] + 1e-9, name


@given(code_sets(max_queries=2, max_items=6))
def test_ap_and_its_range_are_those_of_all_orders(codes: CodeSet) -> None:
    scores = scored(codes, ["ap(norm=retrieved)@3", "ap"])
    level = codes.relevance.block(slice(None), slice(None))
    for norm, k, name in (("all", None, "ap"), ("retrieved", 3, "ap(norm=retrieved)@3")):
        per_query = []
        for q in range(len(codes.query)):
            distances = [int((codes.query[q] != item).sum()) for item in codes.database]
            if level[q].any():
                orders = oracles.orders(distances, level[q].tolist())
                per_query.append([float(oracles.average_precision(order, k, norm)) for order in orders])
        if per_query:
            assert scores.interval(name) == pytest.approx(
                (np.mean([min(each) for each in per_query]), np.mean([max(each) for each in per_query]))
            )


@pytest.mark.parametrize("ties", ["best", "worst"])
def test_a_policy_gives_that_end_of_the_range(ties: Any) -> None:
    codes = example()
    scores = hashbench.score(*codes, metrics=["ap", "ndcg@3"], ties=ties)
    for name in scores:
        assert scores.interval(name)[ties == "best"] == pytest.approx(scores[name])  # type: ignore[index]


def test_order_is_that_of_the_database() -> None:
    query, database = [[0, 0]], [[0, 1], [1, 0]]
    first = hashbench.score(query, database, [1], [1, 2], ["ap"], "order")["ap"]
    last = hashbench.score(query, database, [1], [2, 1], ["ap"], "order")["ap"]
    assert (first, last) == (1.0, 0.5)


def example() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    activations = [rng.standard_normal((n, 6)) for n in (4, 30)]
    return (*activations, rng.integers(0, 3, 4), rng.integers(0, 3, 30))


@pytest.mark.parametrize(
    "form",
    [
        lambda bits: (bits > 0).astype(np.uint8),
        lambda bits: bits > 0,
        lambda bits: np.where(bits > 0, 1, -1),
        lambda bits: np.sign(bits).astype(np.float32),
        lambda bits: pack(bits > 0),
        lambda bits: (bits > 0).astype(int).tolist(),
    ],
    ids=["0 and 1", "bool", "-1 and 1", "sign", "packed", "list"],
)
def test_any_form_of_codes_scores_alike(form: Any) -> None:
    query, database, *labels = example()
    assert dict(hashbench.score(form(query), form(database), *labels)) == dict(hashbench.score(*example()))


def test_torch_tensors_score_as_arrays() -> None:
    torch = pytest.importorskip("torch")
    query, database, *labels = example()
    tensors = [torch.tensor(query, requires_grad=True) * 1.0, torch.tensor(database, dtype=torch.bfloat16)]
    scores = hashbench.score(*tensors, *map(torch.tensor, labels))
    assert dict(scores) == dict(hashbench.score(query, database, *labels))


def test_multi_hot_and_column_labels() -> None:
    query, database, ids, other = example()
    columns = hashbench.score(query, database, ids[:, None], other[:, None])
    one_hot = hashbench.score(query, database, np.eye(3)[ids], np.eye(3)[other])
    assert dict(columns) == dict(hashbench.score(*example()))
    assert one_hot["ap"] == columns["ap"]
    shared = hashbench.score(query, database, np.ones((4, 2)), np.ones((30, 2)), ["ndcg"])
    assert isinstance(from_labels(np.ones((4, 2), int), np.ones((30, 2), int)), SharedLabelRelevance)
    assert shared["ndcg"] == pytest.approx(1.0)


def test_empty_queries_are_left_out_and_counted() -> None:
    scores = hashbench.score([[0, 0], [0, 0]], [[0, 1], [1, 0]], [1, 9], [1, 2], ["ap"])
    assert (scores["ap"], scores.value("ap").n_queries, scores.value("ap").n_empty) == (0.75, 2, 1)
    assert np.isnan(scores.per_query("ap")).tolist() == [False, True]


def test_when_every_query_is_empty_there_is_no_value() -> None:
    scores = hashbench.score([[0]], [[1]], [1], [2], ["ap"])
    assert scores["ap"] is None
    assert scores.interval("ap") is None
    assert "nan" not in repr(scores)


def test_names_are_read_as_the_command_line_reads_them() -> None:
    scores = hashbench.score(*example(), metrics=["ap(norm=all)@5", "AP-best"])
    assert list(scores) == ["ap@5", "ap_best"]
    assert scores["ap(norm=all)@5"] == scores["ap@5"]
    assert "ap( norm=all )@5" in scores
    assert "ndcg" not in scores
    with pytest.raises(KeyError, match="ndcg"):
        scores["ndcg"]
    assert scores.interval("ap_best") is None


def test_repr_is_the_table() -> None:
    assert repr(hashbench.score([[1, 0]], [[1, 1], [0, 0]], [7], [7, 3], metrics=["ap"])).splitlines() == [
        "Scores(1 queries, 2 items, 2 bits, ties='expected')",
        "metric    mean     std  [worst, best]",
        "ap      0.7500  0.0000  [0.5000, 1.0000]",
    ]


CODES, IDS = np.eye(4), np.arange(4)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((CODES, CODES[:, :3], IDS, IDS), "must agree"),
        ((CODES, CODES, IDS, IDS[:2]), "rows must match"),
        ((CODES[0], CODES, IDS, IDS), "query_codes: shape (4,) is not items x bits"),
        ((CODES * np.nan, CODES, IDS, IDS), "query_codes: not finite"),
        ((CODES.astype(np.uint8) * 200, CODES, IDS, IDS), "unpack packed codes"),
        ((CODES.astype(str), CODES, IDS, IDS), "not numeric"),
        (([[0, 1], [1]], CODES, IDS, IDS), "query_codes: not an array"),
        ((CODES, CODES, IDS + 0.5, IDS), "query_labels: class ids"),
        ((CODES, CODES, CODES * 2, CODES), "query_labels: multi-hot"),
        ((CODES, CODES, CODES, IDS), "both must be class ids"),
        ((CODES, CODES, IDS, IDS, ["nddcg"]), "did you mean ndcg"),
        ((CODES, CODES, IDS, IDS, ["ap"], "random"), "unknown tie policy"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(HashbenchError) as caught:
        hashbench.score(*arguments)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_to_import_hashbench_imports_nothing_heavy() -> None:
    code = "import sys, hashbench; print('numpy' in sys.modules); from hashbench import score; print(callable(score))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hashbench.nothing  # type: ignore[attr-defined]  # noqa: B018
