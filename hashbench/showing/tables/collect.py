"""From stored rows to a table: each cell gets the mean over the runs that were made for it."""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import DAMAGE, HashbenchError
from hashbench.running.datasets.protocol import N_SPLITS
from hashbench.running.runs import query_scores
from hashbench.running.runs.query_scores import Kept
from hashbench.running.runs.row import Row, Search, provider_of
from hashbench.running.runs.settings import method_file
from hashbench.running.runs.store import Store
from hashbench.scoring import metrics
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.metrics import Metrics
from hashbench.showing.tables.cell import Cell
from hashbench.showing.tables.cell_runs import cell_hash, repeats_of
from hashbench.showing.tables.difference import Position, Scores
from hashbench.showing.tables.spec import TableSpec, names
from hashbench.showing.tables.table import Measured, Section, Table, TableCell

log = logging.getLogger(__name__)

CellHash = Callable[[Cell, int | None], str]


def collect(spec: TableSpec, rows: Iterable[Row], store: Store | None, *, hash_of: CellHash = cell_hash) -> Table:
    """The table that ``spec`` declares, each cell with what ``rows`` hold for it.

    A cell's value is the mean over its repeats of the rows' means over queries, with the sample deviation. Where
    its repeats are splits, and it has rows of the protocol's own split only, it shows all of these. A metric that a row
    does not hold is computed from the run's histogram in ``store``, if it is kept and its checksum
    is the row's. A cell is blank where no row of a successful run fits it. A method that is not
    installed here gives no digest of a cell: its rows are found by their names and settings.

    Raises HashbenchError when two cells have one position, and when a cell cannot be run.
    """
    if not isinstance(rows, Rows):
        rows = Rows(rows)
    stored = _StoredResults(rows, store, hash_of)
    sections: dict[str, dict[Position, TableCell]] = defaultdict(dict)
    repeated: dict[str, None] = {}
    for cell in spec.cells:
        section = sections[cell.section]
        if (cell.row, cell.column) in section:
            raise HashbenchError(
                f"table {spec.name}: two cells at row {cell.row!r}, column {cell.column!r} of section "
                f"{cell.section!r}: give one of them another label"
            )
        hash_of_cell = hash_of
        if not spec.is_installed(cell):
            hash_of_cell = stored.stated_hash
        of_cell = stored.rows_of(cell, spec, hash_of_cell)
        measured = stored.measured(cell, of_cell)
        if measured is not None and spec.repeats == "splits":
            measured = replace(measured, lacks_splits=measured.n_splits == 1)
        if measured is not None:
            repeated |= {run: None for run, n in Counter(row.run for row in of_cell).items() if n > 1}
        failed = stored.failed_of(cell, spec, hash_of_cell)
        section[cell.row, cell.column] = TableCell(cell, measured, failed)
    filled = []
    for title, cells in sections.items():
        rows_, columns = (tuple(dict.fromkeys(labels)) for labels in zip(*cells, strict=True))  # in order of appearance
        filled.append(Section(title, rows_, columns, cells))
    notes = (*_notes(spec, [*repeated]), *stored.elsewhere(spec.not_installed))
    return Table(spec.name, spec.title, spec.paper, spec.source, notes, tuple(filled), spec.distinct, spec.picture)


def _notes(spec: TableSpec, repeated: list[str]) -> Iterator[str]:
    """The footnotes on another budget than the table's own, and on runs that several machines measured."""
    yield from spec.notes
    if (budget := spec.substitute_budget) is not None:
        yield f"Measured on the schedule {budget}, which is not that of the published figures."
        for file in map(method_file, spec.methods):
            yield f"{file.title} on the schedule {budget}: {file.budgets[budget]}."
    if n := len(repeated):
        named = ", ".join(repeated[:3] + ["..."] * (n > 3))
        yield f"Measured more than once, and shown as the mean of the measurements: {n} of the runs ({named})."


