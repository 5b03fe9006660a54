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
from support.command_line import CommandLine
from support.on_digits import on_digits

from hashbench.showing.bundle import archive


def refused(hashbench: CommandLine, path: Path) -> str:
    """What is said of the archive, without its name; nothing was written beside it or printed."""
    before = sorted(path.parent.rglob("*"))
    error = hashbench.refused("verify", path)
    assert sorted(path.parent.rglob("*")) == before
    start = f"{path}: "
    assert error.startswith(start)
    return error.removeprefix(start)


def with_entry(bundle: Path, path: Path, name: str, data: bytes = b"x", **fields: Any) -> None:
    """The bundle with one more entry, of any name and kind."""
    path.write_bytes(bundle.read_bytes())
    info = zipfile.ZipInfo("placeholder")
    info.filename = info.orig_filename = name
    for field, value in fields.items():
        setattr(info, field, value)
    with zipfile.ZipFile(path, "a") as opened:
        opened.writestr(info, data)


Edit = Callable[[Path, Path], object]  # makes the archive at the second path of the bundle at the first
NO_BUNDLE = "not a bundle that hashbench wrote: "
NOT_WHOLE = "damaged, truncated or not a bundle (the archive is not the whole file)"
A_ROW = "digits-bundle/results/rows/b.jsonl"


def bytes_changed(edit: Callable[[bytes], bytes]) -> Edit:
    return lambda bundle, path: path.write_bytes(edit(bundle.read_bytes()))


def entry(name: str, data: bytes = b"x", **fields: Any) -> Edit:
    return lambda bundle, path: with_entry(bundle, path, name, data, **fields)


def files(changes: dict[str, Any]) -> Edit:
    """With other files, of which the manifest does not know."""
    return lambda bundle, path: changed(bundle, path, changes, listed=False)


def manifest(edit: Callable[[dict[str, Any]], object]) -> Edit:
    return files({"manifest.json": json_changed(edit)})


def in_directory(offset: int, value: bytes) -> Edit:
    """With another field of an entry of the archive's list of files."""

    def edit(data: bytes) -> bytes:
        place = data.rfind(b"PK\x01\x02", 0, data.rfind(b"s1-seed0.npz")) + offset
        return data[:place] + value + data[place + len(value) :]

    return bytes_changed(edit)


def inner_archive(data: bytes) -> bytes:
    """The bundle up to the end of the first .npz file in it."""
    return data[: data.index(b"PK\x05\x06") + 22]


NAMES = [
    *("../evil.json", "digits-bundle/../../evil.json", "/etc/cron.d/evil"),
    *("digits-bundle/results\\..\\evil", "digits-bundle/results/rows/.hidden.jsonl"),
    *("digits-bundle/results/runs/x/hasher.pkl", "digits-bundle/root/hashbench/__init__.py", "elsewhere/README.md"),
    *(
        "digits-bundle//README.md",
        f"digits-bundle/results/rows/{'b' * 300}.jsonl",
        "digits-bundle/results/rows/b\n.jsonl",
    ),
]
NOT_STORED = "a bundle has regular files only, neither compressed nor encrypted"
LINK = {"external_attr": (stat.S_IFLNK | 0o777) << 16}
HOSTILE: list[tuple[Edit, str]] = [
    *((entry(name), ": no file of a bundle has this name") for name in NAMES),
    (entry(A_ROW, b"/etc/passwd", **LINK), f"{A_ROW}: {NOT_STORED}"),
    (entry(f"{A_ROW}/"), NOT_STORED),
    (entry(A_ROW, bytes(1 << 19), compress_type=zipfile.ZIP_DEFLATED), f"{A_ROW}: {NOT_STORED}"),
    (in_directory(8, struct.pack("<H", 1)), NOT_STORED),
    (in_directory(24, struct.pack("<I", 1 << 31)), NOT_STORED),
    (in_directory(20, struct.pack("<II", 3 << 30, 3 << 30)), "bytes, and the archive has"),
    (entry("digits-bundle/root/datasets/b.toml", bytes((8 << 20) + 1)), "b.toml: 8,388,609 bytes: 8,388,608 at most"),
    (entry("digits-bundle/README.md"), "README.md: it is there twice"),
    (entry("digits-bundle/splits/Digits/s1-seed0.npz"), "two of its names differ in upper and lower case only"),
    (entry("digits-bundle/\x1b[2J"), "'digits-bundle/\\x1b[2J'"),
    (
        files({"results/rows/b.jsonl": b"{}"}),
        "b.jsonl: it is not both listed and in the archive: 1 file",
    ),
    (files({"README.md": None}), "manifest.json: README.md: it is not both listed and in the archive: 1 file"),
    (files({"manifest.json": None}), f"{NO_BUNDLE}no manifest.json in it"),
    (files({"manifest.json": b"no json"}), "manifest.json: not a manifest: Expecting value"),
    (files({"manifest.json": b"\xff"}), "manifest.json: not a manifest: 'utf-8' codec"),
    (files({"manifest.json": b"[" * 100_000}), "manifest.json: not a manifest: "),
    (manifest(lambda found: found.update(schema=2)), "manifest.json: schema: Input should be 1"),
    (manifest(lambda found: found.update(evil=1)), "manifest.json: unknown key 'evil'"),
    (manifest(lambda found: found.update(table="../x")), "manifest.json: table: String should match pattern"),
    (manifest(lambda found: found["files"].update({"../x": "0" * 64})), "../x is no file of a bundle"),
    (manifest(lambda found: found["files"].update({"README.md": "0"})), "files.README.md: String should match"),
    *(
        (bytes_changed(lambda data, kept=kept: data[: int(kept * len(data))]), "truncated")
        for kept in (0.0, 0.3, 0.999)
    ),
    (bytes_changed(inner_archive), NOT_WHOLE),
    (bytes_changed(lambda data: b"#!/bin/sh\n" + data), NOT_WHOLE),
    (bytes_changed(lambda data: data + b"more"), NOT_WHOLE),
    (
        bytes_changed(lambda data: data.replace(b'"table": "digits"', b'"table": "digitz"')),
        "damaged (Bad CRC-32",
    ),
    (lambda _, path: written(path, {}), f"{NO_BUNDLE}no manifest.json in it"),
    (lambda _, path: None, "no such file: the archive that hashbench bundle wrote is expected"),
    (lambda _, path: path.mkdir(), "no such file: the archive that hashbench bundle wrote is expected"),
    (lambda _, path: os.mkfifo(path), "no such file: "),
]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("edit, complaint", HOSTILE)
def test_an_archive_that_no_hashbench_wrote(
    edit: Edit, complaint: str, bundle: Path, tmp_path: Path, hashbench: CommandLine
) -> None:
    edit(bundle, tmp_path / "b.zip")
    said = refused(hashbench, tmp_path / "b.zip")
    assert complaint in said and said.isprintable(), said


