"""Rows that are committed keep filling their cells: the names of runs are those of the first edition."""

import hashlib
import json
from pathlib import Path

import pytest

from hashbench.runs.run import Run
from hashbench.runs.store import ROW_DIGEST, Store, read

REPOSITORY = Path(__file__).resolve().parents[2]
ROWS = sorted((REPOSITORY / "results" / "rows").glob("cifar10-s1/*.json"))


def test_there_are_rows() -> None:
    assert len(ROWS) >= 18


@pytest.mark.parametrize("path", ROWS, ids=lambda path: path.stem)
def test_a_committed_row_is_found_by_the_names_and_settings_of_its_run(path: Path) -> None:
    row = read(path)
    spec = Run.resolve(row.dataset, row.protocol, row.method, row.settings, seed=row.seed, budget=row.budget)
    assert (spec.run, spec.config_hash, spec.cell_hash) == (row.run, row.config_hash, row.cell_hash)
    assert spec.config == row.config
    assert Run.from_row(row).run == row.run
    assert Store(REPOSITORY / "results").find(row.dataset, row.protocol, row.run) == row


def test_each_committed_row_holds_its_digest() -> None:
    paths = sorted((REPOSITORY / "results" / "rows").glob("*/*.json"))
    assert [path.name for path in paths if ROW_DIGEST not in json.loads(path.read_text())] == []


def test_a_row_without_a_digest_is_of_before_there_was_one(tmp_path: Path) -> None:
    copy = tmp_path / ROWS[0].parent.name / ROWS[0].name
    copy.parent.mkdir()
    content = json.loads(ROWS[0].read_text())
    del content[ROW_DIGEST]
    copy.write_text(json.dumps(content))
    assert read(copy) == read(ROWS[0])


def test_the_weights_that_tables_start_from_are_those_of_a_row() -> None:
    folder = REPOSITORY / "results"
    made = [read(path).weights_sha256 for path in (folder / "rows").glob("*/*-classifier-*.json")]
    found = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / "weights").iterdir()}
    assert found
    for name, checksum in found.items():
        assert checksum in made
        assert name.endswith(f"-{checksum[:12]}")
