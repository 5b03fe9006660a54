"""``hashbench bundle``: what is in the archive, and that a reader renders and scores it again."""

import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest
from support import stored_rows
from support.bundles import content, names
from support.command_line import CommandLine
from support.toy_root import REPOSITORY, toy_root

from hashbench.running.runs.settings import recipes
from hashbench.running.runs.store import Store
from hashbench.showing.bundle.pack import rows_of
from hashbench.showing.tables import spec

LSH = "digits-s1-lsh-12b-s0-b0b63c62f4"


def test_a_reader_scores_and_renders_again_what_was_packed(
    hashbench: CommandLine, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, error = hashbench("bundle digits")
    path = tmp_path / "digits-bundle.zip"
    size = f"{path.stat().st_size:,} bytes"
    assert code == 0
    assert error == ""
    assert out == f"digits-bundle.zip\n3 rows, 3 with counts, 3 with codes, 1 id list: {size}\n"
    table = hashbench("table digits --interval").out
    results.rename(tmp_path / "elsewhere")
    out = hashbench.printed("verify", path.name)
    assert out.splitlines() == [
        f"table digits, packed by hashbench {json.loads(content(path, 'manifest.json'))['code']['version']}",
        f"{len(names(path)) - 1} files, 3 rows, 1 id list",
        "30 metrics computed again, codes of 3 runs counted",
        "no difference; 3 of 3 runs scored again",
    ]
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)
    commands = [line.split() for line in Path("digits-bundle/README.md").read_text().splitlines() if line[:4] == "    "]
    assert commands[0] == ["hashbench", "verify", "digits-bundle.zip"]
    assert hashbench(*commands[1][1:], "--interval") == (0, table, "")
    assert len(commands) == 2 and "LSH" in table


