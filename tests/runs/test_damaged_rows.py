"""A row is held against its file's name, its own digests and the ranges of its values; each fault is one line."""

import hashlib
import json
from collections.abc import Callable
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


def of_ap(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda row: row["searches"]["database"]["ap"].update(changes)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "database.ap.mean is 2.5": of_ap(mean=2.5),
    "database.ap.mean is -0.5": of_ap(mean=-0.5),
    "database.ap.std is -0.1": of_ap(std=-0.1),
    "database.ap.n_empty is 1001 of 1000 queries": of_ap(n_empty=1001),
    "database.ap.n_empty is -1 of 1000 queries": of_ap(n_empty=-1),
    "it is of digits-s1, and the file is of cifar10-s1": lambda row: row.update(dataset="digits"),
    "config.method is 'mihash', method is dpsh": lambda row: row.update(method="dpsh"),
    "config.dataset is None, dataset is cifar10": lambda row: row.update(config={}),
    "config has no settings or no data": lambda row: row["config"].pop("settings"),
    "cell_hash is not the digest of config": lambda row: row["config"]["settings"].update(lr=13.0),
    "config_hash is not the digest of config and seed": lambda row: row.update(seed=7, run=RUN.replace("-s0-", "-s7-")),
    "settings.bits is 12, in config 13": lambda row: row["config"]["settings"].update(bits=13),
    "data_sha256 is not the checksum in config.data": lambda row: row.update(data_sha256="0" * 64),
    "ids_sha256 is not the checksum in config.data.split": lambda row: row.update(ids_sha256="0" * 64),
    "split_seed is 7, which is not the seed in config.data.split": lambda row: row.update(split_seed=7),
    "config.data.split is no table": lambda row: row["config"]["data"].update(split=5),
    "it did not fail, and searches has no metrics": lambda row: row.update(searches={}),
    "it failed, and searches has metrics": lambda row: row.update(status="failed", reason="it diverged"),
    "reason is that of a failure": lambda row: row.update(reason="it diverged"),
    "database.ap has a mean exactly where a query has a relevant item": of_ap(mean=None),
    "database has metrics of different numbers of queries": of_ap(n_queries=7),
    "database.ap.std is 0.6": of_ap(std=0.6),
    "database.ap_worst.mean is 0.9, more than that of ap, ": lambda row: row["searches"]["database"]["ap_worst"].update(
        mean=0.9
    ),
    "database.ap.n_empty is 0 of 9223372036854775808 queries": of_ap(n_queries=2**63),
    "hardware.cpu is 'a\\x1b[2Jb'": lambda row: row["hardware"].update(cpu="a\x1b[2Jb"),
    "hardware.cpu is 'a\\u202eb'": lambda row: row["hardware"].update(cpu="a\u202eb"),
    "a key of versions is 'a\\x07'": lambda row: row["versions"].update({"a\a": "1"}),
    "config.settings.note is 'a\\x1b'": lambda row: (
        row["config"]["settings"].update(note="a\x1b"),
        stored_rows.named_again(row),
    ),
    "distinct_codes.queries is 1001 of 1000 queries": lambda row: row.update(
        distinct_codes={"queries": 1001, "database": 2}
    ),
    "row_sha256 is not the digest of the row: it was edited after it was written": of_ap(mean=0.7),
}
TOO_LARGE = 10**400
INVALID: dict[str, Callable[[dict[str, Any]], object]] = {
    "seconds.train: Input should be greater than or equal to 0, got -1.0": lambda row: row["seconds"].update(
        train=-1.0
    ),
    "seconds.train: Input should be a valid number": lambda row: row["seconds"].update(train=TOO_LARGE),
    "searches.database.ap.mean: Input should be a valid number": of_ap(mean=TOO_LARGE),
    "utc: a time in UTC such as ": lambda row: row.update(utc="2026-02-30T12:00:00Z"),
    "seed: Input should be less than": lambda row: row.update(seed=10**30),
    "distinct_codes.database: Input should be less than": lambda row: row.update(
        distinct_codes={"queries": 1, "database": 10**30}
    ),
    "hardware.cpu.": lambda row: row["hardware"].update(cpu="x" * 10**6),
    "reason: String should have at most 1000 characters": lambda row: row.update(reason="x" * 10**6),
    "utc: a time in UTC such as 2026-01-31T12:00:00Z is expected, got 'yesterday'": lambda row: row.update(
        utc="yesterday"
    ),
    "utc: a time in UTC such as 2026-01-31T12:00:00Z is expected, got '9999-": lambda row: row.update(
        utc="9999-01-01T00:00:00Z"
    ),
    "utc: a time in UTC such as 2026-01-31T12:00:00Z is expected, got '2026-W": lambda row: row.update(
        utc="2026-W05-6T12:00:00Z"
    ),
    "artefacts.histogram: String should match": lambda row: row["artefacts"].update(histogram="../../x"),
}
FOREIGN = "not a row that hashbench wrote:"
UNSIGNED = "it has no row_sha256 at its end"