def keep_query_scores(spec: TableSpec, rows: "Rows", store: Store) -> list[Path]:
    """Keeps what is compared of each query of a table of record, whose repeats are splits; the file, if it is new."""
    if spec.repeats != "splits" or spec.name not in names():
        return []
    of_table = []
    for cell in {cell.run_key: cell for cell in spec.cells if spec.is_installed(cell)}.values():
        for seed, split in repeats_of(cell, spec, N_SPLITS):
            of_table += rows.of_cells.get(cell_hash(cell, split), {}).get(seed, [])[:1]
    measures = {cell.measure for cell in spec.cells if cell.measure is not None}
    path = query_scores.keep(spec.name, of_table, sorted(measures), store)
    return [] if path is None else [path]


class Rows(tuple[Row, ...]):
    """Rows whose successful ones are grouped once, however many tables are collected from them."""

    @cached_property
    def of_cells(self) -> Mapping[str, Mapping[int, list[Row]]]:
        """Digest of a cell -> seed -> the rows of this run, mostly one."""
        of_cells: dict[str, dict[int, list[Row]]] = defaultdict(dict)
        for row in self:
            if row.status == "ok":
                of_cells[row.cell_hash].setdefault(row.seed, []).append(row)
        return dict(of_cells)

    @cached_property
    def failed_of_cells(self) -> Mapping[str, list[Row]]:
        """Digest of a cell -> the rows of its failed runs."""
        failed: dict[str, list[Row]] = defaultdict(list)
        for row in self:
            if row.status == "failed":
                failed[row.cell_hash].append(row)
        return dict(failed)


