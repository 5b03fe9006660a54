"""``hashbench results add``: rows of others are scored again from their codes; all are added, or none is."""

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import stored_rows
from support.bundles import Change, changed, content, json_changed, names, row_changed, row_in
from support.command_line import call
from support.small_root import small_root

from hashbench import metrics
from hashbench.bundle.arrays import read_codes
from hashbench.bundle.pack import Order, pack
from hashbench.foundation.config import digest
from hashbench.foundation.errors import HashbenchError
from hashbench.metrics import Metrics
from hashbench.report import contents, page
from hashbench.runs.guard import row_of
from hashbench.runs.row import Row
from hashbench.runs.run import Run
from hashbench.runs.store import Store
from tests.bundle.test_kinds_of_runs import SPARSE, declare, recipes

MAKER = "<script>alert(1)</script> @all"
ROWS = "results/rows/digits-s1.jsonl"
ITQ, LSH = (str(Run.resolve("digits", "s1", method, {"bits": 12}).name) for method in ("itq", "lsh"))
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


def refused(capsys: pytest.CaptureFixture[str], into: Path, *paths: Path) -> str:
    """What is said of the last bundle; nothing is written, with --dry-run or without."""
    before = tree(into)
    for options in ([], ["--dry-run"]):
        code, out, error = call(capsys, "--results", into, "results", "add", *paths, *options)
        assert (code, out, error.count("\n")) == (2, "", 1), (out, error)
        assert tree(into) == before
    start = f"error: {paths[-1]}: "
    assert error.startswith(start)
    return error.removeprefix(start).strip()


def test_rows_are_added_with_their_maker_and_their_counts(
    capsys: pytest.CaptureFixture[str], mine: Path, trained: Path, into: Path
) -> None:
    code, out, error = call(capsys, "--results", into, "results", "add", mine)
    assert (code, error) == (0, "") and out.endswith(f"\n3 rows added to {into}\n")
    own, added = ({row.run: row for row in Store(folder).rows()} for folder in (trained, into))
    assert added == {run: row.model_copy(update={"maker": MAKER}) for run, row in own.items()}
    assert all(Store(into).histogram(row) is not None for row in added.values())
    listed = call(capsys, "--results", into, "results", "list")[1]
    assert " ".join(listed.split()).count(f"by {MAKER}") == 3
    sheet = " ".join(call(capsys, "--results", into, "results", "show", ITQ)[1].split())
    assert f" by {MAKER} machine " in sheet

    before = tree(into)
    code, out, error = call(capsys, "--results", into, "results", "add", mine)
    assert (code, error) == (0, "")
    assert out == f"0 rows added to {into}; 3 rows with these values already here: nothing to do\n"
    assert tree(into) == before


def test_the_maker_of_a_row_stays_when_another_one_packs_it(
    capsys: pytest.CaptureFixture[str], mine: Path, into: Path, tmp_path: Path
) -> None:
    assert call(capsys, "--results", into, "results", "add", mine)[0] == 0
    rows = {row.run: row for row in Store(into).rows()}
    again = Order("digits", codes=False, maker="Other")
    pack(again, tmp_path / "b.zip", Store(into), lambda _: None)
    assert row_in(content(tmp_path / "b.zip", ROWS), ITQ)["maker"] == MAKER == rows[ITQ].maker
    assert "of rows by Other" in content(tmp_path / "b.zip", "README.md").decode()


