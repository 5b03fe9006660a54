"""``as_released`` of TALR-NDCG: the integers of the released code are named, and those of old runs stay as they are."""

from functools import partial
from typing import cast

import pytest

from hashbench.foundation.errors import HashbenchError
from hashbench.losses import Supervision
from hashbench.methods import talr_ndcg
from hashbench.methods.talr_ndcg import Settings
from hashbench.runs.run import Run


def spec(**given: object) -> Run:
    return Run.resolve("digits", "s1", "talr_ndcg", {"bits": 12, **given})  # type: ignore[dict-item]


def arguments(**given: object) -> dict[str, object]:
    settings = spec(**given).settings
    assert isinstance(settings, Settings)
    objective = talr_ndcg._objective(settings, cast("Supervision", None))
    assert isinstance(objective, partial)
    return objective.keywords


def test_the_integers_of_the_released_code_reach_the_loss() -> None:
    assert "levels" not in arguments()
    assert arguments(as_released=True)["levels"] == "int8"
    assert arguments(as_released=True, released_levels="int16")["levels"] == "int16"


def test_the_default_is_the_release_before_may_2021_and_renames_no_run() -> None:
    before = spec(as_released=True)
    assert spec(as_released=True, released_levels="int8").name.config_hash == before.name.config_hash
    assert spec(as_released=True, released_levels="int16").name.config_hash != before.name.config_hash


@pytest.mark.parametrize(
    ("given", "says"),
    [({"released_levels": "int16"}, "set as_released = true"), ({"released_levels": "int32"}, "'int8' or 'int16'")],
)
def test_integers_without_as_released_are_refused(given: dict[str, object], says: str) -> None:
    with pytest.raises(HashbenchError, match=says):
        spec(**given)


def test_average_precision_has_no_such_integers() -> None:
    with pytest.raises(HashbenchError, match="released_levels"):
        Run.resolve("digits", "s1", "talr_ap", {"bits": 12, "as_released": True, "released_levels": "int16"})
