"""Every row of schema 1 was moved into the files of rows with all its values: its digest of before is found again."""

import json
import shutil
from pathlib import Path
from typing import Any, get_args

import pytest

from hashbench.foundation.config import digest
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.row import Artefact, Row, read_schema_1, to_json
from hashbench.runs.store import Store

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = Path(__file__).with_name("data")
# the start of the SHA-256 of each of the 2,098 rows, and its run: all keys of schema 1 with the defaults of those that
# the row had not, as canonical JSON. They were written by the last version of hashbench that had schema 1.
DIGESTS = dict(line.split()[::-1] for line in (DATA / "rows_of_schema_1.txt").read_text().splitlines())
SEARCHES = {"metrics": "database", "metrics_weighted": "weighted", "metrics_of_test": "test"}
LOOSE = sorted((DATA / "schema_1").glob("*/*.json"))  # two rows of the digits, as that version wrote them


def as_schema_1(row: Row) -> dict[str, Any]:
    """The content of a row as it was in schema 1: the inverse of ``read_schema_1``."""
    content: dict[str, Any] = json.loads(to_json(row))
    searches, artefacts = content.pop("searches"), content.pop("artefacts")
    for key in ("threads", "peak_memory"):
        assert content.pop(key) is None
    content |= {key: searches.get(search, {}) for key, search in SEARCHES.items()}
    content |= {f"{name}_sha256": artefacts.get(name) for name in get_args(Artefact)}
    return {**content, "schema": 1}


def test_every_row_of_schema_1_is_there_with_its_values() -> None:
    rows = {row.run: row for row in Store(REPOSITORY / "results").rows()}
    assert len(DIGESTS) == 2098
    assert [run for run in DIGESTS if run not in rows] == []
    assert [run for run, before in DIGESTS.items() if digest(as_schema_1(rows[run]))[:32] != before] == []


@pytest.mark.parametrize("path", LOOSE, ids=lambda path: path.stem)
def test_conversion_keeps_every_value(path: Path) -> None:
    before = json.loads(path.read_text())
    del before["row_sha256"]
    assert as_schema_1(read_schema_1(path)) == before


@pytest.fixture
def loose(tmp_path: Path) -> Path:
    path = tmp_path / "digits-s1" / LOOSE[0].name
    path.parent.mkdir()
    return Path(shutil.copy(LOOSE[0], path))


def test_damage_of_a_row_of_schema_1_is_named(loose: Path) -> None:
    good = json.loads(loose.read_text())
    damages: dict[str, Any] = {
        "not a readable row: Expecting value": "",
        "row_sha256 is not its digest: it was edited": {**good, "utc": "2000-01-01T00:00:00Z"},
        "a row of schema version 2": {**good, "schema": 2},
        "key 'schema' is missing": {key: value for key, value in good.items() if key != "schema"},
        "cell_hash is not the digest of config": {**good, "config": {**good["config"], "more": 1}},
        "run is x, and the file is called": {**good, "run": "x"},
    }
    for complaint, content in damages.items():
        loose.write_text(content if isinstance(content, str) else json.dumps(content))
        with pytest.raises(HashbenchError, match=complaint) as caught:
            read_schema_1(loose)
        assert str(caught.value).startswith(f"{loose}: ")
    loose.write_text(json.dumps({key: value for key, value in good.items() if key != "row_sha256"}))
    assert read_schema_1(loose) == read_schema_1(LOOSE[0])  # the oldest rows have no digest