def test_by_names_the_maker(capsys: pytest.CaptureFixture[str], results: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    assert call(capsys, "bundle", "digits", "--by", "Ada L.", "-o", path)[0] == 0
    assert json.loads(content(path, "manifest.json"))["maker"] == "Ada L."
    assert call(capsys, "verify", path)[1].splitlines()[0].endswith(", rows of Ada L.")
    for name in ("", "two\nlines", "x" * 81, "\u202eback", " a"):
        code, out, error = call(capsys, "bundle", "digits", "--by", name, "-o", path)
        assert (code, out, error.count("\n")) == (2, "", 1) and error.startswith("error: --by ")


def test_dry_run_prints_the_difference_to_the_references(
    capsys: pytest.CaptureFixture[str], mine: Path, trained: Path, into: Path
) -> None:
    itq = Store(trained).named(ITQ)
    Store(into).write(itq)
    before = tree(into)
    code, out, error = call(capsys, "--results", into, "results", "add", mine, "--dry-run")
    assert (code, error, tree(into)) == (0, "", before)
    head, _, *lines, empty, last = out.splitlines()
    assert head == "| run | by | on | metric | new | new - itq | new - random_ranking | new - classifier_codes |"
    assert (empty, last) == (
        "",
        f"2 rows would be added to {into}; 1 row with these values already here: nothing to do",
    )
    for line, seed in zip(lines, (0, 1), strict=True):
        lsh = next(row for row in Store(trained).rows() if row.method == "lsh" and row.seed == seed)
        new, known = (row.metrics["ap"].mean for row in (lsh, itq))
        assert new is not None and known is not None
        assert f"| ap | {new:.4f} | {new - known:+.4f} ({known:.4f}, 1 row, pixels) |  |  |" in line
        assert "<script" not in line.replace(r"\<script", "") and "@" not in line
    found = json.loads(call(capsys, "--results", into, "results", "add", mine, "--dry-run", "--json")[1])
    outcomes = {each["run"]: each["outcome"] for each in found["rows"]}
    assert (found["written"], outcomes[ITQ], outcomes[LSH]) == (False, "same_values", "copied")


def test_the_page_of_results_shows_the_maker_as_text(
    capsys: pytest.CaptureFixture[str], mine: Path, into: Path
) -> None:
    assert call(capsys, "--results", into, "results", "add", mine)[0] == 0
    text = page.render(contents.gather(Store(into), pytest.fail, ["digits"]))
    assert "<script>alert" not in text and "\\u003cscript>alert(1)" in text


def test_another_result_of_a_stored_run_is_refused_and_so_is_all_else(
    capsys: pytest.CaptureFixture[str], mine: Path, trained: Path, into: Path
) -> None:
    row = Store(trained).named(ITQ)
    value = row.metrics["ap"].model_copy(update={"mean": 0.52})
    Store(into).write(row.model_copy(update={"searches": {"database": {**row.metrics, "ap": value}}}))
    said = refused(capsys, into, mine)
    mean = row.metrics["ap"].mean
    assert said == f"{ITQ}: ap is {mean!r}, and 0.52 in the row here: nothing was added"


def test_one_bad_bundle_refuses_the_good_ones(
    capsys: pytest.CaptureFixture[str], mine: Path, tmp_path: Path, into: Path
) -> None:
    (tmp_path / "bad.zip").write_text("no archive")
    assert refused(capsys, into, mine, tmp_path / "bad.zip").startswith("damaged, truncated or not a bundle")
    assert not into.exists()


def test_where_the_rows_cannot_be_written_their_counts_are_not_kept(
    capsys: pytest.CaptureFixture[str], mine: Path, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise HashbenchError("no space left")

    monkeypatch.setattr("hashbench.runs.store.write_text", full)
    code, out, error = call(capsys, "--results", into, "results", "add", mine)
    assert (code, out, error) == (2, "", "error: no space left\n") and not tree(into)


def last_bit(row: dict[str, Any]) -> None:
    """A change that verify takes for rounding."""
    row["searches"]["database"]["ap"]["mean"] += 1e-12


FORGED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a value": (last_bit, f"{LSH}: database.ap.mean is "),
    "another metric": (
        lambda row: row["searches"]["database"].update(mine=row["searches"]["database"]["ap"]),
        f"{LSH}: database.mine: no metric of this name",
    ),
    "a search without codes": (
        lambda row: row["searches"].update(test={"ap": row["searches"]["database"]["ap"]}),
        f"{LSH}: test.ap: nothing that gives them is in the bundle",
    ),
    "data": (lambda row: row.update(data_sha256="0" * 64), "data_sha256 is not the checksum in config.data"),
    "ids": (lambda row: row.update(ids_sha256="0" * 64), "ids_sha256 is not the checksum in config.data.split"),
    "settings": (lambda row: row["settings"].update(bits=64), "settings.bits is 64, in config 12"),
    "a maker of two lines": (lambda row: row.update(maker="a\nb"), "is expected"),
}


@pytest.mark.parametrize("forge", FORGED)
def test_a_forged_row(capsys: pytest.CaptureFixture[str], bundle: Path, tmp_path: Path, into: Path, forge: str) -> None:
    edit, complaint = FORGED[forge]
    path = changed(bundle, tmp_path / "b.zip", {ROWS: row_changed(edit, LSH)}, listed=True)
    said = refused(capsys, into, path)
    assert said.startswith("refused: ") and complaint in said and said.isprintable()


def test_what_was_changed_after_packing_and_codes_that_are_not_there(
    capsys: pytest.CaptureFixture[str], bundle: Path, tmp_path: Path, into: Path
) -> None:
    path = changed(bundle, tmp_path / "a.zip", {ROWS: lambda text: text + b"\n"}, listed=False)
    assert refused(capsys, into, path).startswith(f"refused: {ROWS}: not the file that was packed: SHA-256 is ")
    path = changed(bundle, tmp_path / "b.zip", {CODES: None}, listed=True)
    assert refused(capsys, into, path) == f"refused: {LSH}: no codes.npz of it is in the bundle"
    assert call(capsys, "verify", path)[0] == 0  # its histogram is there


def arrays_of(data: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(data)) as found:
        return dict(found)


def stored(arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def fitted(bundle: Path, folder: Path, arrays: dict[str, Any]) -> Path:
    """A bundle whose LSH row, histogram and codes fit each other, as a forger would make them of these ``arrays``."""
    file, row = folder / "codes.npz", Row.model_validate(row_without_digest(bundle))
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


def test_labels_of_its_own_are_not_taken(
    capsys: pytest.CaptureFixture[str], bundle: Path, tmp_path: Path, into: Path
) -> None:
    """Codes, labels, histogram and row fit each other, so verify finds nothing; the data set here has other labels."""
    arrays = arrays_of(content(bundle, CODES))
    for side in ("query", "database"):
        arrays[f"{side}_labels"] = np.zeros_like(arrays[f"{side}_labels"])  # all are relevant
    path = fitted(bundle, tmp_path, arrays)
    assert call(capsys, "verify", path)[0] == 0
    said = refused(capsys, into, path)
    assert said.startswith(f"refused: {LSH}: codes.npz gives another histogram: SHA-256 is ")


def test_longer_codes_than_the_row_says(
    capsys: pytest.CaptureFixture[str], bundle: Path, tmp_path: Path, into: Path
) -> None:
    arrays = arrays_of(content(bundle, CODES))
    for side in ("query_codes", "database_codes"):
        arrays[side] = np.hstack([arrays[side], arrays[side]])
    arrays["n_bits"] = 24
    path = fitted(bundle, tmp_path, arrays)
    assert refused(capsys, into, path).startswith(f"refused: {LSH}: codes.npz has codes of 24 bits, the row is of 12")
    assert call(capsys, "verify", path)[0] == 1


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
    capsys: pytest.CaptureFixture[str], bundle: Path, tmp_path: Path, into: Path
) -> None:
    path, run = reconfigured(bundle, tmp_path / "a.zip", lambda row: row["config"]["data"]["split"].update(seed=9))
    assert refused(capsys, into, path).startswith(f"refused: {run}: of a protocol of digest ")
    path, run = reconfigured(bundle, tmp_path / "b.zip", lambda row: row["config"]["settings"].update(evil=1))
    assert refused(capsys, into, path).startswith(f"refused: {run}: ")
    path, run = reconfigured(bundle, tmp_path / "c.zip", lambda row: row["config"].update(base="evil"))
    assert f"{run}: its configuration cannot be read" in refused(capsys, into, path)


def test_a_method_that_is_not_installed_here_is_added(
    capsys: pytest.CaptureFixture[str], bundle: Path, tmp_path: Path, into: Path
) -> None:
    def change(row: dict[str, Any]) -> None:
        row["method"] = row["config"]["method"] = "their_hash"

    path, run = reconfigured(bundle, tmp_path / "b.zip", change)
    assert call(capsys, "--results", into, "results", "add", path)[0] == 0
    assert run in stored_rows.names(into)


def test_rows_of_other_splits_and_without_a_maker(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, into: Path
) -> None:
    store, own = Store(tmp_path / "theirs"), Run.resolve("digits", "s1", "lsh", {"bits": 12})
    runs = [own, Run.resolve("digits", "s1", "lsh", {"bits": 12}, split_seed=own.protocol.seed + 1)]
    for run in runs:
        row_of(run, store)
    pack(Order("digits", n_splits=2), tmp_path / "b.zip", store, pytest.fail)
    code, _, error = call(capsys, "--results", into, "results", "add", tmp_path / "b.zip")
    assert code == 0 and error.endswith("b.zip: it does not say who made its rows: hashbench bundle --by NAME does\n")
    assert {row.run: row for row in Store(into).rows()} == {row.run: row for row in store.rows()}
    assert stored_rows.names(into) == sorted(str(run.name) for run in runs)


def test_rows_of_a_bucket_search_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = small_root(tmp_path, monkeypatch)
    recipes(root)
    declare(root, "sparse_th", SPARSE, "suf")
    store = Store(tmp_path / "theirs")
    row = row_of(Run.resolve("digits", "s1", "sparse_th", SPARSE), store)
    pack(Order("mine"), tmp_path / "b.zip", store, pytest.fail)
    said = refused(capsys, into, tmp_path / "b.zip")
    assert said.startswith(f"refused: {row.run}: ") and said.endswith("nothing that gives them is in the bundle")


def test_a_hostile_archive_is_not_added(
    capsys: pytest.CaptureFixture[str], bundle: Path, tmp_path: Path, into: Path
) -> None:
    shutil.copy(bundle, tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip", "a") as opened:
        opened.writestr("digits-bundle/../../evil.json", b"x")
    assert refused(capsys, into, tmp_path / "b.zip").endswith(": no file of a bundle has this name")
    assert not list(tmp_path.rglob("evil*"))
