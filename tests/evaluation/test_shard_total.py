"""Shards add up to the whole: any codes, any labels, any cuts, in any order, and through the file."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import CodeSet, code_sets

from hashbench.running.jobs.shards import CountTask, Source, shards_of
from hashbench.scoring import histogram
from hashbench.scoring.codes import files
from hashbench.scoring.codes.files import Explicit
from hashbench.scoring.evaluation import diagnostics
from hashbench.scoring.evaluation.shard_total import Total, read_total, write_total
from hashbench.scoring.relevance.labels import ClassRelevance

BY_ITEMS = Explicit(layout="items-by-bits")


def written(folder: Path, codes: CodeSet, cuts: list[int]) -> list[tuple[int, int]]:
    """The whole, the queries and the pieces, as files; where the pieces begin and end."""
    labels = codes.relevance
    queries = {"query_codes": codes.query, "query_labels": labels.query_labels}
    np.savez(folder / "whole.npz", database_codes=codes.database, database_labels=labels.database_labels, **queries)
    np.savez(folder / "queries.npz", **queries)
    bounds = list(pairwise(sorted({0, len(codes.database), *(cut for cut in cuts if cut < len(codes.database))})))
    for old in folder.glob("db-*.npz"):
        old.unlink()
    for number, (start, stop) in enumerate(bounds):
        piece = {"database_codes": codes.database[start:stop], "database_labels": labels.database_labels[start:stop]}
        np.savez(folder / f"db-{number}.npz", **piece)
    return bounds


def of_one_class(database: np.ndarray) -> CodeSet:
    """One query, which is the first item."""
    return CodeSet(database[:1], database, ClassRelevance(np.zeros(1, int), np.zeros(len(database), int)))


def total_of(folder: Path, order: st.DataObject | None = None) -> Total:
    """The sum of the shards of the folder, in an order that is drawn."""
    source = Source((folder / "queries.npz",), BY_ITEMS)
    shards = shards_of(str(folder / "db-*.npz"))
    total = None
    for shard in shards if order is None else order.draw(st.permutations(shards)):
        counted = CountTask(source, shard, source.content_of(shard)).run()
        total = counted if total is None else total.merged(counted)
    assert total is not None
    return total


@settings(max_examples=60, deadline=None)
@given(codes=code_sets(), cuts=st.lists(st.integers(1, 11), max_size=5), order=st.data())
def test_any_shards_in_any_order_are_the_whole(
    tmp_path_factory: pytest.TempPathFactory, codes: CodeSet, cuts: list[int], order: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("shards", numbered=True)
    bounds = written(folder, codes, cuts)
    whole = files.load(folder / "whole.npz", explicit=BY_ITEMS)
    expected = histogram.count(whole.query, whole.database, whole.relevance)
    total = total_of(folder, order)
    write_total(folder / "counts.npz", total)
    kept = read_total(folder / "counts.npz")
    assert kept is not None and kept.entries == total.entries and len(kept.entries) == len(bounds)
    for total_or_kept in (total, kept):
        assert total_or_kept.evidence.n_items == len(codes.database)
        assert total_or_kept.evidence.histogram.sha256() == expected.sha256()
        assert total_or_kept.evidence.without_class == whole.relevance.without_class()
        alike = diagnostics.diagnose(whole.database)
        diagnosed = total_or_kept.evidence.tally.diagnostics()
        assert diagnosed.n_items == alike.n_items
        assert diagnosed.n_distinct == alike.n_distinct
        assert diagnosed.dead == alike.dead
        np.testing.assert_array_equal(diagnosed.ones, alike.ones)


def test_distinct_codes_beyond_the_limit_stay_beyond_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "DISTINCT_LIMIT", 5)
    database = np.unpackbits(np.arange(8, dtype=np.uint8)[:, None], axis=1)
    written(tmp_path, of_one_class(database), [4])
    total = total_of(tmp_path)
    assert total.evidence.tally.diagnostics().n_distinct is None  # 4 and 4, each below the limit
    write_total(tmp_path / "counts.npz", total)
    kept = read_total(tmp_path / "counts.npz")
    assert kept is not None and kept.evidence.tally.diagnostics().n_distinct is None
