"""How long missing runs take: the median of the past runs that are most like them."""

from pathlib import Path

import pytest
from support.fake_rows import fake_row, sample_spec
from support.on_digits import on_digits

from hashbench.running.runs.past import Past
from hashbench.running.runs.row import Row, Seconds, to_line
from hashbench.running.runs.store import Line


def past(seconds: float, dataset: str, status: str = "ok", budget: str = "full", **settings: int | str) -> Row:
    """The row of a run of DPSH that took so many seconds."""
    row = fake_row(sample_spec().cells[0], 0, status)
    took = Seconds(train=seconds / 2, encode=seconds / 4, score=seconds / 4)
    dataset, _, protocol = dataset.partition("/")
    names = {"method": "dpsh", "dataset": dataset, "protocol": protocol or "s1", "budget": budget}
    return row.model_copy(update={**names, "seconds": took, "config": {**names, "settings": settings}})


WANTED = on_digits("dpsh", {"bits": 12, "model": "mlp"})
CLOSE = [past(seconds, "digits", model="mlp", bits=12) for seconds in (10, 20, 90)]
OTHER_SIZE = [past(200, "digits", model="mlp", bits=48)]
OTHER_PROTOCOL = [past(700, "digits/s2", model="mlp", bits=12)]
OTHER_DATA = [past(3000, "cifar10", model="mlp", bits=12)]
OTHER_NETWORK = [past(1e6, "digits", model="linear", bits=12)]
OTHER_BUDGET = [past(5, "digits", budget="smoke", model="mlp", bits=12)]
FAILED = [past(1, "digits", "failed", model="mlp", bits=12)]


@pytest.mark.parametrize(
    "rows, seconds",
    [
        (CLOSE + OTHER_SIZE + OTHER_PROTOCOL + OTHER_DATA + OTHER_NETWORK, 20),
        (OTHER_SIZE + OTHER_PROTOCOL + OTHER_DATA + OTHER_NETWORK, 200),
        (OTHER_PROTOCOL + OTHER_DATA + OTHER_NETWORK, 700),
        (OTHER_DATA + OTHER_NETWORK, 3000),
        (OTHER_NETWORK, None),
        (OTHER_BUDGET, None),
        (FAILED, None),
        ([], None),
    ],
)
def test_the_closest_runs_tell(rows: list[Row], seconds: float | None) -> None:
    assert Past.of(rows).of_run(WANTED) == seconds
    lines = [Line(Path("rows"), 1, row.run, to_line(row)) for row in rows]
    assert Past.of_lines(lines) == Past.of(rows)
