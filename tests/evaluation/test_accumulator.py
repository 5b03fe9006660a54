"""``hashbench.ScoreAccumulator``: batches in any order and of any size score as the whole."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.one_line import one_line
from support.strategies import CodeSet, code_sets

import hashbench

NAMES = "ap,ap(norm=retrieved)@3,ndcg,recall@1,5,precision@r1,pr_area"


def cuts(data: st.DataObject, n: int) -> list[slice]:
    ends = sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))
    return [slice(start, stop) for start, stop in pairwise([0, *ends, n])]


@settings(max_examples=40)
@given(code_sets(), st.sampled_from(["expected", "order"]), st.data())
def test_any_batches_in_any_order_score_as_the_whole(codes: CodeSet, ties: Any, data: st.DataObject) -> None:
    sides = {"query": codes.query, "database": codes.database}
    labels = {side: getattr(codes.relevance, f"{side}_labels") for side in sides}
    batches = {side: cuts(data, len(classes)) for side, classes in sides.items()}
    order = data.draw(st.permutations([side for side, rows in batches.items() for _ in rows]))
    names = NAMES.replace(",pr_area", "") if ties == "order" else NAMES
    accumulator = hashbench.ScoreAccumulator(names, ties, empty="zero")
    for side in order:
        rows = batches[side].pop(0)
        accumulator.update(**{f"{side}_codes": sides[side][rows], f"{side}_labels": labels[side][rows]})
    whole = hashbench.score(codes.query, codes.database, *labels.values(), names, ties, empty="zero")
    collected = accumulator.compute()
    assert collected.to_dict() == whole.to_dict()
    for name in whole:
        np.testing.assert_array_equal(collected.per_query(name), whole.per_query(name))


def example() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    return rng.standard_normal((6, 20)), rng.standard_normal((30, 20)), rng.integers(0, 3, 6), rng.integers(0, 3, 30)


def fed(
    accumulator: hashbench.ScoreAccumulator, query: Any, database: Any, classes: Any, labels: Any
) -> hashbench.Scores:
    accumulator.update(
        query_codes=query[:4], query_labels=classes[:4], database_codes=database[:9], database_labels=labels[:9]
    )
    accumulator.update(database_codes=database[9:], database_labels=labels[9:])
    accumulator.update(query_codes=query[4:], query_labels=classes[4:])
    return accumulator.compute()


def test_compute_may_come_in_between_and_reset_forgets() -> None:
    accumulator = hashbench.ScoreAccumulator("ap")
    query, database, classes, labels = example()
    accumulator.update(query_codes=query, query_labels=classes, database_codes=database[:9], database_labels=labels[:9])
    assert accumulator.compute()["ap"] == hashbench.score(query, database[:9], classes, labels[:9], "ap")["ap"]
    accumulator.update(database_codes=database[9:], database_labels=labels[9:])
    assert accumulator.compute()["ap"] == hashbench.score(*example(), "ap")["ap"]
    accumulator.reset()
    with one_line("query: no batch yet"):
        accumulator.compute()
    assert fed(accumulator, *example())["ap"] == hashbench.score(*example(), "ap")["ap"]


def test_tensors_are_packed_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from support.torch_on_cpu import stand_in_for_cuda

    from hashbench.scoring.evaluation import arrays

    query, database, *labels = example()
    on_cpu = hashbench.score(query, database, *labels, NAMES)
    counted_on = stand_in_for_cuda(monkeypatch)
    monkeypatch.setattr(arrays, "pack", lambda bits: pytest.fail("the codes left the device"))
    tensors = [torch.from_numpy(codes) for codes in (query, database)]
    collected = fed(hashbench.ScoreAccumulator(NAMES, device="cuda"), *tensors, *map(torch.from_numpy, labels))
    assert counted_on == ["cuda:0"]
    assert collected.to_dict() == on_cpu.to_dict()


@pytest.mark.parametrize(
    "batch, says",
    [
        ({}, "nothing to add: query_codes and query_labels"),
        ({"query_codes": np.eye(4)}, "query_codes and query_labels: a batch needs both"),
        ({"database_labels": np.arange(4)}, "database_codes and database_labels: a batch needs both"),
        ({"query_codes": np.eye(4), "query_labels": np.arange(3)}, "query_labels: 3 rows, query_codes has 4"),
        ({"query_codes": np.eye(4, 5), "query_labels": np.arange(4)}, "a batch of 5 bits after batches of 4 bits"),
        (
            {"query_codes": np.eye(4), "query_labels": np.eye(4)},
            "a batch of 4 columns of labels after batches of class",
        ),
        (
            {"query_codes": np.eye(4), "query_labels": list("abcd")},
            "a batch of names of classes after batches of class",
        ),
        ({"query_codes": np.eye(4) * np.nan, "query_labels": np.arange(4)}, "query_codes: not finite"),
    ],
)
def test_a_wrong_batch_is_said_and_changes_nothing(batch: dict[str, Any], says: str) -> None:
    accumulator = hashbench.ScoreAccumulator("ap")
    right = {"query_codes": np.eye(4), "query_labels": np.arange(4)}
    accumulator.update(**right, database_codes=np.eye(4), database_labels=np.arange(4))
    before = accumulator.compute().to_dict()
    other = (
        {}
        if "database_labels" in batch or not batch
        else {"database_codes": np.eye(4), "database_labels": np.arange(4)}
    )
    with one_line(text=says):
        accumulator.update(**batch, **other)
    assert accumulator.compute().to_dict() == before
