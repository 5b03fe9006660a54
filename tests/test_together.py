"""Cases that run as one test: every bad one is reported, and each has its own folder."""

from pathlib import Path

import pytest
from support.together import together


def test_every_bad_case_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEN", "")

    def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: int, good: bool) -> None:
        monkeypatch.setenv("SEEN", str(case))
        assert not list(tmp_path.iterdir())
        (tmp_path / "left").touch()
        with pytest.raises(ValueError):
            int("x" if good else "1")

    run_all = together("case, good", [(1, False), (2, True), (3, False)])(check)
    with pytest.raises(AssertionError, match=r"2 of 3 cases:\n.*'case': 1.*\n.*'case': 3.*DID NOT RAISE"):
        run_all(tmp_path=tmp_path, monkeypatch=monkeypatch)