def test_the_same_files_give_the_same_bytes(
    hashbench: CommandLine, results: Path, tmp_path: Path, bundle: Path
) -> None:
    for path in results.rglob("*"):
        os.utime(path, (0, 0))
        path.chmod(0o700)
    hashbench.done("bundle digits -o", tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == bundle.read_bytes()


def test_it_holds_what_the_table_is_declared_by_and_no_more(bundle: Path) -> None:
    root = sorted(name.removeprefix("root/") for name in names(bundle) if name.startswith("root/"))
    methods = ("dpsh", "dtsh", "hashnet", "itq", "lsh", "mihash", "talr_ap", "talr_ndcg")
    assert [name for name in root if "recipes" not in name] == [
        "datasets/digits.toml",
        *(f"experiments/methods/{name}.toml" for name in methods),
        "experiments/papers.toml",
        "experiments/tables/digits.toml",
    ]
    tuned = {name for name, recipe in recipes().items() if recipe.methods.keys() & set(methods)}
    assert {"mlp_digits", "heads_lite0"} <= tuned <= {Path(name).stem for name in root if "recipes" in name}
    for name in root:
        assert content(bundle, f"root/{name}") == (REPOSITORY / name).read_bytes()
    assert [name for name in names(bundle) if name.startswith("splits/")] == ["splits/digits/s1-seed0.npz"]


def test_runs_without_files_are_named(hashbench: CommandLine, results: Path, tmp_path: Path) -> None:
    shutil.rmtree(results / "runs" / LSH)
    path = tmp_path / "some.zip"
    code, out, error = hashbench("bundle digits -o", path)
    assert code == 0 and "3 rows, 2 with counts, 2 with codes" in out
    where = f"no histogram or codes in runs/ or evidence/ of {results}"
    assert error == f"1 of 3 runs have {where}, their rows alone are packed: {LSH}\n"
    assert f"- `{LSH}`\n".encode() in content(path, "README.md")
    assert hashbench.done("verify", path).lines[-1] == "no difference; 2 of 3 runs scored again"


def test_without_the_data_set_there_are_no_id_lists(hashbench: CommandLine, tmp_path: Path) -> None:
    committed = Store(REPOSITORY / "results")
    row = rows_of(spec.load("cifar10_small_cnn"), committed)[0]
    Store(tmp_path / "results").write(row)
    code, out, error = hashbench("bundle cifar10_small_cnn -o", tmp_path / "c.zip")
    assert code == 0 and "1 row, 0 with counts, 0 with codes, 0 id lists: " in out
    assert error.splitlines()[1:] == [
        "no id lists of cifar10 s1: cifar10 is not downloaded: run hashbench download cifar10 (or --from-dir DIR)"
    ]
    code, out, error = hashbench("verify", tmp_path / "c.zip")
    assert code == 1
    assert out.splitlines()[-1] == "no difference; 0 of 1 run scored again"
    assert error == (
        f"error: {tmp_path}/c.zip: no run was scored again: the rows alone were checked; pack histograms or codes with "
        "them\n"
    )


def test_a_table_that_only_its_author_has(
    hashbench: CommandLine, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as authors:
        tables = toy_root(tmp_path, authors, "methods", "papers.toml", alone=True) / "experiments" / "tables"
        tables.mkdir()
        text = (REPOSITORY / "experiments" / "tables" / "digits.toml").read_text()
        head, groups = text.split("[[groups]]")[:2]
        lines = [line for line in groups.splitlines() if "method" not in line or "lsh" in line]
        (tables / "mine.toml").write_text("\n".join([head, "[[groups]]", *lines]).replace('title = "', 'title = "<b> '))
        hashbench.done("bundle mine -o", tmp_path / "mine.zip")
        expected = hashbench("table mine")
    assert content(tmp_path / "mine.zip", "README.md").startswith(b"# \\<b> Tie-aware")
    assert hashbench("table mine").code == 2
    with zipfile.ZipFile(tmp_path / "mine.zip") as archive:
        archive.extractall(tmp_path)
    unpacked = tmp_path / "mine-bundle"
    found = hashbench("--results", unpacked / "results", "--root", unpacked / "root", "table mine")
    assert found == expected
    assert expected[0] == 0 and "LSH" in expected[1]


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (("digits",), "table digits: no run of its cells is stored in {tmp}/results/rows"),
        (("digitz",), "unknown table 'digitz': did you mean digits or digits_all? hashbench list tables shows all"),
        (("digits", "-o", "{tmp}"), "{tmp}: a folder, a device or a pipe; the file to be written is expected"),
    ],
)
def test_what_cannot_be_packed(
    arguments: tuple[str, ...],
    complaint: str,
    hashbench: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    given = [word.format(tmp=tmp_path) for word in arguments]
    assert hashbench("bundle", *given) == (2, "", f"error: {complaint.format(tmp=tmp_path)}\n")
    assert sorted(tmp_path.iterdir()) == before


def test_a_damaged_row_stops_it_and_the_old_bundle_stays(hashbench: CommandLine, results: Path, tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_text("old")
    place = stored_rows.edit(results, lambda row: row["config"]["settings"].update(bits=13), LSH, sign=False)
    code, out, error = hashbench("bundle digits -o", tmp_path / "b.zip")
    assert code == 1
    assert out == ""
    assert error.count("\n") == 1
    assert error.startswith(f"error: {place}: not a row that hashbench wrote: settings.bits is 12, in config 13")
    assert (tmp_path / "b.zip").read_text() == "old"


def test_a_failed_run_is_packed_as_a_row(hashbench: CommandLine, results: Path, tmp_path: Path) -> None:
    failed = {"status": "failed", "reason": "it diverged", "searches": {}, "artefacts": {}, "seconds": None}
    stored_rows.edit(results, lambda row: row.update(failed), LSH)
    out = hashbench.printed("bundle digits -o", tmp_path / "b.zip")
    assert "3 rows, 2 with counts, 2 with codes" in out
    assert hashbench("verify", tmp_path / "b.zip").lines[-1] == "no difference; 2 of 2 runs scored again"
