"""The files that commands write: through main(), into pipes, links and full devices."""

from pathlib import Path

import numpy as np
import pytest
from support.command_line import status as run
from support.limits import file_size_limit
from support.report_root import report_root


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    arrays = {f"{role}_codes": draw.integers(0, 2, (n, 8), np.uint8) for role, n in (("query", 3), ("database", 20))}
    labels = {f"{role}_labels": np.arange(n) % 2 for role, n in (("query", 3), ("database", 20))}
    np.savez(tmp_path / "codes.npz", **arrays, **labels)
    return tmp_path / "codes.npz"


def test_a_link_is_followed_and_a_folder_refused(
    codes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link").symlink_to("file")
    assert run("eval", codes, "--metric", "ap", "--per-query", tmp_path / "link") == 0
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").stat().st_size > 10
    capsys.readouterr()
    assert run("eval", codes, "--metric", "ap", "--per-query", tmp_path) == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}: a folder, a device or a pipe; the file")


WRITERS = {
    "eval": "eval codes.npz --per-query out/q.csv --curves out --trec out",
    "table": "table tiny --write",
    "figure": "figure tiny --write",
}


@pytest.mark.parametrize("writer", WRITERS)
def test_on_a_full_disk_all_files_of_a_command_stay_as_they_were(
    codes: Path, tmp_path: Path, writer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_root(tmp_path, monkeypatch)
    monkeypatch.chdir(codes.parent)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert run(*WRITERS[writer].split()) == 0
    written = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    sizes = sorted(path.stat().st_size for path in written)
    for path in written:
        path.write_text("old")
    with file_size_limit(sizes[-1] - 1):  # the largest does not fit, and others do
        assert sizes[0] < sizes[-1] - 1
        assert run(*WRITERS[writer].split()) == 2
    assert {path.read_text() for path in written} == {"old"}
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before | written
