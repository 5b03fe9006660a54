"""Checks a bundle: every checksum, every row, and every metric, computed again from the histograms and the codes."""

import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np

from hashbench.foundation.errors import CheckFailed, HashbenchError, counted, printable, quietly, retold
from hashbench.foundation.progress import bar
from hashbench.learning.contract import CODES
from hashbench.running.datasets.split import Split
from hashbench.running.runs import store
from hashbench.running.runs.row import REMEDY, Row, Search, from_line
from hashbench.running.runs.store import Store
from hashbench.scoring import metrics
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.histogram.ranking import Ranked
from hashbench.scoring.histogram.retrieval import Retrieval
from hashbench.scoring.metrics import Metrics, MetricValue, NamedMetric
from hashbench.scoring.relevance.labels import Relevance
from hashbench.showing.bundle import archive
from hashbench.showing.bundle.archive import COUNTS, STATED, Archive, DamagedFile, Manifest
from hashbench.showing.bundle.arrays import RunCodes, read_codes, read_counts, read_id_lists
from hashbench.showing.bundle.here import NotHere, protocol_here
from hashbench.showing.bundle.pack import files_of_run, stated_sums

ROUNDING = 1e-9  # another machine may round a sum in another way
LAST_BITS = 2.0**-50  # all that differs where the counts are the same and another processor added: 5.6e-17 was seen
NEEDED: dict[Ranked, str] = {"weighted": "weights of the bits", "asymmetric": "activations of the queries"}

T = TypeVar("T")


@dataclass
class Report:
    """What was found in a bundle: the differences, what could not be checked and why, and how much was compared."""

    differences: list[str] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)
    n_files: int = 0  # whose checksums were compared
    n_rows: int = 0
    n_runs: int = 0  # that did not fail
    n_values: int = 0  # metrics that were computed again
    n_codes: int = 0  # runs whose codes were counted again
    n_id_lists: int = 0
    not_scored: list[str] = field(default_factory=list)  # of the n_runs, those of which no metric could be computed

    def read(self, read: Callable[[Path], T], folder: Path, name: str, run: str = "") -> T | None:
        """What ``read`` makes of the file ``name`` in ``folder``; None, after it was said, if it raises an error."""
        try:
            return quietly(name, lambda: read(folder / name))
        except NotHere as error:
            self.not_checked.append(f"{run}{name}: not counted again: {error}")
        except HashbenchError as error:
            text = str(error).removesuffix(f": {REMEDY}").replace(f"{folder}/", "")
            self.differences.append(f"{run}{printable(text, 400)}")
        return None


