"""``hashbench results merge`` of a bundle: rows of others are scored again from their codes, by the labels here."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import stored_rows
from support.bundles import Change, changed, content, json_changed, names, row_changed, row_in
from support.command_line import CommandLine
from support.on_digits import on_digits

from hashbench.foundation.config import digest
from hashbench.foundation.errors import HashbenchError
from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.scoring import metrics
from hashbench.scoring.metrics import Metrics
from hashbench.showing.bundle.arrays import read_codes

MAKER = "<script>alert(1)</script> @all"
ROWS = "results/rows/digits-s1.jsonl"
ITQ, LSH = (str(on_digits(method, {"bits": 12}).name) for method in ("itq", "lsh"))
CODES = f"results/runs/{LSH}/codes.npz"


@pytest.fixture
def mine(bundle: Path, tmp_path: Path) -> Path:
    """The bundle of the three runs, with the name of who made it."""
    edit = json_changed(lambda found: found.update(maker=MAKER))
    return changed(bundle, tmp_path / "mine.zip", {"manifest.json": edit}, listed=False)


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "into"


def tree(folder: Path) -> dict[str, bytes]:
    """All files but the lock."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


def left_out(hashbench: CommandLine, into: Path, path: Path) -> str:
    """What is said of the LSH row of seed 0, which alone is not merged; --dry-run writes nothing."""
    for options in (["--dry-run"], []):
        code, out, error = hashbench("--results", into, "results merge", path, *options)
        assert (code, out.splitlines()[1]) == (1, "  2 copied"), (out, error)
        assert into.exists() == (not options)
    assert LSH not in stored_rows.names(into)
    first = error.splitlines()[0]
    assert first.startswith(f"left out: {path}: {LSH}: ")
    return first.removeprefix(f"left out: {path}: {LSH}: ")


def test_rows_are_merged_with_their_maker_and_their_counts(
    hashbench: CommandLine, mine: Path, trained: Path, into: Path
) -> None:
    out = hashbench.printed("--results", into, "results merge", mine)
    assert out.splitlines()[1:] == ["  3 copied", f"  3 histograms kept in {into / 'evidence'}"]
    own, merged = ({row.run: row for row in Store(folder).rows()} for folder in (trained, into))
    assert merged == {run: row.model_copy(update={"maker": MAKER}) for run, row in own.items()}
    assert all(Store(into).histogram(row) is not None for row in merged.values())
    listed = hashbench("--results", into, "list runs").out
    assert " ".join(listed.split()).count(f"by {MAKER}") == 3
    sheet = hashbench("--results", into, "show", ITQ).text
    assert f" by {MAKER} machine " in sheet

    before = tree(into)
    out = hashbench.printed("--results", into, "results merge", mine)
    assert tree(into) == before
    assert "  3 already here" in out


