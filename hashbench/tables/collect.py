"""From stored rows to a table: each cell gets the mean over the seeds that were run for it."""

import logging
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from zipfile import BadZipFile

from hashbench import metrics
from hashbench.errors import HashbenchError
from hashbench.histogram import Histogram
from hashbench.runs import hyperparameters
from hashbench.runs.spec import resolve
from hashbench.runs.store import Row, Store
from hashbench.tables.cell import Cell, Evaluation
from hashbench.tables.names import names_to_come
from hashbench.tables.spec import TableSpec
from hashbench.tables.table import Measured, Position, Section, Table, TableCell

log = logging.getLogger(__name__)


def cell_hash(cell: Cell) -> str:
    """The digest in the rows that fill the cell, the same for every seed.

    Raises HashbenchError where the cell uses a name or a setting that does not exist.
    """
    return resolve(cell.dataset, cell.protocol, cell.method, cell.settings, budget=cell.budget).cell_hash


def collect(
    spec: TableSpec, rows: Iterable[Row], store: Store | None, *, hash_of: Callable[[Cell], str] = cell_hash
) -> Table:
    """The table that ``spec`` declares, each cell with what ``rows`` hold for it.

    A cell's value is the mean over seeds of the rows' means (each a mean over queries), with the sample standard
    deviation over seeds. A metric that a row does not hold is computed from the run's histogram in ``store``, if it
    is kept and its checksum is the row's. Rows of failed runs are not used. A cell is blank where no row fits it, or
    where it uses a name that is still to come. A cell whose queries search each other (``evaluation = "test"``) is
    filled by rows of sparse codes only: no others are searched so. A cell by weighted distances is filled by rows of
    methods that learn weights only.

    Raises HashbenchError when two cells have one position, and when a cell cannot be run.
    """
    stored = _StoredResults.of(rows, store, hash_of)
    sections: dict[str, dict[Position, TableCell]] = defaultdict(dict)
    for cell in spec.cells:
        section = sections[cell.section]
        if (cell.row, cell.column) in section:
            raise HashbenchError(
                f"table {spec.name}: two cells at row {cell.row!r}, column {cell.column!r} of section "
                f"{cell.section!r}: give one of them another label"
            )
        measured = None if names_to_come(cell, spec.to_come) else stored.measured(cell)
        section[cell.row, cell.column] = TableCell(cell, measured)
    return Table(
        name=spec.name,
        title=spec.title,
        paper=spec.paper,
        source=spec.source,
        notes=(*spec.notes, *_notes_on_budget(spec)),
        sections=tuple(_section(title, cells) for title, cells in sections.items()),
    )


def _notes_on_budget(spec: TableSpec) -> Iterator[str]:
    """The footnotes of a table at another budget than its own: what each method's budget is."""
    if spec.substitute_budget is None:
        return
    yield f"Measured at budget {spec.substitute_budget}, which is not what the published figures were run at."
    for method in sorted({cell.method for cell in spec.cells}):
        file = hyperparameters.load(method)
        yield f"{file.title} at budget {spec.substitute_budget}: {file.budgets[spec.substitute_budget]}."


def _section(title: str, cells: dict[Position, TableCell]) -> Section:
    # dict keeps the order of appearance and drops repetitions
    rows = tuple(dict.fromkeys(row for row, _ in cells))
    columns = tuple(dict.fromkeys(column for _, column in cells))
    return Section(title, rows, columns, cells)


@dataclass(frozen=True)
class _StoredResults:
    """The rows of successful runs, by cell and seed, and the store that keeps their histograms."""

    rows: Mapping[str, Mapping[int, Row]]  # digest of the cell -> seed -> row
    store: Store | None
    hash_of: Callable[[Cell], str]

    @staticmethod
    def of(rows: Iterable[Row], store: Store | None, hash_of: Callable[[Cell], str]) -> "_StoredResults":
        found: dict[str, dict[int, Row]] = defaultdict(dict)
        for row in rows:
            if row.status == "ok":
                found[row.cell_hash][row.seed] = row
        return _StoredResults(dict(found), store, hash_of)

    def measured(self, cell: Cell) -> Measured | None:
        """The cell's metric over the seeds; None where there is none."""
        name = str(metrics.parse(cell.metric))
        by_seed = self.rows.get(self.hash_of(cell), {})
        rows = [by_seed[seed] for seed in sorted(by_seed)]
        means = self._means(rows, name) if cell.evaluation == "database" else _means_in(rows, name, cell.evaluation)
        if not means:
            return None
        worst, best = self._tie_interval(rows) if name == "ap" and cell.evaluation == "database" else (None, None)
        std = statistics.stdev(means) if len(means) > 1 else None
        return Measured(statistics.fmean(means), std, len(means), worst, best)

    def _tie_interval(self, rows: Iterable[Row]) -> tuple[float | None, float | None]:
        """The worst and the best AP over all orders of ties, each a mean over seeds."""
        ends = [self._means(rows, end) for end in ("ap_worst", "ap_best")]
        worst, best = (statistics.fmean(end) for end in ends) if all(ends) else (None, None)
        return worst, best

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


def _means_in(rows: Iterable[Row], metric: str, evaluation: Evaluation) -> list[float]:
    """The means that rows hold of a search that is not the unweighted one of the database."""
    values = ((row.metrics_of_test if evaluation == "test" else row.metrics_weighted).get(metric) for row in rows)
    return [value.mean for value in values if value is not None and value.mean is not None]


def _kept_histogram(row: Row, store: Store | None) -> Histogram | None:
    """The histogram that a row was scored from; None if it is not kept, or (with a warning) if the file is another."""
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