@dataclass(frozen=True)
class RunCheck:
    """The checks of the run of ``row``; ``files`` are copies of its files by name.

    With a ``relevance``, that of this machine, its codes are counted by it, and only last bits may differ.
    """

    row: Row
    files: Mapping[str, Path]
    ids: Split | None
    report: Report
    relevance: Relevance | None = None
    compared: set[tuple[str, str]] = field(default_factory=set)  # the metrics so far: their search and their name

    def all(self) -> None:
        """All checks."""
        if self.row.settings.get("query") == "float":
            self.report.not_checked.append(f"{self.row.run}: its queries are no codes: they are not ranked again")
            return
        n_before = len(self.report.differences)
        counts = {name: self._counts(name) for name in COUNTS if name in self.files}
        from_codes = self._codes()
        if self.relevance is not None:
            counts.pop("histogram.npz", None)
        if counts.get("histogram.npz") is None:
            counts = {CODES: from_codes, **counts}
        for name, of_search in counts.items():
            search: Search = "test" if "_of_test" in name else "database"
            if of_search is not None:
                known = _known(self.row.searches.get(search, {}), type(of_search))
                self._compare(search, of_search, known, name)
        if self.files and len(self.report.differences) == n_before:
            self._say_not_compared()

    def _say(self, what: str) -> None:
        self.report.differences.append(f"{self.row.run}: {what}")

    def _read(self, name: str, read: Callable[[Path], T]) -> T | None:
        return self.report.read(read, self.files[name].parent, name, f"{self.row.run}: ")

    def _counts(self, name: str) -> Histogram | Retrieval | None:
        """The counts in a file, if the row states them (those of the queries among each other it does not)."""
        counts = self._read(name, read_counts)
        if counts is None:
            return None
        if name == "histogram.npz" and isinstance(counts, Histogram):
            self._require_size(name, counts.n_queries, int(counts.counts[:1].sum()))
        if name not in STATED or self._is_stated(counts, name, f"{name} is not what the row was scored from"):
            return counts
        return None

    def _is_stated(self, counts: Histogram | Retrieval, name: str, fault: str) -> bool:
        stated = stated_sums(self.row).get(name)
        if is_other := (sha256 := counts.sha256()) != stated:
            self._say(f"{fault}: SHA-256 is {sha256}, the row says {stated}")
        return not is_other

    def _require_size(self, name: str, n_queries: int, n_items: int) -> None:
        """Says where a file is of other numbers of queries and items than the id lists."""
        if self.ids is not None and n_queries:
            n_query_ids = len(self.ids.query_ids)
            n_database_ids = len(self.ids.database_ids)
            if (n_queries, n_items) != (n_query_ids, n_database_ids):
                of_lists = f"the id lists of {n_query_ids} and {n_database_ids}"
                self._say(f"{name} is of {n_queries} queries and {n_items} items, {of_lists}")

    def _codes(self) -> Histogram | None:
        """The histogram of the codes, if the row states it; None too if there are no codes to count."""
        if CODES not in self.files:
            return None
        codes = self._read(CODES, lambda path: read_codes(path, self.row))
        if codes is None:
            return None
        self._check_beside(codes)
        relevance = self.relevance or codes.relevance
        relevance = relevance or self._read(CODES, lambda _: _relevance_here(self.row))
        if relevance is None or (counted := self._read(CODES, lambda _: codes.histogram(relevance))) is None:
            return None
        self.report.n_codes += 1
        ranked = self._read(CODES, lambda _: codes.ranked(relevance)) or {}
        for search, needed in NEEDED.items():
            stated = self.row.searches.get(search, {})
            if search in ranked:
                self._compare(search, ranked[search], _known(stated), CODES)
            elif stated:
                self._say(f"{CODES} holds no {needed}, and the row has metrics by {search} distances")
        if self._is_stated(counted, "histogram.npz", f"{CODES} gives another histogram"):
            return counted
        return None

    def _check_beside(self, codes: RunCodes) -> None:
        self._require_size(CODES, len(codes.query), len(codes.database))
        if (bits := self.row.config["settings"].get("bits")) not in (None, codes.query.n_bits):
            self._say(f"{CODES} has codes of {codes.query.n_bits} bits, the row is of {printable(str(bits))}")
        stated = self.row.distinct_codes
        distinct = codes.distinct
        if stated is not None and distinct != stated:
            gives = f"{CODES} gives {distinct.queries} and {distinct.database}"
            self._say(f"distinct_codes are {stated.queries} and {stated.database}, {gives}")
        for role, ids in (codes.ids or {}).items():
            if self.ids is not None and not np.array_equal(ids, getattr(self.ids, role)):
                self._say(f"{CODES}: {role} are not those of the id lists")

    def _compare(
        self, search: Search, counts: Histogram | Retrieval | Iterable[Histogram], wanted: Metrics, by: str
    ) -> None:
        """Says which values of the row's search are not those of the ``wanted`` metrics of ``counts``, in ``by``."""
        values = self._read(by, lambda _: metrics.mean_values(counts, wanted)) or {}
        self.report.n_values += len(values)
        tolerance = ROUNDING if self.relevance is None else LAST_BITS
        self.compared.update((search, name) for name in values)
        for name, value in values.items():
            stated: MetricValue = self.row.searches[search][name]
            for part, number in value.model_dump().items():
                if not _is_equal(of_row := getattr(stated, part), number, tolerance):
                    self._say(f"{search}.{printable(name)}.{part} is {_shown(of_row)}, {by} gives {_shown(number)}")

    def _say_not_compared(self) -> None:
        """Says which metrics this hashbench does not have, and of which of the others nothing is in the bundle."""
        for search, values in self.row.searches.items():
            for name in [name for name in values if (search, name) not in self.compared]:
                why = "no metric of this name"
                if _is_known(name):
                    why = "nothing that gives it is in the bundle"
                self.report.not_checked.append(f"{self.row.run}: {search}.{printable(name)}: {why}")


