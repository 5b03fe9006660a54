"""From rows to a table: each cell is filled with the mean over the seeds that were run for it."""

import logging
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol
from zipfile import BadZipFile

from hashbench import metrics
from hashbench.config import Setting
from hashbench.errors import HashbenchError
from hashbench.histogram import Histogram
from hashbench.runs import hyperparameters
from hashbench.runs.spec import resolve
from hashbench.runs.store import Row, Store
from hashbench.tables.names import awaited
from hashbench.tables.spec import Cell, TableSpec
from hashbench.tables.table import Measured, ProcessGroup, Section, Table, TableCell

log = logging.getLogger(__name__)


class Named(Protocol):
    """What a table needs to know of an experiment."""

    @property
    def cell_hash(self) -> str:
        """The digest that the rows of all seeds share."""
        ...


class Resolve(Protocol):
    """How the names in a cell become an experiment; raises HashbenchError where one does not exist."""

    def __call__(
        self, dataset: str, protocol: str, method: str, settings: Mapping[str, Setting], *, seed: int = 0, budget: str
    ) -> Named:
        """The experiment of those names."""
        ...


def collect(spec: TableSpec, rows: Iterable[Row], store: Store | None, *, resolve: Resolve = resolve) -> Table:
    """The table that ``spec`` declares, each cell with what ``rows`` say about it.

    A cell's value is the mean over seeds of the rows' means (each a mean over queries), with the sample standard
    deviation over seeds. A metric that a row does not hold is computed from the run's histogram in ``store``, if it
    is kept and its checksum is the row's. Failed rows never count. A cell stays blank where nothing was measured:
    because no row fits, because a name in it has no entry yet, or because the queries are asked to search each other,
    which rows of sparse codes alone are about.

    Raises HashbenchError when two cells stand at one place, and when a cell names what cannot be run.
    """
    evidence = _Evidence.of(rows, store, resolve, spec.to_come)
    sections: dict[str, dict[ProcessGroup, TableCell]] = defaultdict(dict)
    for cell in spec.cells:
        section = sections[cell.section]
        if (cell.row, cell.column) in section:
            raise HashbenchError(
                f"table {spec.name}: two cells at row {cell.row!r}, column {cell.column!r} of section "
                f"{cell.section!r}: give one of them another label"
            )
        section[cell.row, cell.column] = TableCell(cell, evidence.measured(cell))
    return Table(
        name=spec.name,
        title=spec.title,
        paper=spec.paper,
        source=spec.source,
        notes=(*spec.notes, *_stand_ins(spec)),
        sections=tuple(_section(title, cells) for title, cells in sections.items()),
    )


def _stand_ins(spec: TableSpec) -> Iterator[str]:
    """A footnote for each budget that stands in for the table's own, so that no figure of it passes for one."""
    if spec.stand_in is None:
        return
    methods = sorted({cell.method for cell in spec.cells})
    yield f"Measured at budget {spec.stand_in}, which is not what the published figures were run at."
    for method in methods:
        file = hyperparameters.load(method)
        yield f"{file.title} at budget {spec.stand_in}: {file.budgets[spec.stand_in]}."


def _section(title: str, cells: dict[ProcessGroup, TableCell]) -> Section:
    # dict keeps the order of appearance and drops repetitions
    rows = tuple(dict.fromkeys(row for row, _ in cells))
    columns = tuple(dict.fromkeys(column for _, column in cells))
    return Section(title, rows, columns, cells)


@dataclass(frozen=True)
class _Evidence:
    """The successful rows by cell and seed, and the histograms behind them."""

    rows: dict[str, dict[int, Row]]
    store: Store | None
    resolve: Resolve
    to_come: Mapping[str, list[str]]

    @staticmethod
    def of(rows: Iterable[Row], store: Store | None, resolve: Resolve, to_come: Mapping[str, list[str]]) -> "_Evidence":
        found: dict[str, dict[int, Row]] = defaultdict(dict)
        for row in rows:
            if row.status == "ok":
                found[row.cell_hash][row.seed] = row
        return _Evidence(dict(found), store, resolve, to_come)

    def measured(self, cell: Cell) -> Measured | None:
        if awaited(cell, self.to_come):
            return None
        name = str(metrics.parse(cell.metric))
        rows = self._rows(cell)
        means = self._means(rows, name) if cell.evaluation == "database" else _means_of_test(rows, name)
        if not means:
            return None
        of_ties = ("ap_worst", "ap_best") if name == "ap" and cell.evaluation == "database" else ()
        ends = [self._means(rows, end) for end in of_ties]
        worst, best = (statistics.fmean(end) for end in ends) if ends and all(ends) else (None, None)
        std = statistics.stdev(means) if len(means) > 1 else None
        return Measured(statistics.fmean(means), std, len(means), worst, best)

    def _rows(self, cell: Cell) -> list[Row]:
        """The successful rows that fill a cell, by seed."""
        named = self.resolve(cell.dataset, cell.protocol, cell.method, cell.settings, budget=cell.budget)
        by_seed = self.rows.get(named.cell_hash, {})
        return [by_seed[seed] for seed in sorted(by_seed)]

    def _means(self, rows: Iterable[Row], metric: str) -> list[float]:
        means = (self._mean(row, metric) for row in rows)
        return [mean for mean in means if mean is not None]

    def _mean(self, row: Row, metric: str) -> float | None:
        if metric in row.metrics:
            return row.metrics[metric].mean
        histogram = _kept_histogram(row, self.store)
        if histogram is None:
            return None
        try:
            return metrics.summarise(metrics.evaluate(histogram, [metric])[metric]).mean
        except HashbenchError as error:
            log.warning("%s: %s cannot be computed: %s", row.run, metric, error)
            return None


def _means_of_test(rows: Iterable[Row], metric: str) -> list[float]:
    values = (row.metrics_of_test.get(metric) for row in rows)
    return [value.mean for value in values if value is not None and value.mean is not None]


def _kept_histogram(row: Row, store: Store | None) -> Histogram | None:
    """The histogram that a row was scored from; None, with a warning, for a file that is not that one."""
    path = store.run_folder(row.run) / "histogram.npz" if store is not None else None
    if path is None or not path.is_file():
        return None
    try:
        histogram = Histogram.load(path)
        checksum = histogram.sha256()
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        log.warning("%s: not a readable histogram, left out: %s", path, error)
        return None
    if checksum != row.histogram_sha256:
        log.warning("%s: not the histogram that the row was scored from (SHA-256 differs), left out", path)
        return None
    return histogram
