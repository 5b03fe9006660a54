"""A setting that has no value from anywhere: one sentence with the option, and no path of a file."""

import pytest

from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.run import Run


@pytest.mark.parametrize(
    ("method", "settings", "complaint"),
    [
        ("talr_ap", {}, "talr_ap on digits needs bits: --bits BITS"),
        ("lsh", {"centre": True}, "lsh on digits needs bits: --bits BITS"),
        ("sparse_th", {"bits": 12}, "sparse_th makes sparse codes, which have no bits: --set d=D --set k=K"),
        ("lsh", {"bits": 12, "centre": 5}, "lsh on digits: centre: true, false or range is expected, got 5"),
    ],
)
def test_the_error_says_what_to_give(method: str, settings: dict[str, Setting], complaint: str) -> None:
    with pytest.raises(HashbenchError) as caught:
        Run.resolve("digits", "s1", method, settings)
    assert str(caught.value) == complaint