def _relevance_here(row: Row) -> Relevance:
    with retold(str, HashbenchError, by=NotHere):
        return protocol_here(row)[1]


def _known(names: Iterable[str], source: type | None = None) -> Metrics:
    """Those of the metrics that this hashbench has, and that are computed from ``source`` (None: from anything)."""
    known = Metrics.parse(filter(_is_known, names), source=None)
    return known.where(lambda metric: source in (None, metric.entry.source))


def _is_known(name: str) -> bool:
    try:
        return str(NamedMetric.parse(name)) == name
    except HashbenchError:
        return False


def _is_equal(one: float | None, other: float | None, tolerance: float) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)


def _shown(number: float | None) -> str:
    return "none" if number is None else f"{number:.10g}"


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


def score_again(check: RunCheck, where: Path) -> bool:
    """Whether there are counts or codes of the row in the file ``where``; CheckFailed unless they give its values."""
    check.all()
    if faults := check.report.differences:
        text = faults[0]
        if others := faults[1:]:
            text += f" (and {counted(len(others), 'other difference')})"
        raise CheckFailed(f"{where}: {text}")
    return bool(check.compared)


def score_stored(row: Row, store: Store, say: Callable[[str], object]) -> bool:
    """As :func:`score_again`, of a stored row; ``say`` gets a line where its files are of another training."""
    with TemporaryDirectory() as scratch:
        files = files_of_run(row, store, say, Path(scratch), codes=True)
        return score_again(RunCheck(row, files, None, Report()), store.rows_path(row.dataset, row.protocol))


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
        ids = self._id_lists()
        rows = self._rows()
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
        target = self.scratch / name
        stated = self.bundle.manifest.files[name]
        try:
            sha256 = self.bundle.copy(name, target)
        except DamagedFile as error:
            self.report.differences.append(str(error))
            target.unlink()
            return False
        if sha256 != stated:
            self._say(name, f"not the file that was packed: SHA-256 is {sha256}, {archive.MANIFEST} says {stated}")
        return sha256 == stated

    def _id_lists(self) -> dict[str, tuple[str, Split]]:
        id_lists: dict[str, tuple[str, Split]] = {}
        for name in self._names(archive.ID_LISTS):
            if self._is_copied(name) and (chosen := self.report.read(read_id_lists, self.scratch, name)) is not None:
                id_lists[chosen.sha256] = name, chosen
                self.report.n_id_lists += 1
        return id_lists

    def _rows(self) -> dict[str, Row]:
        """The rows by run. One that is not as it was packed is read too, because its values say what was changed."""
        rows: dict[str, Row] = {}
        for name in self._names(archive.ROWS):
            self._is_copied(name)
            if not (self.scratch / name).exists():
                continue
            for row in self._rows_in(name):
                if row.run in rows:
                    self._say(name, f"{row.run} is there twice")
                else:
                    rows[row.run] = row
                    self.report.n_rows += 1
        return rows

    def _rows_in(self, name: str) -> Iterator[Row]:
        """The readable rows in the copy of a file."""
        for line in self.report.read(store.read_lines, self.scratch, name) or []:

            def row_of(_: Path, line: store.Line = line) -> Row:
                return from_line(line.text, line.place)

            if (row := self.report.read(row_of, self.scratch, name)) is not None:
                yield row

    def _run(self, row: Row, names: list[str], ids: dict[str, tuple[str, Split]]) -> None:
        copies = {Path(name).name: self.scratch / name for name in names if self._is_copied(name)}
        if row.status == "ok":
            _, listed = ids.get(row.ids_sha256, ("", None))
            check = RunCheck(row, copies, listed, self.report)
            check.all()
            self.report.n_runs += 1
            if not check.compared:
                self.report.not_scored.append(row.run)
        shutil.rmtree(self.scratch / archive.RUNS / row.run, ignore_errors=True)
