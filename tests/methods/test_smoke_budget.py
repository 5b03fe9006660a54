"""The sparse codes on real images, at the budget that takes minutes of two cores."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hashbench import experiment, measure
from hashbench.cli._app import main
from hashbench.results import Row, Store


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("base", ["triplet", "npairs"])
def test_learned_codes_retrieve_fewer_items_than_the_largest_dimensions(
    base: str, unpacked: Callable[[str], Path], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as done:
        main(["download", "cifar100", "--from-dir", str(unpacked("cifar100"))])
    assert done.value.code == 0
    learned, largest = (run(method, base, Store(tmp_path / "results")) for method in ("sparse_hash", "sparse_th"))
    for of_learned, of_largest in (
        (learned.metrics, largest.metrics),
        (learned.metrics_of_test, largest.metrics_of_test),
    ):
        suf = of_learned["suf"].mean, of_largest["suf"].mean
        assert suf[0] is not None
        assert suf[1] is not None
        assert suf[0] > suf[1]
    # ten classes: the nearest of an untrained network's candidates is right once in ten
    assert (learned.metrics["rerank_precision@1"].mean or 0) > 0.3


def run(method: str, base: str, store: Store) -> Row:
    cell = experiment.resolve("cifar100", "sparse_hash", method, {"base": base, "k": 1}, budget="smoke")
    row = measure.run(cell, store, measure.Options(device="cpu"))
    assert row.status == "ok"
    assert row.budget == "smoke"
    return row
