"""New rows beside the references: those on the same input, or on each input where none is on it."""

from typing import Any

from support.fake_rows import row_of_run

from hashbench.bundle.difference import markdown
from hashbench.runs.row import Row
from hashbench.runs.run import Run


def row(method: str, ap: float, **settings: Any) -> Row:
    return row_of_run(Run.resolve("cifar10", "s1", method, {"bits": 32, **settings}), ap=ap)


def test_a_row_is_compared_with_references_on_its_input_or_else_on_all() -> None:
    stored = [row("itq", 0.25, features="gist"), row("itq", 0.5, features="efficientnet_lite0_128px")]
    on_gist, network = row("lsh", 0.75, features="gist"), row("dpsh", 1.0, model="small_cnn")
    on_other_bits = row("lsh", 0.75, features="gist", bits=16)
    lines = markdown([on_gist, network, on_other_bits], stored).splitlines()[2:]
    assert [line.split(" | ")[5] for line in lines] == [
        "+0.5000 (0.2500, 1 row, gist)",
        "+0.5000 (0.5000, 1 row, efficientnet_lite0_128px); +0.7500 (0.2500, 1 row, gist)",
        "",
    ]
