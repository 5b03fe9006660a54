"""Arguments of an odd type, given to each function that users call from Python, are one line that names them."""

import inspect
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from support.one_line import one_line

import hashbench
from hashbench.foundation.arguments import checked_arguments
from hashbench.foundation.errors import HashbenchError

CODES = np.eye(4)
IDS = np.arange(4)
NEEDED: dict[str, dict[str, Any]] = {
    "score": {"query_codes": CODES, "database_codes": CODES.copy(), "query_labels": IDS, "database_labels": IDS},
    "train": {"method": "itq", "dataset": "digits", "lr": 0.1},
    "load": {"run": "digits-s1-itq"},
    "rows": {},
    "ScoreAccumulator": {},
}
ODD = [5.5, b"x", [1], {}, object(), ["ap", 5], np.array([1, 2]), [[1], [2, 3]], {1}, lambda: 1]
CALLS = [
    (name, argument)
    for name, needed in NEEDED.items()
    for argument in sorted({*inspect.signature(getattr(hashbench, name)).parameters, *needed} - {"settings"})
]


@pytest.mark.parametrize("name, argument", CALLS)
def test_an_argument_of_an_odd_type_is_one_line(name: str, argument: str, tmp_path: Path) -> None:
    for odd in ODD:
        if name == "train" and isinstance(odd, float) and argument == "lr":
            continue
        results = {} if name in ("score", "rows", "ScoreAccumulator") else {"results": tmp_path}
        try:
            getattr(hashbench, name)(**{**results, **NEEDED[name], argument: odd})
        except HashbenchError as error:
            assert len(str(error)) < 400
        assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: hashbench.score(CODES, CODES, IDS, IDS, 5), "metrics: 5 (int): a text, a list of texts or None is"),  # type: ignore[arg-type]
        (lambda: hashbench.score(CODES, CODES, IDS, IDS, ties=5), "ties: 5 (int): one of expected, best, worst, order"),  # type: ignore[arg-type]
        (lambda: hashbench.load(5), "run: 5 (int): a text or a path is expected"),  # type: ignore[arg-type]
        (lambda: hashbench.rows([1]), "results: [1] (list): a text, a path or None is expected"),  # type: ignore[arg-type]
        (lambda: hashbench.train("itq", "digits", lr=[1]), "lr: [1] (list): a number, a text or True or False is"),  # type: ignore[arg-type]
    ],
)
def test_the_line_names_the_argument_and_what_is_expected(call: Any, says: str) -> None:
    with one_line(text=says):
        call()


@checked_arguments
def one(n: int, rate: float = 0.5, kind: Literal["a", "b"] = "a", *, path: str | Path = "", **more: bool) -> Any:
    return n, rate, kind, path, more


NUMBERS: Any = (np.int64(3), np.float32(0.5))


def test_numbers_of_numpy_are_plain_and_the_rest_is_as_it_was() -> None:
    n, rate, *others = one(*NUMBERS, path=Path("x"), fast=True)
    assert type(n) is int
    assert type(rate) is float
    assert others == ["a", Path("x"), {"fast": True}]
    with one_line("n: True "):
        one(True)
    with pytest.raises(TypeError, match=r"one\(\) missing 1 required"):
        one()  # type: ignore[call-arg]
