"""Checks a bundle: every checksum, every row, and every metric, computed again from the histograms and the codes."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from hashbench.bundle import archive
from hashbench.bundle.archive import Archive, DamagedFile, Manifest
from hashbench.bundle.arrays import read_id_lists
from hashbench.bundle.check_run import Report, RunCheck
from hashbench.datasets.split import Split
from hashbench.foundation.errors import HashbenchError, printable, quietly
from hashbench.foundation.progress import bar
from hashbench.runs import schema_1, store
from hashbench.runs.line import Line
from hashbench.runs.row import REMEDY, Row, from_line

T = TypeVar("T")


def verify(path: Path) -> tuple[Manifest, Report]:
    """The manifest of the bundle, and what was found in it; the files of one run at a time are copied and read."""
    with (
        archive.opened(path) as bundle,
        TemporaryDirectory() as scratch,
        bar("verify", "file", len(bundle.manifest.files)) as shown,
    ):
        checks = _Checks(bundle, Path(scratch).resolve(), shown.update)
        checks.all()
    return bundle.manifest, checks.report


@dataclass
class _Checks:
    """The checks of one bundle; ``done`` is called with the number of files that were checked."""

    bundle: Archive
    scratch: Path
    done: Callable[[int], object]
    report: Report = field(default_factory=Report)

    def all(self) -> None:
        """All checks, in the order of the names."""
        of_runs: dict[str, list[str]] = {}
        for name in self._names(archive.RUNS):
            of_runs.setdefault(name.split("/")[2], []).append(name)
        for name in [*self._names("README.md"), *self._names(archive.ROOT)]:
            self._is_copied(name)
        ids, rows = self._id_lists(), self._rows()
        used = {row.ids_sha256 for row in rows.values()}
        for sha256, (name, _) in ids.items():
            if sha256 not in used:
                self._say(name, "no row has these ids")
        for run in sorted(of_runs.keys() - rows.keys()):
            self._say(f"{archive.RUNS}/{run}", "no readable row of this run is in the bundle")
        for run, row in rows.items():
            self._run(row, of_runs.get(run, []), ids)

    def _names(self, folder: str) -> list[str]:
        return sorted(name for name in self.bundle.manifest.files if f"{name}/".startswith(f"{folder}/"))

    def _say(self, where: str, what: str) -> None:
        self.report.differences.append(f"{where}: {what}")

    def _is_copied(self, name: str) -> bool:
        """Copies a file; whether it is the one that was packed, else this is said."""
        self.done(1)
        self.report.n_files += 1
        target, stated = self.scratch / name, self.bundle.manifest.files[name]
        try:
            sha256 = self.bundle.copy(name, target)
        except DamagedFile as error:
            self.report.differences.append(str(error))
            target.unlink()
            return False
        if sha256 != stated:
            self._say(name, f"not the file that was packed: SHA-256 is {sha256}, {archive.MANIFEST} says {stated}")
        return sha256 == stated

    def _read(self, read: Callable[[Path], T], name: str) -> T | None:
        """What ``read`` makes of the copy of a file; None, after it was said, if it raises an error."""
        path = self.scratch / name
        try:
            return quietly(str(path), lambda: read(path))
        except HashbenchError as error:
            text = str(error).removesuffix(f": {REMEDY}").replace(f"{self.scratch}/", "")
            self.report.differences.append(printable(text, 400))
            return None

    def _id_lists(self) -> dict[str, tuple[str, Split]]:
        """The id lists by their checksum, each with its name."""
        found: dict[str, tuple[str, Split]] = {}
        for name in self._names(archive.ID_LISTS):
            if self._is_copied(name) and (chosen := self._read(read_id_lists, name)) is not None:
                found[chosen.sha256] = name, chosen
                self.report.n_id_lists += 1
        return found

    def _rows(self) -> dict[str, Row]:
        """The rows by run. One that is not as it was packed is read too, because its values say what was changed."""
        found: dict[str, Row] = {}
        for name in self._names(archive.ROWS):
            self._is_copied(name)
            for row in self._rows_in(name) if (self.scratch / name).exists() else ():
                end = f"-s{row.seed}-{row.config_hash[:10]}"
                if not row.run.startswith(f"{row.dataset}-{row.protocol}-{row.method}-") or not row.run.endswith(end):
                    self._say(name, f"a run of these names, seed and configuration is called {row.method}-...{end}")
                elif row.run in found:
                    self._say(name, f"{row.run} is there twice")
                else:
                    found[row.run] = row
                    self.report.n_rows += 1
        return found

    def _rows_in(self, name: str) -> Iterator[Row]:
        """The readable rows in the copy of a file: of a file of rows, or of one row of schema 1."""
        if name.endswith(".json"):
            rows = [self._read(schema_1.read, name)]
        else:
            rows = [self._read(partial(_row_in, line), name) for line in self._read(store.read_lines, name) or []]
        yield from (row for row in rows if row is not None)

    def _run(self, row: Row, names: list[str], ids: dict[str, tuple[str, Split]]) -> None:
        """Checks the files of one run, and removes their copies."""
        copies = {Path(name).name: self.scratch / name for name in names if self._is_copied(name)}
        own_ids = ids[row.ids_sha256][1] if row.ids_sha256 in ids else None
        if row.status == "ok":
            RunCheck(row, copies, own_ids, self.report).all()
        if not names and row.status == "ok":
            self.report.rows_alone.append(row.run)
        shutil.rmtree(self.scratch / archive.RUNS / row.run, ignore_errors=True)


def _row_in(line: Line, path: Path) -> Row:  # noqa: ARG001  (the line knows its file)
    return from_line(line.text, line.place, strict=True)
