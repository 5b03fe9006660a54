"""The sparse codes on real images, at the budget that takes minutes of two cores."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hashbench.cli._app import main
from hashbench.runs.guard import row_of
from hashbench.runs.row import Row
from hashbench.runs.run import Options, Run
from hashbench.runs.store import Store


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_learned_codes_retrieve_fewer_items_than_the_largest_dimensions(
    unpacked: Callable[[str], Path], tmp_path: Path
) -> None:
    # Of pairs. Learned codes have a bucket a class, so a SUF near 10 here and near 100 in the paper; the largest of the
    # 256 dimensions that triplets learn have 18 already, whatever they are worth, and the paper's 43.
    with pytest.raises(SystemExit) as done:
        main(["download", "cifar100", "--from-dir", str(unpacked("cifar100"))])
    assert done.value.code == 0
    learned, largest = (smoke_run(method, Store(tmp_path / "results")) for method in ("sparse_hash", "sparse_th"))
    for of_learned, of_largest in (
        (learned.metrics, largest.metrics),
        (learned.searches["test"], largest.searches["test"]),
    ):
        suf = of_learned["suf"].mean, of_largest["suf"].mean
        assert suf[0] is not None
        assert suf[1] is not None
        assert suf[0] > suf[1]
    # one class in ten is right by chance
    assert (learned.metrics["rerank_precision@1"].mean or 0) > 0.2


def smoke_run(method: str, store: Store) -> Row:
    cell = Run.resolve("cifar100", "sparse_hash", method, {"base": "npairs", "k": 1}, budget="smoke")
    row = row_of(cell, store, Options(device="cpu"))
    assert row.status == "ok"
    assert row.budget == "smoke"
    return row
