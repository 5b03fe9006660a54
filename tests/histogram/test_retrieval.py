"""The retrieval that is kept of a run: what it accepts, and its file against damage."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.one_line import one_line

from hashbench.scoring.histogram.retrieval import CUTOFFS, Reranked, Retrieval


def sample(n_items: int = 30, q: int = 3, *, contingency: bool = True) -> Retrieval:
    rng = np.random.default_rng(n_items)
    reranked = {
        cutoff: Reranked(
            rng.integers(0, 2, (q, min(cutoff, n_items))).astype(bool),
            rng.integers(min(cutoff, n_items), n_items + 1, q),
        )
        for cutoff in CUTOFFS
    }
    return Retrieval(n_items, reranked, rng.integers(0, 9, (4, 2)) if contingency else None)


def changed(content: Retrieval, **changes: Any) -> Retrieval:
    whole = {"n_items": content.n_items, "reranked": content.reranked, "contingency": content.contingency}
    return Retrieval(**{**whole, **changes})


def require_same(one: Retrieval, other: Retrieval) -> None:
    assert one.n_items == other.n_items
    assert one.sha256() == other.sha256()
    for cutoff in CUTOFFS:
        assert all(map(np.array_equal, one.reranked[cutoff], other.reranked[cutoff]))
    assert (one.contingency is None) == (other.contingency is None)
    assert one.contingency is None or np.array_equal(one.contingency, other.contingency)  # type: ignore[arg-type]


@pytest.mark.parametrize("content", [sample(), sample(contingency=False), sample(n_items=3), sample(q=0)])
def test_what_is_saved_comes_back(tmp_path: Path, content: Retrieval) -> None:
    content.save(tmp_path / "deep" / "retrieval.npz")
    require_same(Retrieval.load(tmp_path / "deep" / "retrieval.npz"), content)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["retrieval.npz"]


def test_any_change_changes_the_checksum() -> None:
    content = sample()
    assert content.contingency is not None
    first = content.reranked[4]
    relevant = ~first.relevant
    others = [
        changed(content, n_items=31),
        changed(content, reranked={**content.reranked, 4: first._replace(relevant=relevant)}),
        changed(content, reranked={**content.reranked, 4: first._replace(n_candidates=np.full(3, 20))}),
        changed(content, contingency=None),
        changed(content, contingency=content.contingency.T),
    ]
    assert len({stored.sha256() for stored in [content, *others]}) == 6


def put(name: str, at: int, value: Any) -> Callable[[dict[int, Reranked]], dict[int, Reranked]]:
    def edit(reranked: dict[int, Reranked]) -> dict[int, Reranked]:
        return {**reranked, at: reranked[at]._replace(**{name: value})}

    return edit


@pytest.mark.parametrize(
    "edit, message",
    [
        (lambda reranked: {1: reranked[1]}, "searches for 1 items: 1, 4, 16 are expected"),
        (lambda reranked: {}, "searches for no items"),
        (
            put("relevant", 4, np.ones((3, 5), bool)),
            "relevant, bool of shape (3, 5): bool (3, 4) and 4 to 30 candidates",
        ),
        (put("relevant", 4, np.ones((2, 4), bool)), "bool (3, 4) and 4 to 30"),
        (put("relevant", 4, np.ones((3, 4))), "relevant, float64 of shape (3, 4)"),
        (put("n_candidates", 4, np.array([4, 3, 9])), "4 to 30 candidates of each query are expected"),
        (put("n_candidates", 4, np.array([4, 31, 9])), "4 to 30 candidates of each"),
        (put("n_candidates", 4, np.array([4.0, 5.0, 9.0])), "4 to 30 candidates of each"),
        (put("n_candidates", 4, np.array([4, 5])), "4 to 30 candidates of each"),
    ],
)
def test_searches_that_cannot_be_are_refused(edit: Callable[[Any], Any], message: str) -> None:
    with one_line(text=message):
        changed(sample(), reranked=edit(sample().reranked))


@pytest.mark.parametrize(
    "name, array, message",
    [
        ("n_items", None, "n_items"),
        ("relevant_4", None, "relevant_4"),
        ("contingency", None, "contingency"),
        ("n_items", np.array(30.5), "float"),
        ("n_items", np.array([30, 30]), "scalar"),
        ("n_items", np.array(29), "29"),
        ("n_candidates_1", np.array(3), "candidates|unsized|len"),
        ("relevant_16", np.array([[{}]], object), "allow_pickle"),
        ("contingency", np.array([["a"]]), "contingency"),
    ],
)
def test_a_file_of_something_else_is_one_line(tmp_path: Path, name: str, array: Any, message: str) -> None:
    arrays = {**sample()._arrays(), name: array}
    arrays["n_candidates_16"] = np.array([16, 17, 30])
    path = tmp_path / "retrieval.npz"
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    with one_line(rf"not a readable retrieval.*({message})"):
        Retrieval.load(path)
