"""The runs of a grid that somebody asks for: by names, seed and settings, and what cannot be asked for."""

import pytest
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation.config import Setting
from hashbench.running.runs.run import Run
from hashbench.showing.tables.cell_runs import select

METHODS = {"lsh": {}, "itq": {}, "talr_ap": {"model": "linear"}}
RUNS = [
    on_digits(method, {"bits": bits, **settings}, seed=seed)
    for method, settings in METHODS.items()
    for bits in (8, 16)
    for seed in (0, 1)
]


def named(runs: list[Run]) -> list[tuple[str, int, int]]:
    return [(run.name.method, run.settings.bits, run.name.seed) for run in runs]


def test_nothing_wanted_is_every_run() -> None:
    assert select(RUNS, []) == RUNS


def test_keys_are_all_needed_and_values_of_one_key_are_alternatives() -> None:
    wanted: list[tuple[str, Setting]] = [("bits", 16), ("method", "TALR-AP"), ("seed", 1), ("method", "lsh")]
    assert named(select(RUNS, wanted)) == [("lsh", 16, 1), ("talr_ap", 16, 1)]
    assert named(select(RUNS, reversed(wanted))) == [("lsh", 16, 1), ("talr_ap", 16, 1)]


def test_a_run_without_the_setting_is_left_out() -> None:
    assert {run.name.method for run in select(RUNS, [("model", "linear")])} == {"talr_ap"}


def test_a_default_value_of_a_setting_can_be_asked_for() -> None:
    variant = dict(RUNS[-1].settings)["variant"]
    assert {run.name.method for run in select(RUNS, [("variant", variant)])} == {"talr_ap"}


@pytest.mark.parametrize(
    "wanted, complaint",
    [
        ([("bit", 8)], "unknown key of --only 'bit': did you mean bits"),
        ([("bits", 32)], "--only bits=32: unknown bits '32': one of 16, 8"),
        ([("seed", True)], "--only seed=True: unknown seed 'True': one of 0, 1"),
        ([("method", "tlsh")], "--only method=tlsh: unknown method 'tlsh': did you mean lsh"),
        ([("model", "linear"), ("method", "itq")], "--only model=linear --only method=itq: no run has all"),
    ],
)
def test_what_no_run_has_is_refused(wanted: list[tuple[str, Setting]], complaint: str) -> None:
    with one_line() as caught:
        select(RUNS, wanted)
    assert str(caught.value).startswith(complaint)