def test_a_long_list_of_files_is_not_read(
    bundle: Path, hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = len(names(bundle))
    monkeypatch.setattr(archive, "MOST_FILES", n - 1)
    assert refused(hashbench, bundle) == f"{NO_BUNDLE}{n} files: {n - 1} at most"


def test_a_message_does_not_reach_the_terminal_raw(bundle: Path, tmp_path: Path, hashbench: CommandLine) -> None:
    def unknown_metric(row: dict[str, Any]) -> None:
        found = row["searches"]["database"]
        found["\x1b[2J"] = found["ap"]

    edits = {
        rows_file(bundle): row_changed(unknown_metric, str(on_digits("lsh", {"bits": 12}).name)),
        "manifest.json": json_changed(lambda found: found["code"].update(version="\x1b[2J")),
    }
    code, out, _ = hashbench("verify", changed(bundle, tmp_path / "c.zip", edits, listed=True))
    assert code == 1
    assert out.splitlines()[0] == "table digits, packed by hashbench '\\x1b[2J'"
    assert "a text of it has characters that cannot be printed" in out and "\x1b" not in out


def rows_file(bundle: Path) -> str:
    (found,) = [name for name in names(bundle) if name.startswith("results/rows/")]
    return found


def test_what_nobody_should_open_is_not_merged(bundle: Path, tmp_path: Path, hashbench: CommandLine) -> None:
    into = tmp_path / "into"
    with_entry(bundle, tmp_path / "a.zip", "digits-bundle/../../evil.json")
    (tmp_path / "b.zip").write_text("no archive")
    changed(bundle, tmp_path / "c.zip", {rows_file(bundle): lambda text: text + b"\n"}, listed=False)
    for name in "abc":
        code, out, error = hashbench("--results", into, "results merge", tmp_path / f"{name}.zip")
        assert (code, out, error.count("\n")) == (2, "", 1)
        assert error.startswith(f"error: {tmp_path / name}.zip: ")
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
    bundle: Path, tmp_path: Path, hashbench: CommandLine, forge: Callable[[dict[str, Any]], object]
) -> None:
    """A file is called as a checksum in the row, and a folder as the run: neither may be a path."""
    run = str(on_digits("itq", {"bits": 12}).name)
    into = tmp_path / "deep" / "er" / "into"
    forged = changed(bundle, tmp_path / "b.zip", {rows_file(bundle): row_changed(forge, run)}, listed=True)
    code, out, error = hashbench("--results", into, "results merge", forged)
    assert code == 1 and error.startswith("left out: ") and "restore it from git\nerror: 1 left out: " in error
    assert out.splitlines()[1:] == ["  2 copied", f"  2 histograms kept in {into / 'evidence'}"]
    assert not list(tmp_path.rglob("escaped*"))


def test_a_histogram_of_another_run_is_not_kept(bundle: Path, tmp_path: Path, hashbench: CommandLine) -> None:
    first, second, *_ = [name for name in names(bundle) if name.endswith("/histogram.npz")]
    with zipfile.ZipFile(bundle) as opened:
        other = opened.read(f"digits-bundle/{second}")
    swapped = changed(bundle, tmp_path / "b.zip", {first: other}, listed=True)
    code, out, error = hashbench("--results", tmp_path / "into", "results merge", swapped)
    assert code == 1
    assert out.splitlines()[-1] == f"  2 histograms kept in {tmp_path / 'into' / 'evidence'}"
    run = first.split("/")[2]
    assert error.startswith(f"left out: {swapped}: {run}: histogram.npz is not what the row was scored from: ")
