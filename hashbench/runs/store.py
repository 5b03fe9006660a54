"""The store of results: rows as JSON lines, a file for each protocol of a data set, and each run's working folder."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar
from zipfile import BadZipFile

from hashbench.codes.files import arrays_in
from hashbench.contract import CODES
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError, one_line, unknown
from hashbench.foundation.files import locked, write_text
from hashbench.histogram import Histogram
from hashbench.relevance.labels import Labels
from hashbench.runs.line import REPEAT, Line, lines_in
from hashbench.runs.row import REMEDY, Outcome, Row, to_line

T = TypeVar("T")
Damaged = Callable[[HashbenchError], object]  # is called with the error of each row that cannot be read


def read_lines(path: Path) -> list[Line]:
    """The lines of a file of rows, none where there is no such file; raises HashbenchError if it cannot be read."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is a folder, a pipe or a device")  # noqa: TRY301  (a pipe would be waited for)
        return lines_in(path.read_text(encoding="utf-8"), path)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise HashbenchError(f"{path}: not a readable file of rows: {one_line(error)}: {REMEDY}") from None


@lru_cache(maxsize=64)
def _by_name(path: Path, stamp: tuple[int, int, int]) -> dict[str, Line]:  # noqa: ARG001  (a file with another stamp is read again)
    return {line.name: line for line in read_lines(path)}


def lines_of(path: Path) -> dict[str, Line]:
    """The lines of a file of rows by name, read once for as long as the file stays as it is."""
    try:
        found = path.stat()
    except OSError:
        return {}
    return _by_name(path, (found.st_ino, found.st_size, found.st_mtime_ns))


