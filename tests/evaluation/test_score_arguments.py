"""What ``hashbench.score`` takes and gives back beside arrays: names in one text, packed codes, names of classes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line

import hashbench
from hashbench.scoring.codes import files
from hashbench.scoring.evaluation.scorer import Scorer
from hashbench.scoring.evaluation.scores import Scores
from hashbench.scoring.metrics import Metrics


def example(n_bits: int = 12) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    bits = [rng.integers(0, 2, (n, n_bits), np.uint8) for n in (4, 30)]
    return (*bits, rng.integers(0, 3, 4), rng.integers(0, 3, 30))


@given(st.integers(2, 70), st.sampled_from(["big", "little"]))
def test_packed_codes_score_as_their_bits(n_bits: int, order: Any) -> None:
    query, database, *labels = example(n_bits)
    packed = [np.packbits(bits, axis=1, bitorder=order) for bits in (query, database)]
    result = hashbench.score(*packed, *labels, "ap", bits=n_bits, bit_order=order)
    assert result.to_dict() == hashbench.score(query, database, *labels, "ap").to_dict()
    assert result.n_bits == n_bits


ONES = np.full((4, 2), 255, np.uint8)
IDS = np.arange(4)


@pytest.mark.parametrize(
    "codes, options, says",
    [
        ((ONES, ONES.copy()), {}, "query_codes: 255 is no bit: whole numbers are 0 and 1, or -1 and +1"),
        ((ONES, ONES.copy()), {"bits": 12}, "query_codes: bits beyond n_bits = 12 are set"),
        ((ONES, ONES.copy()), {"bits": 24}, "255 is no bit"),
        ((np.eye(4), np.eye(4)), {"bits": 5}, "query_codes: 4 columns, bits=5: 5 columns, or uint8 of width 1 as"),
        ((np.eye(4), np.eye(4)), {"bits": 3}, "query_codes[:, :3] would be the first 3 bits"),
        (
            (np.eye(4), np.eye(4)),
            {"bits": 4, "bit_order": "bg"},
            "bit_order: 'bg' (str): one of big, little or None is expected",
        ),
        (
            (np.eye(4), np.eye(4)),
            {"ties": "bset"},
            "ties: 'bset' (str): one of expected, best, worst, order is expected",
        ),
        ((np.eye(4), np.eye(4)), {"empty": "none"}, "empty: 'none' (str): one of skip, zero is expected"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(codes: Any, options: dict[str, Any], says: str) -> None:
    with one_line(text=says):
        hashbench.score(*codes, IDS, IDS, **options)


def test_codes_of_minus_1_and_0_beside_codes_of_0_and_1_are_refused() -> None:
    """One rule for both sides: read each by itself, the first would all be the same code."""
    bits = example()[0].astype(int)
    with one_line(r"^query_codes: -1 and 0 and no \+1 are in it"):
        hashbench.score(bits - 1, bits, IDS, IDS)
    with one_line(r"^database_codes: -1 and 0 and no \+1 are in it"):
        hashbench.score(bits, bits - 1, IDS, IDS)
    undecided = np.where(bits > 0, 0, -1)  # among codes of -1 and +1, 0 is an undecided bit
    assert hashbench.score(undecided, 2 * bits - 1, IDS, IDS)["ap"] is not None


def test_an_empty_query_may_score_0() -> None:
    given = [[0, 0], [0, 0]], [[0, 1], [1, 0]], [1, 9], [1, 2], "ap"
    skipped = hashbench.score(*given)
    zero = hashbench.score(*given, empty="zero")
    assert skipped["ap"] == 0.75
    assert zero["ap"] == 0.375
    assert zero.empty == "zero"
    assert zero.per_query("ap").tolist() == [0.75, 0.0]
    weighted = hashbench.score(*given, empty="zero", weights=[1, 1])
    assert weighted["ap"] == 0.375


CLASSES = np.array(["cat", "dog", "Häschen"])


@pytest.mark.parametrize(
    "form", [list, np.array, lambda names: np.array(names, object), lambda names: np.array([names]).T]
)
def test_names_of_classes_are_their_ids(form: Any) -> None:
    query, database, *labels = example()
    names = [form(CLASSES[ids].tolist()) for ids in labels]
    assert (
        hashbench.score(query, database, *names, "ap,ndcg").to_dict()
        == hashbench.score(*example(), "ap,ndcg").to_dict()
    )


def test_a_name_on_one_side_only_and_the_empty_name_match_nothing() -> None:
    scores = hashbench.score([[0], [0], [0]], [[0], [0]], ["owl", "", "cat"], ["cat", ""], "ap")
    assert np.isnan(scores.per_query("ap")).tolist() == [True, True, False]
    none = hashbench.score([[0]], [[0], [0]], [""], ["", "cat"], "ap")
    assert none["ap"] is None
    others = hashbench.score([[0]], [[0], [0]], ["aa"], ["cat", "dog"], "ap")  # both beyond the last known name
    assert others["ap"] is None


def test_to_dict_is_plain_and_whole() -> None:
    scores = hashbench.score([[1, 0]], [[1, 1], [0, 0]], [7], [7, 3], "ap,ap_best")
    ap = {"mean": 0.75, "std": 0.0, "n_queries": 1, "n_empty": 0, "worst": 0.5, "best": 1.0}
    assert scores.to_dict() == {
        "n_queries": 1,
        "n_database": 2,
        "n_bits": 2,
        "ties": "expected",
        "empty": "skip",
        "metrics": {"ap": ap, "ap_best": ap | {"mean": 1.0, "worst": None, "best": None}},
    }
    assert json.loads(json.dumps(scores.to_dict(), allow_nan=False)) == scores.to_dict()


def activations() -> tuple[np.ndarray, ...]:
    query, database, *labels = example()
    return query - 0.5, database - 0.5, *labels


def scored(query: Any, database: Any, *labels: Any, how: str, folder: Path) -> Scores:
    """The scores by ``score``, in batches, on a tensor's device, or of a file."""
    if how == "batches":
        accumulator = hashbench.ScoreAccumulator("ap")
        for rows in (slice(0, 9), slice(9, 30)):
            accumulator.update(database_codes=database[rows], database_labels=labels[1][rows])
        accumulator.update(query_codes=query, query_labels=labels[0])
        return accumulator.compute()
    if how == "file":
        names = ("query_codes", "database_codes", "query_labels", "database_labels")
        np.savez(folder / "codes.npz", **dict(zip(names, (query, database, *labels), strict=True)))
        return Scorer.of_saved(files.load(folder / "codes.npz"), Metrics.parse("ap"), progress=False).scores()
    if how == "tensors":
        torch = pytest.importorskip("torch")
        query, database = (torch.from_numpy(np.asarray(codes)) for codes in (query, database))
    return hashbench.score(query, database, *labels, "ap", device="cuda" if how == "tensors" else "auto")


