"""Archives that nobody should open: each is refused in one line, exit code 2, and nothing is written."""

import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.bundles import changed, json_changed, names, row_changed, written
from support.command_line import call

from hashbench.bundle import archive
from hashbench.runs.run import Run


def refused(capsys: pytest.CaptureFixture[str], path: Path) -> str:
    """What is said of the archive, without its name; nothing was written beside it or printed."""
    before = sorted(path.parent.rglob("*"))
    code, out, error = call(capsys, "verify", path)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert sorted(path.parent.rglob("*")) == before
    start = f"error: {path}: "
    assert error.startswith(start)
    return error.removeprefix(start).strip()


def with_entry(bundle: Path, path: Path, name: str, data: bytes = b"x", **fields: Any) -> None:
    """The bundle with one more entry, of any name and kind."""
    path.write_bytes(bundle.read_bytes())
    info = zipfile.ZipInfo("placeholder")
    info.filename = info.orig_filename = name
    for field, value in fields.items():
        setattr(info, field, value)
    with zipfile.ZipFile(path, "a") as opened:
        opened.writestr(info, data)


@pytest.mark.parametrize(
    "name",
    [
        "../evil.json",
        "digits-bundle/../../evil.json",
        "digits-bundle/results/rows/../../evil.json",
        "/etc/cron.d/evil",
        "C:/evil",
        "digits-bundle/results\\..\\evil",
        "digits-bundle/results/rows/.hidden.jsonl",
        "digits-bundle/results/runs/x/hasher.pkl",
        "digits-bundle/results/runs/x/y/codes.npz",
        "digits-bundle/evil.py",
        "digits-bundle/root/hashbench/__init__.py",
        "elsewhere/README.md",
        "digits-bundle//README.md",
        "digits-bundle/results/rows/" + "b" * 300 + ".jsonl",
        "digits-bundle/results/rows/b\n.jsonl",
    ],
)
def test_a_name_that_no_bundle_has(name: str, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_entry(bundle, tmp_path / "b.zip", name)
    said = refused(capsys, tmp_path / "b.zip")
    assert said.startswith("not a bundle that hashbench wrote: ")
    assert said.endswith(": no file of a bundle has this name")


@pytest.mark.parametrize(
    ("kind", "end"), [(stat.S_IFLNK, ""), (stat.S_IFCHR, ""), (stat.S_IFIFO, ""), (stat.S_IFDIR, ""), (0, "/")]
)
def test_links_devices_and_folders(
    kind: int, end: str, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "digits-bundle/results/rows/b.jsonl"
    with_entry(bundle, tmp_path / "b.zip", name + end, b"/etc/passwd", external_attr=(kind | 0o777) << 16)
    said = refused(capsys, tmp_path / "b.zip")
    assert said == (f"not a bundle that hashbench wrote: {name}{end}: a link, a folder or a device: regular files only")


def test_a_compressed_file(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "digits-bundle/results/rows/b.jsonl"
    with_entry(bundle, tmp_path / "b.zip", name, b"\0" * (1 << 19), compress_type=zipfile.ZIP_DEFLATED)
    said = refused(capsys, tmp_path / "b.zip")
    assert said.endswith(f"{name}: compressed or encrypted: a bundle's files are stored as they are")


def in_directory(path: Path, name: str, offset: int, value: bytes) -> None:
    """Changes a field of an entry of the archive's list of files."""
    data = bytearray(path.read_bytes())
    place = data.rfind(b"PK\x01\x02", 0, data.rfind(name.encode()))
    data[place + offset : place + offset + len(value)] = value
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("offset", "value", "complaint"),
    [
        (8, struct.pack("<H", 1), "compressed or encrypted: a bundle's files are stored as they are"),
        (24, struct.pack("<I", 1 << 31), " bytes would become 2,147,483,648"),
        (20, struct.pack("<II", 3 << 30, 3 << 30), "bytes, and the archive has"),
    ],
)
def test_sizes_and_flags_that_lie(
    offset: int, value: bytes, complaint: str, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "b.zip"
    path.write_bytes(bundle.read_bytes())
    in_directory(path, "s1-seed0.npz", offset, value)
    assert complaint in refused(capsys, path)


def test_a_file_that_is_too_large(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_entry(bundle, tmp_path / "b.zip", "digits-bundle/root/datasets/b.toml", b"\0" * ((8 << 20) + 1))
    said = refused(capsys, tmp_path / "b.zip")
    assert said.endswith("root/datasets/b.toml: 8,388,609 bytes: 8,388,608 at most")


def test_a_name_that_is_there_twice(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        with_entry(bundle, tmp_path / "b.zip", "digits-bundle/README.md")
    assert refused(capsys, tmp_path / "b.zip").endswith("README.md: it is there twice")


def test_names_that_are_one_where_case_does_not_count(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_entry(bundle, tmp_path / "b.zip", "digits-bundle/splits/Digits/s1-seed0.npz")
    assert refused(capsys, tmp_path / "b.zip").endswith("two of its names differ in upper and lower case only")


def test_files_that_the_manifest_does_not_list(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "results/rows/b.jsonl"
    path = changed(bundle, tmp_path / "b.zip", {name: b"{}"}, listed=False)
    assert refused(capsys, path) == f"manifest.json: {name} is in the archive and not listed: 1 file"


def test_files_that_are_missing(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = changed(bundle, tmp_path / "b.zip", {"README.md": None, "root/datasets/digits.toml": None}, listed=False)
    assert refused(capsys, path) == "manifest.json: README.md is listed and not in the archive: 2 files"


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (json_changed(lambda found: found.update(schema=2)), "schema 2 is unknown: this hashbench reads schema 1"),
        (json_changed(lambda found: found.pop("schema")), "schema None is unknown: this hashbench reads schema 1"),
        (json_changed(lambda found: found.update(schema="\x1b[2J")), "is unknown: this hashbench reads schema 1"),
        (json_changed(lambda found: found.update(evil=1)), "unknown key 'evil'"),
        (json_changed(lambda found: found.pop("table")), "key 'table' is missing"),
        (json_changed(lambda found: found.update(table="../x")), "table: String should match pattern"),
        (json_changed(lambda found: found["files"].update({"../x": "0" * 64})), "../x is no file of a bundle"),
        (json_changed(lambda found: found["files"].update({"README.md": "0"})), "files.README.md: String should match"),
        (lambda text: b"no json", "not a manifest: Expecting value"),
        (lambda text: b"\xff", "not a manifest: 'utf-8' codec"),
        (lambda text: b"[" * 100_000, "not a manifest: "),
        (lambda text: text.replace(b'"schema"', b'"schema": 1, "schema"'), "the key 'schema' is there twice"),
    ],
)
def test_a_manifest_that_is_none(
    edit: Callable[[bytes], bytes],
    complaint: str,
    bundle: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = refused(capsys, changed(bundle, tmp_path / "b.zip", {"manifest.json": edit}, listed=False))
    assert said.startswith("manifest.json: ") and complaint in said
    assert said.isprintable()


def test_no_manifest(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = changed(bundle, tmp_path / "b.zip", {"manifest.json": None}, listed=False)
    assert refused(capsys, path) == "not a bundle that hashbench wrote: no manifest.json in it"


@pytest.mark.parametrize("kept", [0.0, 0.001, 0.3, 0.6, 0.999])
def test_a_truncated_archive(kept: float, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bundle.read_bytes()
    (tmp_path / "b.zip").write_bytes(data[: int(kept * len(data))])
    assert refused(capsys, tmp_path / "b.zip").startswith("damaged, truncated or not a bundle (")


def test_arrays_inside_a_bundle_are_not_taken_for_it(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bundle.read_bytes()
    end = data.index(b"PK\x05\x06") + 22  # of the first .npz file in it
    (tmp_path / "b.zip").write_bytes(data[:end])
    assert (
        refused(capsys, tmp_path / "b.zip") == "damaged, truncated or not a bundle (the archive is not the whole file)"
    )


def test_bytes_before_or_after_the_archive(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bundle.read_bytes()
    for name, changed_data in (("a.zip", b"#!/bin/sh\n" + data), ("b.zip", data + b"more")):
        (tmp_path / name).write_bytes(changed_data)
        said = refused(capsys, tmp_path / name)
        assert said == "damaged, truncated or not a bundle (the archive is not the whole file)"


def test_a_damaged_manifest(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bundle.read_bytes()
    (tmp_path / "b.zip").write_bytes(data.replace(b'"n_splits": 1', b'"n_splits": 2'))
    assert refused(capsys, tmp_path / "b.zip").startswith("manifest.json: damaged (Bad CRC-32 for file ")


def test_an_archive_of_nothing_and_of_other_things(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, written(tmp_path / "b.zip", {})) == (
        "not a bundle that hashbench wrote: no manifest.json in it"
    )
    assert "no file of a bundle has this name" in refused(capsys, written(tmp_path / "c.zip", {"a.txt": b"hello"}))


def test_what_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = "the archive that hashbench bundle wrote is expected"
    assert refused(capsys, tmp_path / "none.zip") == f"no such file: {expected}"
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        assert call(capsys, "verify", path)[2] == f"error: {path}: a folder, a pipe or a device: {expected}\n"


def test_a_long_list_of_files_is_not_read(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b.zip").write_bytes(bundle.read_bytes())
    monkeypatch.setattr(archive, "MOST_FILES", len(names(bundle)) - 1)
    n = len(names(bundle))
    assert refused(capsys, tmp_path / "b.zip") == f"not a bundle that hashbench wrote: {n} files: {n - 1} at most"
    monkeypatch.setattr(archive, "DIRECTORY_BYTES", 1000)
    assert "damaged, truncated or not a bundle (a list of files of " in refused(capsys, tmp_path / "b.zip")


def test_a_message_does_not_reach_the_terminal_raw(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_entry(bundle, tmp_path / "b.zip", "digits-bundle/\x1b[2J")
    assert "'digits-bundle/\\x1b[2J'" in refused(capsys, tmp_path / "b.zip")
    rows = next(name for name in names(bundle) if name.startswith("results/rows/"))

    def unknown_metric(row: dict[str, Any]) -> None:
        found = row["searches"]["database"]
        found["\x1b[2J"] = found["ap"]

    edits = {
        rows: row_changed(unknown_metric, str(Run.resolve("digits", "s1", "lsh", {"bits": 12}).name)),
        "manifest.json": json_changed(lambda found: found["code"].update(version="\x1b[2J")),
    }
    code, out, _ = call(capsys, "verify", changed(bundle, tmp_path / "c.zip", edits, listed=True))
    assert (code, out.splitlines()[0]) == (1, "table digits, packed by hashbench '\\x1b[2J'")
    assert "a key of searches.database is '\\x1b[2J'" in out and "\x1b" not in out


def rows_file(bundle: Path) -> str:
    (found,) = [name for name in names(bundle) if name.startswith("results/rows/")]
    return found


def test_what_nobody_should_open_is_not_merged(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into = tmp_path / "into"
    with_entry(bundle, tmp_path / "a.zip", "digits-bundle/../../evil.json")
    (tmp_path / "b.zip").write_text("no archive")
    changed(bundle, tmp_path / "c.zip", {rows_file(bundle): lambda text: text + b"\n"}, listed=False)
    for name in "abc":
        code, out, error = call(capsys, "--results", into, "results", "merge", tmp_path / f"{name}.zip")
        assert (code, out, error.count("\n")) == (2, "", 1) and error.startswith(f"error: {tmp_path / name}.zip: ")
    assert error.endswith(
        f"{rows_file(bundle)}: not the file that was packed: its SHA-256 is not the one in manifest.json\n"
    )
    assert not into.exists() and not list(tmp_path.rglob("evil*"))


@pytest.mark.parametrize(
    "forge",
    [
        lambda row: row["artefacts"].update(histogram=f"../../../escaped/{row['artefacts']['histogram']}"),
        lambda row: row.update(run="../../../../escaped"),
    ],
    ids=["the checksum of a file", "the name of a run"],
)
def test_a_forged_row_leads_nowhere_else(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], forge: Callable[[dict[str, Any]], object]
) -> None:
    """A file is called as a checksum in the row, and a folder as the run: neither may be a path."""
    run, into = str(Run.resolve("digits", "s1", "itq", {"bits": 12}).name), tmp_path / "deep" / "er" / "into"
    forged = changed(bundle, tmp_path / "b.zip", {rows_file(bundle): row_changed(forge, run)}, listed=True)
    code, out, error = call(capsys, "--results", into, "results", "merge", forged)
    assert code == 1 and error.startswith("left out: ") and "restore it from git\nerror: 1 left out: " in error
    assert out.splitlines()[1:] == ["  2 copied", f"  2 histograms kept in {into / 'evidence'}"]
    assert not list(tmp_path.rglob("escaped*"))


def test_a_histogram_of_another_run_is_not_kept(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, *_ = [name for name in names(bundle) if name.endswith("/histogram.npz")]
    with zipfile.ZipFile(bundle) as opened:
        other = opened.read(f"digits-bundle/{second}")
    swapped = changed(bundle, tmp_path / "b.zip", {first: other}, listed=True)
    code, out, error = call(capsys, "--results", tmp_path / "into", "results", "merge", swapped)
    assert (code, out.splitlines()[-1]) == (1, f"  2 histograms kept in {tmp_path / 'into' / 'evidence'}")
    run = first.split("/")[2]
    assert error.startswith(f"left out: {swapped}: {run}: histogram.npz is not what the row was scored from: ")
    broken = changed(bundle, tmp_path / "c.zip", {first: b"PK\x03\x04" + bytes(40)}, listed=True)
    code, _, error = call(capsys, "--results", tmp_path / "other", "results", "merge", broken)
    assert (code, error.count("\n")) == (1, 2) and "histogram.npz" in error
