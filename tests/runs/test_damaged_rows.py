"""A row is held against its file's name, its own digests and the ranges of its values; each fault is one line."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hashbench.cli._app import main
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.store import Store, file_text, read

REPOSITORY = Path(__file__).resolve().parents[2]
GOOD = min((REPOSITORY / "results" / "rows" / "cifar10-s1").glob("*-mihash-*.json"))
REMEDY = ": delete it and run it again, or restore it from git"


@pytest.fixture
def row(tmp_path: Path) -> Path:
    path = tmp_path / "results" / "rows" / GOOD.parent.name / GOOD.name
    path.parent.mkdir(parents=True)
    shutil.copy(GOOD, path)
    return path


def fault(path: Path) -> str:
    with pytest.raises(HashbenchError) as caught:
        read(path)
    text = str(caught.value)
    assert "\n" not in text and text.startswith(f"{path}: ") and text.endswith(REMEDY)
    return text.removeprefix(f"{path}: ").removesuffix(REMEDY)


def of_ap(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda row: row["metrics"]["ap"].update(changes)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "metrics.ap.mean is 2.5": of_ap(mean=2.5),
    "metrics.ap.mean is -0.5": of_ap(mean=-0.5),
    "metrics.ap.std is -0.1": of_ap(std=-0.1),
    "metrics.ap.n_empty is 1001 of 1000 queries": of_ap(n_empty=1001),
    "metrics.ap.n_empty is -1 of 1000 queries": of_ap(n_empty=-1),
    f"run is '../../..', and the file is called {GOOD.name}": lambda row: row.update(run="../../.."),
    "it is of digits-s1, and the folder is called cifar10-s1": lambda row: row.update(dataset="digits"),
    "config.method is 'mihash', method is dpsh": lambda row: row.update(method="dpsh"),
    "config.dataset is None, dataset is cifar10": lambda row: row.update(config={}),
    "config has no settings or no data": lambda row: row["config"].pop("settings"),
    "cell_hash is not the digest of config": lambda row: row["config"]["settings"].update(bits=13),
    "config_hash is not the digest of config and seed": lambda row: row.update(seed=7),
    "distinct_codes.queries is 1001 of 1000 queries": lambda row: row.update(
        distinct_codes={"queries": 1001, "database": 2}
    ),
    "row_sha256 is not the digest of the row: it was edited after it was written": of_ap(mean=0.5),
    "seconds are negative": lambda row: row["seconds"].update(train=-1.0),
}


@pytest.mark.parametrize("complaint", CHANGES)
def test_a_value_that_no_run_gives_is_named(row: Path, complaint: str) -> None:
    values = json.loads(row.read_text())
    CHANGES[complaint](values)
    row.write_text(json.dumps(values))
    shown = complaint.replace("run is '../../..'", "run is ../../..")
    assert fault(row) == f"not a row that hashbench wrote: {shown}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ("[]", "an object was expected"),
        ('{"seed": 0, "seed": 1}', "the key 'seed' is there twice"),
        ('{"metrics": {"ap": {"mean": NaN}}}', "NaN is no number"),
        ('{"metrics": {"ap": {"mean": -Infinity}}}', "-Infinity is no number"),
        ('{"metrics": {"ap": {"mean": 1e999}}}', "1e999 is no number"),
        ("[" * 100_000, "nested deeper than 32 levels"),
        ('{"config": ' * 500 + "0" + "}" * 500, "nested deeper than 32 levels"),
    ],
)
def test_a_text_that_is_no_row_is_named(row: Path, text: str, complaint: str) -> None:
    row.write_text(text)
    assert fault(row) == f"not a readable row: {complaint}"


def test_a_row_that_lacks_a_part_names_it(row: Path) -> None:
    row.write_text("{}")
    assert fault(row) == "key 'schema' is missing"


def test_a_row_that_is_no_file_is_not_waited_for(row: Path) -> None:
    row.unlink()
    os.mkfifo(row)
    assert fault(row) == "not a readable row: it is a folder, a pipe or a device"
    row.unlink()
    row.mkdir()
    assert fault(row) == "not a readable row: it is a folder, a pipe or a device"
    row.rmdir()
    row.symlink_to(row.name)
    assert "oo many levels of symbolic links" in fault(row)


def test_a_speed_up_may_be_more_than_one(row: Path) -> None:
    values = json.loads(row.read_text())
    values["metrics"] |= {"suf": {"mean": 60.2, "std": None, "n_queries": 1000, "n_empty": 0}}
    row.write_text(file_text(values))
    assert read(row).metrics["suf"].mean == 60.2


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    captured = capsys.readouterr()
    return exit_.value.code, captured.out, captured.err


def test_a_table_goes_on_without_a_damaged_row_unless_it_is_kept_or_checked(
    row: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, whole, err = call(capsys, "table", "cifar10_small_cnn")
    assert (code, err) == (0, "")
    other = row.with_name("another.json")
    other.write_text("{")
    complaint = f"{other}: not a readable row: Expecting property name"
    code, out, err = call(capsys, "table", "cifar10_small_cnn")
    assert (code, out) == (1, whole)
    assert err.startswith(f"left out: {complaint}") and err.count("\n") == 2
    assert err.endswith("\nerror: 1 row cannot be read: see the lines above\n")
    for option in ("--write", "--check"):
        code, _, err = call(capsys, "table", "cifar10_small_cnn", option)
        assert code == 2 and err.startswith(f"error: {complaint}") and err.count("\n") == 1
    assert [each.run for each in Store.default().rows(lambda _: None)] == [row.stem]