def test_a_value_that_no_run_gives_is_named_with_or_without_its_digest(results: Path) -> None:
    """A forger may have computed the digest again; such a row is found where rows of other folders are read."""
    for complaint, change in CHANGES.items():
        stored_rows.replace_first(results, edited(GOOD, change, sign=False))
        assert fault(results).startswith(f"not a row that hashbench wrote: {complaint}")
        if not complaint.startswith("row_sha256"):
            stored_rows.replace_first(results, edited(GOOD, change))
            assert fault(results).startswith(f"not a row that hashbench wrote: {complaint}")
    stored_rows.replace_first(results, GOOD.partition(',"row_sha256"')[0] + "}")
    assert fault(results) == f"not a row that hashbench wrote: {UNSIGNED}"


@pytest.mark.parametrize("complaint", INVALID)
def test_a_value_that_no_row_can_hold_is_named(results: Path, complaint: str) -> None:
    stored_rows.replace_first(results, edited(GOOD, INVALID[complaint]))
    found = fault(results)
    assert found.startswith(complaint) and len(found) < 300


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
    told = json.dumps(row["config"], separators=(",", ":"), sort_keys=True)
    row["config"] = {**row["config"], "settings": {**row["config"]["settings"], "lr": 13.0}}
    rest = json.dumps({key: value for key, value in row.items() if key != "run"}, separators=(",", ":"))[1:]
    for key in ('"config":', r'"\u0063onfig":', '"config" :'):
        shown_first = f'{{"run":"{row["run"]}","config":{told},"config_hash":"x",'
        text = shown_first + rest.replace('"config":', key, 1)
        line = f'{text[:-1]},"row_sha256":"{hashlib.sha256(text.encode()).hexdigest()}"}}'
        with pytest.raises(CheckFailed, match="cell_hash is not the digest of config"):
            from_line(line, f"{results}/rows/cifar10-s1.jsonl:1")


def test_a_text_that_is_no_row_is_named(results: Path) -> None:
    damages = {
        '"seed": 0, "seed": 1': "the key 'seed' is there twice",
        '"metrics": {"ap": {"mean": NaN}}': "NaN is no number",
        '"metrics": {"ap": {"mean": -Infinity}}': "-Infinity is no number",
        '"metrics": {"ap": {"mean": 1e999}}': "1e999 is no number",
    }
    path = results / "rows" / "cifar10-s1.jsonl"
    for text, complaint in damages.items():
        path.write_text(f"{{{text}}}")
        assert fault(results) == f"not a readable row: {complaint}"
    path.write_text("[" * 100_000)
    assert fault(results) == "not a readable row: nested too deep"
    path.write_text("[]")
    assert fault(results) == "not a readable row: an object was expected"
    path.write_text("{}")
    assert fault(results) == "key 'schema' is missing"
    path.write_text("<<<<<<< HEAD")  # of a merge in git that nobody has ended
    assert fault(results).startswith("not a readable row: Expecting value")


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
    assert [each.run for each in Store.default().rows(lambda _: None)] == [RUN]
