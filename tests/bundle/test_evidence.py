"""The histograms of a table's runs travel with its rows, and score them in a clone."""

import json
import lzma
import shutil
from pathlib import Path

import pytest
from support import committed, stored_rows
from support.bundles import names
from support.command_line import CommandLine

from hashbench.running.runs.store import Store
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.histogram.retrieval import Retrieval
from hashbench.showing.bundle import pack
from hashbench.showing.tables.spec import load

LSH = "digits-s1-lsh-12b-s0-b0b63c62f4"
LSH1 = "digits-s1-lsh-12b-s1-7579a34798"


def stated(results: Path, run: str) -> str:
    return Store(results).named(run).artefacts["histogram"]


def collect(results: Path, table: str = "digits") -> tuple[list[Path], list[str]]:
    """The histograms that were kept beside the rows of a table, and what was notes."""
    store = Store(results)
    notes: list[str] = []
    return pack.collect(pack.rows_of(load(table), store), store, notes.append), notes


def test_a_clone_with_the_evidence_scores_its_rows_again(hashbench: CommandLine, results: Path, tmp_path: Path) -> None:
    written, notes = collect(results)
    files = sorted((results / "evidence").rglob("*.xz"))
    size = sum(path.stat().st_size for path in files)
    assert sorted(written) == files
    assert notes == []
    assert results / "evidence" / "digits-s1" / f"{stated(results, LSH)}.npz.xz" in files
    assert size < 0.7 * sum(path.stat().st_size for path in results.glob("runs/*/histogram.npz"))

    before = {run: Store(results).histogram(Store(results).named(run)) for run in (LSH, LSH1)}
    shutil.rmtree(results / "runs")
    for run, histogram in before.items():
        kept = Store(results).histogram(Store(results).named(run))
        assert kept is not None and histogram is not None and kept.sha256() == histogram.sha256()
    out = hashbench.printed("bundle digits -o", tmp_path / "b.zip")
    assert "3 rows, 3 with counts, 0 with codes" in out
    out = hashbench.done("verify", tmp_path / "b.zip").out
    assert out.splitlines()[-1] == "no difference; 3 of 3 runs scored again"


def test_a_histogram_of_another_training_is_not_kept(hashbench: CommandLine, results: Path, tmp_path: Path) -> None:
    """Nor packed; but that of the row is, where it was kept before."""
    other = results / "runs" / LSH / "histogram.npz"
    own = other.read_bytes()
    shutil.copy(results / "runs" / LSH1 / "histogram.npz", other)
    written, notes = collect(results)
    assert len(written) == 2
    assert notes == [f"{LSH}: {other} is not kept: it is of another training than the row"]
    other.write_bytes(own)
    assert len(collect(results)[0]) == 1
    shutil.copy(results / "runs" / LSH1 / "histogram.npz", other)
    hashbench.done("bundle digits -o", tmp_path / "b.zip")
    assert [name for name in names(tmp_path / "b.zip") if LSH in name] == [f"results/runs/{LSH}/histogram.npz"]
    hashbench.done("verify", tmp_path / "b.zip")


@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: b"", lambda data: data[:100] + data[101:]])
def test_damaged_evidence_is_named(hashbench: CommandLine, results: Path, tmp_path: Path, damage: object) -> None:
    collect(results)
    shutil.rmtree(results / "runs")
    path = results / "evidence" / "digits-s1" / f"{stated(results, LSH)}.npz.xz"
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    code, out, error = hashbench("bundle digits -o", tmp_path / "b.zip")
    assert code == 1
    assert out == ""
    assert error.startswith(f"error: {path}: not a readable histogram: ")
    shutil.copy(path.with_name(f"{stated(results, LSH1)}.npz.xz"), path)
    hashbench.done("bundle digits -o", tmp_path / "b.zip")
    code, out, error = hashbench("verify", tmp_path / "b.zip")
    assert code == 1 and f"difference: {LSH}: histogram.npz is not what the row was scored from" in out


def test_the_committed_evidence_is_that_of_committed_rows(tmp_path: Path) -> None:
    store = committed.STORE
    stated = {path: name for row in committed.rows() for name, path in store.evidence(row).items()}
    for path in (store.folder / "evidence").rglob("*.xz"):
        kind = Retrieval if stated[path].startswith("retrieval") else Histogram
        file = tmp_path / path.stem
        file.write_bytes(lzma.decompress(path.read_bytes()))  # whole: a reader that seeks in it unpacks it many times
        assert kind.load(file).sha256() == path.name.partition(".")[0]


def test_forged_metrics_are_not_merged(hashbench: CommandLine, results: Path, tmp_path: Path) -> None:
    """The rows are signed again: only the histograms beside them tell."""
    place = stored_rows.edit(
        results, lambda row: row["searches"]["database"]["ndcg"].update(mean=0.99, std=0.0), LSH, sign=True
    )
    honest = stored_rows.names(results)
    honest.remove(LSH)
    mine = tmp_path / "mine"
    for options in (["--dry-run"], []):
        code, out, error = hashbench("--results", mine, "results merge", results, *options)
        assert code == 1 and "not scored again" not in out
        path = place.rpartition(":")[0]
        assert error.startswith(f"left out: {path}: {LSH}: database.ndcg.mean is 0.99, ") and error.count("\n") == 2
    assert stored_rows.names(mine) == honest
    shutil.rmtree(results / "runs")
    out = hashbench.printed("--results", tmp_path / "other", "results merge", results, "--json")
    assert json.loads(out)["not_scored"] == [*stored_rows.names(results)]