HOW = ("score", "batches", "tensors", "file")


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(
    "change, says",
    [
        (lambda codes: codes * 0.8 + 0.5, "codes: 0.9 is in it, but no value is below 0: probabilities have the bits"),
        (lambda codes: np.maximum(codes, 0), "codes: 0.5 is in it, but no value is below 0"),
        (lambda codes: (codes * 6).astype(int), "3 is no bit: whole numbers are 0 and 1, or -1 and +1"),
        (lambda codes: codes - 0.5, "codes: -1 and 0 and no +1 are in it"),
    ],
)
def test_values_that_are_no_bits_are_refused_however_they_come(
    how: str, change: Any, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "tensors":
        pytest.importorskip("torch")
        from support.torch_on_cpu import stand_in_for_cuda

        stand_in_for_cuda(monkeypatch)
    query, database, *labels = activations()
    expected = hashbench.score(*example(), "ap")["ap"]
    assert scored(query, database, *labels, how=how, folder=tmp_path)["ap"] == expected
    query[0, 0] = 0.5  # so that the first value is a set bit
    with one_line(re.escape(says)):
        scored(change(query), change(database), *labels, how=how, folder=tmp_path)


PLAIN = np.array([[1, 0, 1], [0, 0, 1]])


def with_torch(make: Callable[[Any], Any]) -> Callable[[], Any]:
    """What ``make`` does with the tensor of ``PLAIN``."""
    return lambda: make(pytest.importorskip("torch").from_numpy(PLAIN.astype(np.float32)))


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "meta": (with_torch(lambda tensor: tensor.to("meta")), "a tensor that is sparse, .* or of the device meta"),
    "sparse": (with_torch(lambda tensor: tensor.to_sparse()), "a tensor that is sparse, "),
    "SciPy": (lambda: scipy.sparse.csr_array(PLAIN), "a sparse matrix: an array is expected"),
    "masked": (lambda: np.ma.masked_equal(PLAIN, 0), "3 of 6 values are masked"),
    "masked rows": (lambda: [np.ma.masked_equal(row, 0) for row in PLAIN], "1 of 3 values are masked"),
    "missing": (lambda: pandas.DataFrame(PLAIN > 0).astype("boolean").replace(False, pandas.NA), "a value is missing"),
    "None": (lambda: [[1, None, 1], [0, 0, 1]], "a value is missing"),
}
TAKEN: dict[str, Callable[[], Any]] = {
    "real view": with_torch(lambda tensor: (tensor + 0j).conj().real),
    "objects": lambda: PLAIN.astype(object),
    "no mask": lambda: np.ma.masked_equal(PLAIN, 7),
    "booleans of pandas": lambda: pandas.DataFrame(PLAIN > 0).astype("boolean"),
    "integers of pandas": lambda: pandas.DataFrame(PLAIN).astype("Int64"),
}


@pytest.mark.parametrize("argument", ["query_codes", "database_codes", "query_labels", "database_labels"])
@pytest.mark.parametrize("kind", REFUSED)
def test_an_array_without_plain_values_is_refused_by_name(kind: str, argument: str) -> None:
    make, says = REFUSED[kind]
    arguments = {"query_codes": PLAIN, "database_codes": PLAIN[:1], "query_labels": PLAIN, "database_labels": PLAIN[:1]}
    with one_line(rf"^{argument}: .*{says}[^\n]*$"):
        hashbench.score(**(arguments | {argument: make()}))


@pytest.mark.parametrize("kind", TAKEN)
def test_every_kind_of_array_with_plain_values_is_taken(kind: str) -> None:
    wanted = hashbench.score(PLAIN, PLAIN[::-1], PLAIN, PLAIN[::-1]).to_dict()
    result = hashbench.score(TAKEN[kind](), PLAIN[::-1], TAKEN[kind](), PLAIN[::-1]).to_dict()
    assert result == wanted
