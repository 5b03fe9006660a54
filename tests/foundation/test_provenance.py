"""What a row says of the machine."""

from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from hashbench.foundation import provenance

X86 = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\nstepping\t: 1\n\nmodel\t\t: 2\n"
ARM = "processor\t: 0\nCPU architecture: 8\nCPU part\t: 0xd40\n\nprocessor\t: 1\n"


@pytest.mark.parametrize(
    "cpuinfo, expected", [(X86, ("AMD EPYC", "25", "1")), (ARM, (provenance.platform.processor(), "8", "0xd40"))]
)
def test_the_family_and_model_of_the_first_processor(
    cpuinfo: str, expected: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    monkeypatch.setattr(provenance, "Path", lambda name: tmp_path / "cpuinfo")
    monkeypatch.setattr(provenance.sys, "platform", "linux")
    assert tuple(provenance.processor().values()) == expected


def test_a_machine_that_says_nothing_of_its_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance.sys, "platform", "darwin")
    monkeypatch.setattr(provenance, "_output", lambda *command: None)
    assert provenance.processor() == {"cpu": provenance.platform.processor(), "cpu_family": None, "cpu_model": None}


def test_the_instruction_set_is_that_which_the_loaded_blas_has_chosen() -> None:
    chosen = [f"openblas {pool['architecture']}" for pool in threadpool_info() if pool["internal_api"] == "openblas"]
    if not chosen:
        pytest.skip("NumPy has another BLAS here")
    assert chosen[-1] in provenance.instructions().split(", ")
    assert provenance.instructions().startswith("numpy ")
