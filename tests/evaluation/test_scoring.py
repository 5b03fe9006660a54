"""``hashbench.score``: other people's training scripts call this."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.one_line import one_line
from support.python import python
from support.strategies import CodeSet, code_sets

import hashbench
from hashbench.scoring import metrics
from hashbench.scoring.codes import pack
from hashbench.scoring.histogram import count
from hashbench.scoring.metrics import Metrics

NAMES = ["ap", "ap@3", "ap(norm=retrieved)@3", "ndcg", "precision@2", "recall@2", "precision@r1", "auc"]


def scored(codes: CodeSet, names: list[str] = NAMES, ties: Any = "expected") -> hashbench.Scores:
    return hashbench.score(
        codes.query, codes.database, codes.relevance.query_labels, codes.relevance.database_labels, names, ties
    )


@given(code_sets())
def test_scores_are_those_of_the_histogram(codes: CodeSet) -> None:
    scores = scored(codes)
    counted = count(pack(codes.query), pack(codes.database), codes.relevance)
    for name, values in metrics.evaluate(counted, Metrics.parse(NAMES)).items():
        np.testing.assert_allclose(scores.per_query(name), values, atol=1e-12)
        assert scores.value(name) == metrics.summarise(scores.per_query(name))
        assert scores[name] == scores.value(name).mean


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


@settings(max_examples=25)
@given(code_sets(), st.sampled_from(["expected", "order", "best", "worst"]))
def test_every_device_gives_the_same_scores(codes: CodeSet, ties: Any) -> None:
    torch = pytest.importorskip("torch")
    from support.torch_on_cpu import stand_in_for_cuda

    on_cpu = scored(codes, ties=ties)
    relevance = codes.relevance
    with pytest.MonkeyPatch.context() as patch:
        counted_on = stand_in_for_cuda(patch)
        for form in (torch.from_numpy, lambda bits: torch.from_numpy(bits * 2.0 - 1), pack, np.asarray):
            scores = hashbench.score(
                form(codes.query), form(codes.database), relevance.query_labels,
                torch.from_numpy(relevance.database_labels), NAMES, ties, device="cuda",
            )  # fmt: skip
            assert str(scores) == str(on_cpu)
            for name in NAMES:
                np.testing.assert_array_equal(scores.per_query(name), on_cpu.per_query(name))
        assert counted_on == ["cuda:0"] * 4


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "gpu"])
def test_a_device_that_is_not_here_is_said_in_one_line(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with one_line(f"device '?{device}'?: "):
        hashbench.score(CODES, CODES, IDS, IDS, device=device)


def test_when_every_query_is_empty_there_is_no_value() -> None:
    scores = hashbench.score([[0]], [[1]], [1], [2], ["ap"])
    assert scores["ap"] is None
    assert scores.interval("ap") is None
    assert "nan" not in repr(scores)


def lines_of(scores: hashbench.Scores) -> dict[str, tuple[Any, Any]]:
    """The points of each curve of the plot, by the label of its x axis."""
    return {axes.get_xlabel(): axes.lines[0].get_data() for axes in scores.plot().axes}


def test_the_plot_shows_precision_over_recall_and_over_rank() -> None:
    # distance 0: an item that is relevant; distance 1: one of each
    lines = lines_of(hashbench.score(*CASE))
    assert np.allclose(lines["recall"], ([0.5, 1, 1], [1, 2 / 3, 2 / 3]))
    assert np.allclose(lines["N"], ([1, 2, 3], [1, 0.75, 2 / 3]))  # the second rank is tied: 1/2 of it is relevant
    assert np.allclose(lines_of(hashbench.score(*CASE, ties="order"))["N"], lines_of(hashbench.score(*CASE))["N"])


def test_what_cannot_be_plotted_is_said_in_one_line() -> None:
    with one_line("plot: curves are of a histogram of Hamming distances"):
        hashbench.score(*CASE, metrics="ap", weights=[1, 2]).plot()
    with one_line("no query has a relevant item"):
        hashbench.score([[1, 0]], [[1, 0], [0, 0]], [7], [3, 3]).plot()


CASE = [[1, 0]], [[1, 0], [1, 1], [0, 0]], [7], [7, 7, 3]
CODES = np.eye(4)
IDS = np.arange(4)


@pytest.mark.parametrize(
    "arguments, says",
    [
        ((CODES, CODES[:, :3], IDS, IDS), "must agree"),
        ((CODES, CODES, IDS, IDS[:2]), "rows must match"),
        ((CODES[0], CODES, IDS, IDS), "query_codes: shape (4,) is not items x bits"),
        ((CODES * np.nan, CODES, IDS, IDS), "query_codes: not finite"),
        ((CODES.astype(np.uint8) * 200, CODES, IDS, IDS), "packed bytes need their length (bits=N, --layout N)"),
        ((CODES.astype(str), CODES, IDS, IDS), "not numeric"),
        (([[0, 1], [1]], CODES, IDS, IDS), "query_codes: not an array"),
        ((CODES, CODES, IDS + 0.5, IDS), "query_labels: class ids"),
        ((CODES, CODES, CODES * 2, CODES), "query_labels: multi-hot"),
        ((CODES, CODES, IDS, CODES), "both must be class ids"),
        ((CODES, CODES, IDS, IDS, ["nddcg"]), "did you mean ndcg"),
        ((CODES, CODES, ["a", "b", "c", "d"], IDS), "names of classes on one side, numbers on the other"),
        ((CODES, CODES, np.array([["a", "b"]] * 4), IDS), "query_labels: shape (4, 2): names of classes are [n]"),
        ((CODES, CODES, np.array(["a", 1, 2, 3], object), IDS), "query_labels: object is not numeric"),
        ((CODES, CODES, np.array([b"a"] * 4), IDS), "query_labels: |S1 is not numeric"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: tuple[Any, ...], says: str) -> None:
    with one_line(text=says):
        hashbench.score(*arguments)


EIGHT_THREADS = """
import sys, threading
import hashbench
sys.setswitchinterval(1e-5)
start, found, faults = threading.Barrier(8), [], []
def score():
    start.wait()
    try:
        labels = [k % 5 for k in range(40)]
        codes = [[(k >> bit) % 2 for bit in range(6)] for k in range(40)]
        found.append(dict(hashbench.score(codes, codes, labels, labels, "ap,ndcg,mrr,auc,f1@5", exclude_self=True)))
    except BaseException as error:
        faults.append(repr(error))
threads = [threading.Thread(target=score) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(*faults or [len(found), found.count(found[0])])
"""


@pytest.mark.parametrize("processes", [2, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])])
def test_eight_threads_may_be_the_first_to_score(processes: int) -> None:
    for _ in range(processes):
        assert python(EIGHT_THREADS) == "8 8\n"


def test_to_import_hashbench_imports_nothing_heavy() -> None:
    listed = "{*hashbench.__all__} <= {*dir(hashbench)}"  # before anything of it is imported
    code = f"import sys, hashbench; print({listed}, 'numpy' in sys.modules); from hashbench import *; print(train)"
    assert python(code).startswith("True False\n<function train ")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hashbench.nothing  # type: ignore[attr-defined]  # noqa: B018