def test_by_names_the_maker(hashbench: CommandLine, results: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    hashbench.done("bundle digits --by 'Ada L.' -o", path)
    assert json.loads(content(path, "manifest.json"))["maker"] == "Ada L."
    assert hashbench("verify", path).lines[0].endswith(", rows of Ada L.")
    for name in ("", "two\nlines", "x" * 81, "\u202eback", " a"):
        assert hashbench.refused(f"bundle digits --by '{name}' -o", path).startswith("--by ")


def last_bit(row: dict[str, Any]) -> None:
    """A change that verify takes for rounding."""
    row["searches"]["database"]["ap"]["mean"] += 1e-12


def test_a_forged_value(hashbench: CommandLine, bundle: Path, tmp_path: Path, into: Path) -> None:
    path = changed(bundle, tmp_path / "b.zip", {ROWS: row_changed(last_bit, LSH)}, listed=True)
    assert left_out(hashbench, into, path).startswith("database.ap.mean is ")


def test_without_the_data_set_the_labels_beside_the_codes_count(
    hashbench: CommandLine, bundle: Path, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise HashbenchError("digits: not here")

    monkeypatch.setattr("hashbench.showing.bundle.here.open_dataset", gone)
    code, out, error = hashbench("--results", into, "results merge", bundle)
    assert code == 0 and "  3 copied" in out
    assert error.count("scored by the labels beside its codes: digits: not here\n") == 3


def arrays_of(data: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(data)) as found:
        return dict(found)


def stored(arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def fitted(bundle: Path, folder: Path, arrays: dict[str, Any]) -> Path:
    """A bundle whose LSH row, histogram and codes fit each other, as a forger would make them of these ``arrays``."""
    file = folder / "codes.npz"
    row = Row.model_validate(row_without_digest(bundle))
    file.write_bytes(stored(arrays))
    codes = read_codes(file, row)
    assert codes.relevance is not None
    counts = codes.histogram(codes.relevance)
    counts.save(folder / "histogram.npz")
    values = metrics.mean_values(counts, Metrics.parse(list(row.metrics), source=None))

    def edit(content: dict[str, Any]) -> None:
        content["searches"] = {"database": {name: value.model_dump() for name, value in values.items()}}
        content["artefacts"] = {"histogram": counts.sha256()}
        content["distinct_codes"] = codes.distinct.model_dump()

    histogram = (folder / "histogram.npz").read_bytes()
    changes: dict[str, Change] = {
        ROWS: row_changed(edit, LSH),
        CODES: file.read_bytes(),
        f"results/runs/{LSH}/histogram.npz": histogram,
    }
    return changed(bundle, folder / "fitted.zip", changes, listed=True)


def row_without_digest(bundle: Path) -> dict[str, Any]:
    row = row_in(content(bundle, ROWS), LSH)
    row.pop("row_sha256")
    return row


def test_labels_of_its_own_are_not_taken(hashbench: CommandLine, bundle: Path, tmp_path: Path, into: Path) -> None:
    """Codes, labels, histogram and row fit each other, so verify finds nothing; the data set here has other labels."""
    arrays = arrays_of(content(bundle, CODES))
    for side in ("query", "database"):
        arrays[f"{side}_labels"] = np.zeros_like(arrays[f"{side}_labels"])  # all are relevant
    path = fitted(bundle, tmp_path, arrays)
    hashbench.done("verify", path)
    assert left_out(hashbench, into, path).startswith("codes.npz gives another histogram: SHA-256 is ")


def test_longer_codes_than_the_row_says(hashbench: CommandLine, bundle: Path, tmp_path: Path, into: Path) -> None:
    arrays = arrays_of(content(bundle, CODES))
    for side in ("query_codes", "database_codes"):
        arrays[side] = np.hstack([arrays[side], arrays[side]])
    arrays["n_bits"] = 24
    path = fitted(bundle, tmp_path, arrays)
    assert left_out(hashbench, into, path).startswith("codes.npz has codes of 24 bits, the row is of 12")
    assert hashbench("verify", path).code == 1


def reconfigured(bundle: Path, path: Path, change: Callable[[dict[str, Any]], object]) -> tuple[Path, str]:
    """The bundle with another configuration of the LSH row, all digests and names made to fit; and its new name."""
    row = row_without_digest(bundle)
    change(row)
    row["cell_hash"], row["config_hash"] = digest(row["config"]), digest({**row["config"], "seed": row["seed"]})
    row["run"] = f"digits-s1-{row['method']}-12b-s0-{row['config_hash'][:10]}"
    lines = row_changed(lambda content: (content.clear(), content.update(row, row_sha256="")), LSH)
    changes: dict[str, Change] = {ROWS: lines}
    for name in names(bundle):
        if name.startswith(f"results/runs/{LSH}/"):
            changes |= {name: None, name.replace(LSH, row["run"]): content(bundle, name)}
    return changed(bundle, path, changes, listed=True), row["run"]


def test_another_protocol_and_other_settings_than_are_here(
    hashbench: CommandLine, bundle: Path, tmp_path: Path, into: Path
) -> None:
    changes: list[tuple[Callable[[dict[str, Any]], object], str]] = [
        (lambda row: row["config"]["data"]["split"].update(seed=9), "of a protocol of digest "),
        (lambda row: row["config"]["settings"].update(evil=1), ""),
        (lambda row: row["config"].update(base="evil"), "its configuration cannot be read"),
    ]
    for number, (change, complaint) in enumerate(changes):
        path, run = reconfigured(bundle, tmp_path / f"{number}.zip", change)
        code, _, error = hashbench("--results", into, "results merge", path)
        assert code == 1 and error.startswith(f"left out: {path}: {run}: {complaint}")
        assert run not in stored_rows.names(into)


def test_a_row_of_a_method_that_is_not_installed_here(
    hashbench: CommandLine, bundle: Path, tmp_path: Path, into: Path
) -> None:
    def change(row: dict[str, Any]) -> None:
        row["method"] = row["config"]["method"] = "their_hash"

    path, run = reconfigured(bundle, tmp_path / "b.zip", change)
    hashbench.done("--results", into, "results merge", path)
    assert run in stored_rows.names(into)