@dataclass(frozen=True)
class Store:
    """The results folder."""

    folder: Path

    @staticmethod
    def default() -> "Store":
        """The store in the folder :func:`hashbench.foundation.paths.results`."""
        return Store(paths.results())

    @property
    def rows_folder(self) -> Path:
        """The folder of the files of rows."""
        return self.folder / "rows"

    def run_folder(self, run: str) -> Path:
        """The folder of a run's checkpoints, codes, histogram and log."""
        return self.folder / "runs" / run

    def rows_path(self, dataset: str, protocol: str) -> Path:
        """The file of the rows of a protocol."""
        return self.rows_folder / f"{dataset}-{protocol}.jsonl"

    def files(self) -> list[Path]:
        """The files of rows, sorted by the names of data sets and protocols."""
        return sorted(self.rows_folder.glob("*.jsonl"), key=lambda path: path.stem)

    def lines(self, damaged: Damaged | None = None) -> Iterator[Line]:
        """All rows, not parsed, ordered by file and by name, so that no result of theirs depends on the machine.

        A file that cannot be read is left out and ``damaged`` is called with its error; without it, that is raised.
        """
        for path in self.files():
            try:
                yield from lines_of(path).values()
            except HashbenchError as error:
                if damaged is None:
                    raise
                damaged(error)

    def rows(self, damaged: Damaged | None = None) -> Iterator[Row]:
        """All rows, in the order of ``lines``; ``damaged`` is called with the error of each that cannot be read."""
        return (row for _, row in self.named_rows(damaged))

    def outcomes(self, damaged: Damaged | None = None) -> Iterator[Outcome]:
        """How each run ended, in the order of ``lines``; ``damaged`` as for ``rows``."""
        return (outcome for _, outcome in self._read(Line.outcome, damaged))

    def named_rows(self, damaged: Damaged | None = None) -> Iterator[tuple[str, Row]]:
        """As ``rows``, each with its name."""
        return self._read(Line.row, damaged)

    def _read(self, read: Callable[[Line], T], damaged: Damaged | None) -> Iterator[tuple[str, T]]:
        for line in self.lines(damaged):
            try:
                found = read(line)
            except HashbenchError as error:
                if damaged is None:
                    raise
                damaged(error)
            else:
                yield line.name, found

    def find(self, dataset: str, protocol: str, run: str) -> Row | None:
        """The row of a run, or None."""
        line = lines_of(self.rows_path(dataset, protocol)).get(run)
        return None if line is None else line.row()

    def write(self, row: Row) -> None:
        """Stores the row in place of a failed one; raises HashbenchError if there is a successful row already."""
        path = self.rows_path(row.dataset, row.protocol)
        with self.changing(path) as lines:
            before = next((line for line in lines if line.name == row.run), None)
            if before is not None:
                if before.row().status == "ok":
                    raise HashbenchError(
                        f"{before.place}: the row of {row.run} is written once: remove the line to measure it again"
                    )
                lines.remove(before)
            lines.append(Line(path, 0, row.run, to_line(row)))

    def remove(self, path: Path, names: Iterable[str]) -> None:
        """Removes the rows of these names from the file ``path``."""
        gone = set(names)
        with self.changing(path) as lines:
            lines[:] = [line for line in lines if line.name not in gone]

    @contextmanager
    def changing(self, path: Path) -> Iterator[list[Line]]:
        """The lines of the file ``path``; what the block makes of the list is written when it ends.

        The file is written sorted, as a whole or not at all, while one process at a time holds the lock of the rows.
        """
        with locked(self.rows_folder / ".lock", wait=True):
            before = read_lines(path)
            lines = list(before)
            yield lines
            if lines != before:
                lines.sort(key=lambda line: line.name)  # a run comes before the further rows of it
                if lines:
                    write_text(path, "".join(f"{line.text}\n" for line in lines))
                else:
                    path.unlink()

    def named(self, name: str) -> Row:
        """The row called ``name``, or of the only run whose name starts so; else raises HashbenchError."""
        return self.line_named(name).row()

    def line_named(self, name: str) -> Line:
        """The line that ``named`` reads."""
        found = {line.name: line for line in self.begun(name)}
        if name in found:
            return found[name]
        if len(found) == 1:
            return next(iter(found.values()))
        if found:
            raise HashbenchError(f"run {name!r} is not one but {len(found)}: {', '.join(sorted(found)[:3])} ...")
        raise unknown("run", name, (line.name for line in self.lines()))

    def begun(self, name: str) -> list[Line]:
        """The rows whose names start with ``name``; raises HashbenchError for what is no name.

        A row that is kept beside another one of its run is found by its whole name only.
        """
        if not re.fullmatch(rf"[A-Za-z0-9_.+{REPEAT}-]+", name):
            raise HashbenchError(f"{name!r} is not the name of a run: hashbench train --json prints it")
        found = (line for line in self.lines() if line.name.startswith(name))
        return [line for line in found if REPEAT in name or REPEAT not in line.name]

    def seeds_of(self, row: Row) -> list[int]:
        """The seeds of all successful runs of the row's cell on its split, sorted."""
        head, _, _ = row.run.rpartition(f"-s{row.seed}-")
        seeds = {row.seed}
        for name, line in lines_of(self.rows_path(row.dataset, row.protocol)).items():
            if name.startswith(f"{head}-s"):
                with suppress(HashbenchError):  # a damaged row is no seed
                    other = line.row()
                    if other.status == "ok" and other.cell_hash == row.cell_hash:
                        seeds.add(other.seed)
        return sorted(seeds)

    def histogram(self, row: Row) -> Histogram | None:
        """The histogram that ``row`` was scored from; None if it is not in the run's folder.

        Raises HashbenchError if the file is damaged, or if it is not the histogram of the row.
        """
        path = self.run_folder(row.run) / "histogram.npz"
        if not path.is_file():
            return None
        try:
            histogram = Histogram.load(path)
            checksum = histogram.sha256()
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise HashbenchError(f"{path}: not a readable histogram: {one_line(error)}") from None
        if checksum != row.artefacts.get("histogram"):
            raise HashbenchError(f"{path}: not the histogram that the row was scored from (SHA-256 differs)")
        return histogram

    def query_labels(self, row: Row) -> Labels | None:
        """The labels of the queries in the run's codes.npz; None where that file is missing or has none."""
        path = self.run_folder(row.run) / CODES
        if not path.is_file():
            return None
        arrays = arrays_in(path)
        return arrays["query_labels"]().whole().astype("int64") if "query_labels" in arrays else None
