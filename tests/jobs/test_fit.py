"""How many runs --jobs auto executes at the same time."""

import pytest

from hashbench.running.jobs import fit
from hashbench.running.jobs.fit import CONTEXT, GIB, Measured, Usage, jobs_that_fit
from hashbench.running.jobs.task import Call, Postponed


@pytest.mark.parametrize(
    "usage, n_gpus, jobs",
    [
        (Usage(2 * GIB), 0, 9),  # 90% of 20 GiB
        (Usage(GIB), 0, 16),  # a core each
        (Usage(30 * GIB), 0, 1),
        (Usage(None), 0, 16),
        (Usage(GIB, 10 * GIB - CONTEXT, 80 * GIB), 1, 7),
        (Usage(GIB, 10 * GIB - CONTEXT, 80 * GIB), 2, 14),
        (Usage(GIB, 79 * GIB, 80 * GIB), 1, 1),
    ],
)
def test_as_many_as_cores_memory_and_gpus_allow(
    usage: Usage, n_gpus: int, jobs: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fit, "available_memory", lambda: 20 * GIB)
    monkeypatch.setattr(fit, "available_cores", lambda: 16)
    assert jobs_that_fit(usage, n_gpus) == jobs
    assert f": {jobs} run at the same time, on 16 cores" in capsys.readouterr().err


def test_a_task_is_measured_where_it_is_done() -> None:
    result, usage = Measured(Call(lambda: bytes(1 << 26).count(0))).run()
    assert result == 1 << 26
    assert usage.memory is None or usage.memory > 1 << 26
    assert isinstance(Measured(Call(Postponed)).run(), Postponed)
    assert fit.available_memory() > 1 << 26