@dataclass(frozen=True)
class _StoredResults:
    """The rows, and the store that keeps their histograms."""

    rows: Rows
    store: Store | None
    hash_of: CellHash

    @cached_property
    def kept(self) -> Kept | None:
        """What the store keeps of each query."""
        return None if self.store is None else Kept.of(self.store)

    def rows_of(self, cell: Cell, spec: TableSpec, hash_of: CellHash) -> list[Row]:
        if spec.repeats == "splits":
            repeats = repeats_of(cell, spec, N_SPLITS)
            of_repeats = [self._by_seed(hash_of(cell, split)).get(seed, []) for seed, split in repeats]
            if any(row.split_seed is not None for rows in of_repeats for row in rows):
                return [row for rows in of_repeats for row in rows]
        by_seed = self._by_seed(hash_of(cell, None))
        return [row for seed in sorted(by_seed) for row in by_seed[seed]]

    def _by_seed(self, digest: str) -> Mapping[int, list[Row]]:
        return self.rows.of_cells.get(digest, {})

    def failed_of(self, cell: Cell, spec: TableSpec, hash_of: CellHash) -> tuple[Row, ...]:
        """The rows of its failed runs; where its repeats are splits, those of its repeats."""
        failed = self.rows.failed_of_cells
        if not failed:
            return ()
        if spec.repeats == "seeds":
            return tuple(failed.get(hash_of(cell, None), ()))
        repeats = repeats_of(cell, spec, N_SPLITS)
        rows = chain.from_iterable(failed.get(hash_of(cell, split), ()) for _, split in repeats)
        return tuple(row for row in rows if (row.seed, row.split_seed) in repeats)

    def stated_hash(self, cell: Cell, split: int | None) -> str:
        """The digest of the only rows whose names and settings are the cell's; empty where it is not sure.

        Its method is not installed, so its defaults are not known. A setting that every row of it names is one that
        the method declares; any other one that the cell does not state is of another cell, as ``published`` values are.
        """
        rows = self._of_method(cell.method)
        if not rows or cell.recipe is not None:
            return ""
        names = (cell.dataset, cell.protocol, cell.budget, split)
        known = set.intersection(*(set(row.settings) for row in rows)) | cell.settings.keys()
        hashes = []
        for row in rows:
            settings = {**row.config["settings"], **row.settings}
            is_stated = row.settings.keys() <= known and cell.settings.items() <= settings.items()
            if (row.dataset, row.protocol, row.budget, row.split_seed) == names and is_stated:
                hashes.append(row.cell_hash)
        return hashes[0] if len(hashes) == 1 else ""

    def _of_method(self, method: str) -> list[Row]:
        """The first row of each cell of a method."""
        firsts = (next(iter(by_seed.values()))[0] for by_seed in self.rows.of_cells.values())
        return [row for row in firsts if row.method == method]

    def elsewhere(self, methods: list[str]) -> Iterator[str]:
        """A footnote for each method that is not installed here, with the package that brings it."""
        for method in methods:
            rows = self._of_method(method)
            package = next(filter(None, map(provider_of, rows)), "another package")
            shown = "its cells show the rows that have their names and settings"
            yield f"Method {method} is not installed here ({package} brings it): {shown}."

    def measured(self, cell: Cell, rows: list[Row]) -> Measured | None:
        """The cell's metric over the seeds and splits of ``rows``; None where there is none."""
        metric = cell.named_metric
        means_by_row = list(self._means(rows, str(metric), cell.evaluation))
        if not means_by_row:
            return None
        measured, means = zip(*means_by_row, strict=True)
        n_splits = len({row.cell_hash for row in measured})
        value = Measured(
            fmean(means),
            stdev(means) if len(means) > 1 else None,
            len(means) // n_splits,
            n_splits=n_splits,
            rows=measured,
            values=means,
        )
        if metric.name.metric == "ap" and cell.evaluation == "database":
            ends = [[mean for _, mean in self._means(rows, end, "database")] for end in ("ap_worst", "ap_best")]
            if all(ends):
                worst, best = map(fmean, ends)
                value = replace(value, tie_range=best - worst)
                if str(metric) == "ap":
                    value = replace(value, worst=worst, best=best)
        codes = [row.distinct_codes for row in measured if row.distinct_codes is not None]
        if len(codes) == len(measured):
            n_queries = fmean(distinct.queries for distinct in codes)
            n_database = fmean(distinct.database for distinct in codes)
            value = replace(value, distinct_queries=n_queries, distinct_database=n_database)
        if cell.measure is not None and self.kept is not None:
            value = replace(value, scores=_scores_of(measured, cell.measure, self.kept))
        return value

    def _means(self, rows: list[Row], metric: str, evaluation: Search) -> Iterator[tuple[Row, float]]:
        """The runs that give the metric, each by its first row, with the mean of all its measurements."""
        means_by_run: dict[str, tuple[Row, list[float]]] = {}
        for row in rows:
            mean = None
            if (value := row.searches.get(evaluation, {}).get(metric)) is not None:
                mean = value.mean
            elif evaluation == "database":
                mean = self._from_histogram(row, metric)
            if mean is not None:
                means_by_run.setdefault(row.run, (row, []))[1].append(mean)
        yield from ((row, fmean(means)) for row, means in means_by_run.values())

    def _from_histogram(self, row: Row, metric: str) -> float | None:
        try:
            if (histogram := kept_histogram(row, self.store)) is not None:
                return metrics.mean_values(histogram, Metrics.parse([metric]))[metric].mean
        except HashbenchError as error:
            log.warning("%s: %s cannot be computed: %s", row.run, metric, error)
        return None


def _scores_of(rows: Iterable[Row], measure: str, kept: Kept) -> Scores:
    """The measure of each query on each split of which it is kept, the mean over the split's runs that have it."""
    scores_by_split: dict[str, list[NDArray[np.float32]]] = defaultdict(list)
    for row in rows:
        scores = kept.values_of(row, measure)
        if scores is not None:
            scores_by_split[row.ids_sha256].append(scores)
    return {split: np.mean(scores, axis=0) for split, scores in scores_by_split.items()}


def kept_histogram(row: Row, store: Store | None) -> Histogram | None:
    """The histogram that a row was scored from; None if it is not kept, or (with a warning) if the file is another."""
    try:
        return None if store is None else store.histogram(row)
    except HashbenchError as error:
        DAMAGE.warning("%s", error)
        return None
