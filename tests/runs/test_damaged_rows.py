"""A row is held against its file's name, its own digests and the ranges of its values; each fault is one line."""

import hashlib
import json
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from support import stored_rows
from support.command_line import CommandLine
from support.one_line import one_line
from support.stored_rows import edited

from hashbench.foundation.errors import CheckFailed
from hashbench.running.runs.row import from_line
from hashbench.running.runs.store import Store

GOOD = min(
    line.text
    for line in Store(Path(__file__).resolve().parents[2] / "results").lines()
    if line.name.startswith("cifar10-s1-mihash-")
)
RUN = GOOD.split('"')[3]
REMEDY = ": delete it and run it again, or restore it from git"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results" / "rows" / "cifar10-s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(f"{GOOD}\n")
    return tmp_path / "results"


def fault(results: Path) -> str:
    with one_line() as caught:
        list(Store(results).rows())
    text = str(caught.value)
    place = f"{results}/rows/cifar10-s1.jsonl:1: "
    assert "\n" not in text and text.startswith(place) and text.endswith(REMEDY)
    return text.removeprefix(place).removesuffix(REMEDY)


def put(place: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Changes the value at a place, such as config.settings.lr."""

    def change(row: dict[str, Any]) -> None:
        *above, last = place.split(".")
        reduce(lambda table, key: table[key], above, row)[last] = value

    return change


AP = "searches.database.ap"
TOO_LARGE = 10**400
CHANGES: list[tuple[str, Any, str]] = [
    (f"{AP}.mean", 2.5, "database.ap.mean is 2.5"),
    (f"{AP}.mean", None, "database.ap has a mean exactly where a query has a relevant item"),
    (f"{AP}.std", 0.6, "database.ap.std is 0.6"),
    (f"{AP}.n_empty", 1001, "database.ap.n_empty is 1001 of 1000 queries"),
    (f"{AP}.n_queries", 7, "database has metrics of different numbers of queries"),
    ("searches.database.ap_worst.mean", 0.9, "database.ap_worst.mean is 0.9, more than that of ap, "),
    ("dataset", "digits", "it is of digits-s1, and the file is of cifar10-s1"),
    ("method", "dpsh", "config.method is 'mihash', method is dpsh"),
    ("config.settings", None, "config has no settings or no data"),
    ("config.settings.lr", 13.0, "cell_hash is not the digest of config"),
    ("config.settings.bits", 13, "settings.bits is 12, in config 13"),
    ("config.data.split", 5, "config.data.split is no table"),
    ("data_sha256", "0" * 64, "data_sha256 is not the checksum in config.data"),
    ("ids_sha256", "0" * 64, "ids_sha256 is not the checksum in config.data.split"),
    ("split_seed", 7, "split_seed is 7, which is not the seed in config.data.split"),
    ("seed", 7, f"run is {RUN}"),
    ("searches", {}, "it did not fail, and searches has no metrics"),
    ("status", "failed", "it failed, and searches has metrics"),
    ("reason", "it diverged", "reason is that of a failure"),
    ("hardware.cpu", "a\x1b[2Jb", "a text of it has characters that cannot be printed"),
    ("hardware.cpu", "a\u202eb", "a text of it has characters that cannot be printed"),
    ("distinct_codes", {"queries": 1001, "database": 2}, "distinct_codes.queries is 1001 of 1000 queries"),
    (f"{AP}.mean", 0.7, "row_sha256 is not the digest of the row: it was edited after it was written"),
]
INVALID: list[tuple[str, Any, str]] = [
    ("seconds.train", -1.0, "seconds.train: Input should be greater than or equal to 0, got -1.0"),
    ("seconds.train", TOO_LARGE, "seconds.train: Input should be a valid number"),
    ("seed", 10**30, "seed: Input should be less than"),
    ("reason", "x" * 10**6, "reason: String should have at most 1000 characters"),
    ("utc", "2026-02-30T12:00:00Z", "utc: a time in UTC such as 2026-01-31T12:00:00Z is expected, got '2026-02-30"),
    ("utc", "2026-W05-6T12:00:00Z", "utc: a time in UTC such as 2026-01-31T12:00:00Z is expected, got '2026-W"),
    ("artefacts.histogram", "../../x", "artefacts.histogram: String should match"),
]
FOREIGN = "not a row that hashbench wrote:"


def test_a_value_that_no_run_gives_is_named_with_or_without_its_digest(results: Path) -> None:
    """A forger may have computed the digest again; such a row is found where rows of other folders are read."""
    for place, value, complaint in CHANGES:
        for sign in (False, True):
            if sign and complaint.startswith("row_sha256"):
                continue
            stored_rows.replace_first(results, edited(GOOD, put(place, value), sign=sign))
            assert fault(results).startswith(f"{FOREIGN} {complaint}")
    stored_rows.replace_first(results, GOOD.partition(',"row_sha256"')[0] + "}")
    assert fault(results) == f"{FOREIGN} it has no row_sha256 at its end"


@pytest.mark.parametrize("place, value, complaint", INVALID)
def test_a_value_that_no_row_can_hold_is_named(results: Path, place: str, value: Any, complaint: str) -> None:
    stored_rows.replace_first(results, edited(GOOD, put(place, value)))
    text = fault(results)
    assert text.startswith(complaint) and len(text) < 300


def test_a_file_under_the_name_of_another_protocol_gives_no_row(results: Path) -> None:
    path = results / "rows" / "cifar10-s1.jsonl"
    path.rename(path.with_name("cifar10-s2.jsonl"))
    faults: list[str] = []
    assert list(Store(results).rows(lambda error: faults.append(str(error)))) == []
    assert faults == [
        f"{path.with_name('cifar10-s2.jsonl')}:1: {FOREIGN} it is of cifar10-s1, and the file is of cifar10-s2{REMEDY}"
    ]


def test_the_digest_of_a_configuration_is_that_of_what_is_read_and_not_of_some_text_in_the_line(results: Path) -> None:
    """A forger hides the configuration of the digests where the text of the line is looked through for it."""
    row = json.loads(GOOD)
    del row["row_sha256"]
    notes_seen = json.dumps(row["config"], separators=(",", ":"), sort_keys=True)
    row["config"] = {**row["config"], "settings": {**row["config"]["settings"], "lr": 13.0}}
    rest = json.dumps({key: value for key, value in row.items() if key != "run"}, separators=(",", ":"))[1:]
    for key in ('"config":', r'"\u0063onfig":', '"config" :'):
        shown_first = f'{{"run":"{row["run"]}","config":{notes_seen},"config_hash":"x",'
        text = shown_first + rest.replace('"config":', key, 1)
        line = f'{text[:-1]},"row_sha256":"{hashlib.sha256(text.encode()).hexdigest()}"}}'
        with pytest.raises(CheckFailed, match="cell_hash is not the digest of config"):
            from_line(line, f"{results}/rows/cifar10-s1.jsonl:1")


@pytest.mark.parametrize(
    "text, complaint",
    [
        ('{"seed": 0, "seed": 1}', "not a readable row: the key 'seed' is there twice"),
        ('{"metrics": {"ap": {"mean": NaN}}}', "not a readable row: NaN is no number"),
        ("[" * 100_000, "not a readable row: nested too deep"),
        ("[]", "not a readable row: an object was expected"),
        ("{}", "key 'schema' is missing"),
        ("<<<<<<< HEAD", "not a readable row: Expecting value"),  # of a merge in git that nobody has ended
    ],
)
def test_a_text_that_is_no_row_is_named(results: Path, text: str, complaint: str) -> None:
    (results / "rows" / "cifar10-s1.jsonl").write_text(text)
    assert fault(results).startswith(complaint)


def test_a_byte_that_is_not_utf_8_damages_its_line_alone(results: Path) -> None:
    path = results / "rows" / "cifar10-s1.jsonl"
    path.write_bytes(b"\xff\xfe\n" + f"{GOOD}\n".encode())
    faults: list[str] = []
    assert [row.run for row in Store(results).rows(lambda error: faults.append(str(error)))] == [RUN]
    assert len(faults) == 1 and faults[0].startswith(f"{path}:1: not a readable row: ")
    assert Store(results).named(RUN).run == RUN


def test_a_row_that_a_removed_option_made_is_read(results: Path) -> None:
    how = {"precision": "float32", "compiled": True, "channels_last": False, "processes": 4}
    stored_rows.edit(results, lambda row: row.update(arithmetic=how))
    (line,) = Store(results).lines()
    assert from_line(line.text, line.place).arithmetic.model_dump() == how  # type: ignore[union-attr]


def test_a_speed_up_may_be_more_than_one(results: Path) -> None:
    value = {"mean": 60.2, "std": None, "n_queries": 1000, "n_empty": 0}
    stored_rows.edit(results, lambda row: row["searches"]["database"].update(suf=value))
    (line,) = Store(results).lines()
    assert from_line(line.text, line.place).metrics["suf"].mean == 60.2


def test_a_table_goes_on_without_a_damaged_row_unless_it_is_kept_or_checked(
    results: Path, hashbench: CommandLine
) -> None:
    whole = hashbench.printed("table cifar10_small_cnn")
    path = results / "rows" / "cifar10-s1.jsonl"
    path.write_text(f"{GOOD}\n{{\n")
    complaint = f"{path}:2: not a readable row: Expecting property name"
    code, out, err = hashbench("table cifar10_small_cnn")
    assert code == 1
    assert out == whole
    assert err.startswith(f"left out: {complaint}") and err.count("\n") == 2
    assert err.endswith("\nerror: 1 left out: see the line above\n")
    for option in ("--write", "--check"):
        code, _, err = hashbench("table cifar10_small_cnn", option)
        assert code == 1 and err.startswith(f"error: {complaint}") and err.count("\n") == 1
    assert [row.run for row in Store.default().rows(lambda _: None)] == [RUN]
