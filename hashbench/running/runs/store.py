"""The store of results: rows as JSON lines, a file for each protocol, and a folder for each run; light to import."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hashbench.foundation import paths
from hashbench.foundation.config import read_text
from hashbench.foundation.errors import CheckFailed, HashbenchError, retold, unknown
from hashbench.foundation.files import all_or_none, holder_in, is_locked, locked, remove_parts, write_holder, write_text
from hashbench.foundation.once import once
from hashbench.foundation.registry import Broken, each_usable, refuse
from hashbench.running.runs import blocks
from hashbench.running.runs.row import REMEDY, Row, from_line, to_line
from hashbench.scoring.histogram import Histogram

if TYPE_CHECKING:
    from hashbench.scoring.relevance.labels import Labels

Damaged = Broken  # is called with the error of each row that cannot be read
REPEAT = "~"  # in the name of a row, between the run and a digest: the same run with other values, from another machine
# in the folder of a run; who holds the lock is in a file of its own: the lock file is emptied
LOCK = "lock"
HOLDER = "lock-holder.txt"
OUTPUT = "output.txt"  # what the run printed in a worker
_NAME = re.compile(r'\{"run":"([^"\\]+)"')


@dataclass(frozen=True)
class Line:
    """One row in a file, not parsed yet; ``name`` is the run, of a further row with ``~`` and part of its digest."""

    path: Path
    number: int
    name: str
    stored: str  # as the file has it
    blocks: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)  # of the file

    @property
    def text(self) -> str:
        """The whole row."""
        return blocks.whole(self.stored, self.blocks)

    @property
    def place(self) -> str:
        """The file and the line, for errors."""
        return f"{self.path}:{self.number}"

    @property
    def run(self) -> str:
        """The run of the row."""
        return self.name.partition(REPEAT)[0]

    def row(self) -> Row:
        """The row; raises CheckFailed if it is damaged."""
        return from_line(self.text, self.place)


def lines_in(text: str, path: Path) -> list[Line]:
    """The rows of a file, in their order."""
    blocks_of_file: dict[str, str] = {}
    numbered: list[tuple[int, str]] = []
    for number, stored in enumerate(text.splitlines(), 1):
        block = blocks.read_block(stored)
        if block is not None:
            name, value = block
            blocks_of_file[name] = value
        elif stored.strip():
            numbered.append((number, stored))
    lines: list[Line] = []
    lines_by_run: dict[str, list[Line]] = {}
    for number, stored in numbered:  # a row may refer to a block below it
        start = _NAME.match(stored)
        name = f"line {number}"
        if start is not None:
            name = start[1]
        line = Line(path, number, name, stored, blocks_of_file)
        lines_of_run = lines_by_run.setdefault(line.name, [])
        if any(line.text == known.text for known in lines_of_run):  # two branches in git may have added the same row
            continue
        if lines_of_run:
            line = replace(line, name=repeat_name(line.name, stored))
        lines_of_run.append(line)
        lines.append(line)
    return lines


def repeat_name(run: str, line: str) -> str:
    """The name of a row that is kept beside another row of the same ``run``."""
    return f"{run}{REPEAT}{line[-66:-58]}"  # the line ends with the digest and "}


def read_lines(path: Path) -> list[Line]:
    """The lines of a file of rows, none where there is no such file; raises CheckFailed if it cannot be read."""
    try:  # a byte that is not UTF-8 damages its line alone
        with retold(str, HashbenchError, by=CheckFailed):
            return lines_in(read_text(path, "file of rows", f": {REMEDY}", errors="backslashreplace"), path)
    except FileNotFoundError:
        return []


def lines_of(path: Path) -> dict[str, Line]:
    """The lines of a file of rows by name, read once for as long as the file stays as it is."""
    if not path.exists():  # nor a folder above it: writing says so
        return {}
    lines: dict[str, Line] = once(f"rows {path}", path, None, lambda: {line.name: line for line in read_lines(path)})
    return lines


class RowsByRun(Mapping[str, Row]):
    """Rows by run, each read when it is looked up; ``damaged`` gets the error of one that cannot be, which is none."""

    def __init__(self, lines: Iterable[Line], damaged: Damaged) -> None:
        self._lines = {line.name: line for line in lines}
        self._damaged = damaged

    def __getitem__(self, run: str) -> Row:
        for _, row in each_usable([self._lines[run]], Line.row, self._damaged):
            return row
        raise KeyError(run)

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def files_of_run(folder: Path) -> list[Path]:
    """The files in the folder of a run, sorted, without those that say who executes it and what it printed."""
    files = (path for path in folder.glob("[!.]*") if path.is_file() and not path.is_symlink())
    return sorted(path for path in files if path.name not in (LOCK, HOLDER, OUTPUT))


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

    def run_folders(self) -> list[Path]:
        """The folders of all runs, sorted by their names."""
        folder = self.run_folder("")
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def evidence(self, row: Row) -> dict[str, Path]:
        """Where the counts of a row are kept to be committed, by the names of their files in the run's folder."""
        folder = self.folder / "evidence" / f"{row.dataset}-{row.protocol}"
        sums = {f"{artefact}.npz": sha256 for artefact, sha256 in row.artefacts.items() if artefact != "weights"}
        return {name: folder / f"{sha256}.npz.xz" for name, sha256 in sums.items()}

    @contextmanager
    def run_lock(self, run: str, *, wait: bool) -> Iterator[None]:
        """Holds the lock of a run's folder: others wait for its row with a note, or raise where ``wait`` is false."""
        folder = self.run_folder(run)
        busy = f"{folder}: {holder_in(folder / HOLDER)} works in this folder"
        text = f"{busy}: wait for it"
        if wait:
            text = f"note: {busy}: waiting until it has ended"
        with locked(folder / LOCK, wait=wait, busy=text):
            remove_parts(folder)
            write_holder(folder / HOLDER)
            yield

    def is_executed(self, run: str) -> bool:
        """Whether a process executes the run at this moment."""
        return is_locked(self.run_folder(run) / LOCK)

    def rows_path(self, dataset: str, protocol: str) -> Path:
        """The file of a protocol."""
        return self.rows_folder / f"{dataset}-{protocol}.jsonl"

    def files(self) -> list[Path]:
        """The files of rows, sorted by the names of data sets and protocols."""
        return sorted(self.rows_folder.glob("*.jsonl"), key=lambda path: path.stem)

    def lines(self, damaged: Damaged = refuse, start: str = "") -> Iterator[Line]:
        """The rows whose names start with ``start``, not parsed, by file and name.

        ``damaged`` gets the error of a file that is unreadable. The names of the rows in a file start with its own, so
        other files are not read.
        """
        files = [path for path in self.files() if path.stem.startswith(start) or start.startswith(path.stem)]
        for _, lines in each_usable(files, lines_of, damaged):
            for line in lines.values():
                if line.name.startswith(start):
                    yield line

    def rows(self, damaged: Damaged = refuse) -> Iterator[Row]:
        """All rows, in the order of ``lines``; ``damaged`` is called with the error of each that cannot be read."""
        return (row for _, row in self.named_rows(damaged))

    def named_rows(self, damaged: Damaged = refuse) -> Iterator[tuple[str, Row]]:
        """As ``rows``, each with its name."""
        return ((line.name, row) for line, row in each_usable(self.lines(damaged), Line.row, damaged))

    def find(self, dataset: str, protocol: str, run: str) -> Row | None:
        """The row of a run, or None."""
        line = lines_of(self.rows_path(dataset, protocol)).get(run)
        return None if line is None else line.row()

    def write(self, row: Row) -> None:
        """Stores the row in place of a failed one; a successful row of the same codes only gets its further metrics.

        Raises HashbenchError if a successful row has all of them, or is of other codes; and if ``row`` could not be
        read again.
        """
        path = self.rows_path(row.dataset, row.protocol)
        with self.changing(path) as lines:
            for before in [line for line in lines if line.name == row.run]:
                stored = before.row()
                searches = {
                    search: {**row.searches.get(search, {}), **values} for search, values in stored.searches.items()
                }
                searches = {**row.searches, **searches}
                if stored.status == "ok" and searches == stored.searches:
                    advice = f"the row of {row.run} is written once: remove the line to measure it again"
                    raise HashbenchError(f"{before.place}: {advice}")
                if stored.status == "ok" and row.artefacts != stored.artefacts:
                    fault = f"made again, the codes of {row.run} are not those of its row, which gets no further search"
                    raise HashbenchError(f"{before.place}: {fault}: remove the line to measure it anew")
                if stored.status == "ok":
                    row = stored.model_copy(update={"searches": searches})
                lines.remove(before)
            new = Line(path, 0, row.run, to_line(row))
            new.row()
            lines.append(new)

    @contextmanager
    def changing(self, path: Path) -> Iterator[list[Line]]:
        """The lines of the file ``path``; what the block makes of the list is written, sorted and under a lock."""
        with self.changing_all([path]) as lines:
            yield lines[path]

    @contextmanager
    def changing_all(self, paths: Iterable[Path]) -> Iterator[dict[Path, list[Line]]]:
        """As ``changing``, of several files: no file takes its new content before all of them are written."""
        with locked(self.rows_folder / ".lock", wait=True):
            before = {path: read_lines(path) for path in paths}
            lines_of = {path: list(lines) for path, lines in before.items()}
            yield lines_of
            with all_or_none():
                for path, lines in lines_of.items():
                    if lines and lines != before[path]:
                        lines.sort(key=lambda line: line.name)  # a run comes before the further rows of it
                        write_text(path, blocks.text_of_file(line.text for line in lines))
            for path, lines in lines_of.items():
                if before[path] and not lines:
                    path.unlink()

    def named(self, name: str) -> Row:
        """The row called ``name``, or of the only run whose name starts so; else raises HashbenchError."""
        return self.line_named(name).row()

    def line_named(self, name: str) -> Line:
        """The line that ``named`` reads."""
        lines = {line.name: line for line in self.begun(name)}
        if len(lines) > 1 and name not in lines:
            raise HashbenchError(f"run {name!r} is not one but {len(lines)}: {', '.join(sorted(lines)[:3])} ...")
        if not lines:
            fault = unknown("run", name, (line.name for line in self.lines()))
            other = "hashbench --results FOLDER, in Python results=FOLDER, names another folder"
            raise HashbenchError(f"{fault} (rows are read from {self.folder}; {other})")
        return lines.get(name) or next(iter(lines.values()))

    def begun(self, name: str) -> list[Line]:
        """The rows whose names start with ``name``, of further rows of a run only those whose whole name it is."""
        if not re.fullmatch(rf"[A-Za-z0-9_.+{REPEAT}-]+", name):
            raise HashbenchError(f"{name!r} is not the name of a run: hashbench train --json prints it")
        return [line for line in self.lines(start=name) if REPEAT in name or REPEAT not in line.name]

    def histogram(self, row: Row) -> Histogram | None:
        """The histogram that ``row`` was scored from; None if it is not here. CheckFailed if it is damaged."""
        path = self.run_folder(row.run) / "histogram.npz"
        if not path.is_file():
            path = self.evidence(row).get(path.name, path)
        if not path.is_file():
            return None
        with retold(str, HashbenchError, by=CheckFailed):
            histogram = Histogram.load(path)
        if histogram.sha256() != row.artefacts.get("histogram"):
            raise CheckFailed(f"{path}: not the histogram that the row was scored from (SHA-256 differs)")
        return histogram

    def query_labels(self, row: Row) -> "Labels | None":
        """The labels of the queries in the run's codes.npz; None where that file is missing or has none."""
        from hashbench.learning.contract import CODES
        from hashbench.scoring.codes.files import arrays_in

        path = self.run_folder(row.run) / CODES
        if not path.is_file():
            return None
        arrays = arrays_in(path)
        if "query_labels" not in arrays:
            return None
        return arrays["query_labels"]().whole().astype("int64")
