"""The leaderboard: panels of one question each, whose methods are ranked on all of its tasks, or not at all."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, median
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation import paths
from hashbench.foundation.config import Strict, parse, read_toml
from hashbench.foundation.errors import HashbenchError, counted, unknown
from hashbench.learning.methods import METHODS
from hashbench.running.runs.query_scores import AP
from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import Rows, collect
from hashbench.showing.tables.difference import Position, against_best
from hashbench.showing.tables.ranking import SAMPLES, Floats, Scores, rank
from hashbench.showing.tables.table import Section, Table, TableCell

FILE = "leaderboard.toml"  # in experiments/
EXPLANATION = (
    "Only tuned settings are ranked, or, where a panel says so, our defaults; and only methods that have all tasks of "
    "a panel. A score is tie-aware mAP, or what the panel names: the mean over the code lengths of a task and all "
    "repeats; tasks of one data set are averaged. "
    "Points (Borda): on each data set the number of methods with a lower score, averaged over data sets; they give the "
    "order, and a failed run is last. Rank: "
    f"where the middle 95% of {SAMPLES:,} resamples place the method. A resample draws data sets with replacement and, "
    "within each, repeats, the same ones for all methods. Numbered columns: in how many percent of the resamples the "
    "method of the row has more points than the one of that number; equal points count half."
)
FAILED = -np.inf  # the score of a failed run: below every other

Queries = NDArray[np.float32]  # the score of each query [q]
TableOf = Callable[[str, bool], Table]  # of a name; True: with the rows of the protocol's own split alone
Values = Mapping[int | None, float]  # the score of each repeat of a cell, by its split, or by its seed on one split


class Block(Strict):
    """The cells of a table that a panel ranks: those of one of its sections, of these numbers of bits."""

    table: str
    section: str
    bits: list[int] = Field(min_length=1)


class PanelFile(Strict):
    """A panel as it is declared; ``group`` is that of its methods (none: all of its sections)."""

    question: str
    group: Literal["deep", "shallow"] | None = None
    measure: str = AP  # the score of a query, such as asymmetric: recall@10
    repeats: int = Field(default=5, ge=1)  # the runs that each cell needs
    blocks: list[Block] = Field(min_length=1)


class LeaderboardFile(Strict):
    """The whole file: its panels by name."""

    panels: dict[str, PanelFile]


class Task(NamedTuple):
    """A data set with a protocol."""

    dataset: str
    protocol: str

    @property
    def title(self) -> str:
        """Its name in headings."""
        return f"{self.dataset} {self.protocol}"


Cells = dict[Task, dict[int, TableCell]]  # of one row of the tables: by task and number of bits


@dataclass(frozen=True, eq=False)
class Line:
    """A ranked method: its cells, the score of each repeat of a task, its points, and the range of its rank."""

    method: str  # the label of its row in the tables
    name: str
    cells: Cells
    scores: Mapping[Task, Floats]  # [repeats], the mean over code lengths; FAILED where a run failed
    points: float
    low: int
    high: int

    @property
    def ranks(self) -> str:
        """The range of its rank as text."""
        if self.low == self.high:
            return str(self.low)
        return f"{self.low}-{self.high}"

    def score(self, task: Task) -> float | None:
        """The mean score over code lengths and repeats; None where a run failed."""
        mean = float(self.scores[task].mean())
        return None if mean == FAILED else mean

    @property
    def train_s(self) -> float | None:
        """The median seconds of training; None where no row has them."""
        rows = (row for cells in self.cells.values() for cell in cells.values() for row in rows_of(cell))
        seconds = [row.seconds.train for row in rows if row.seconds]
        return median(seconds) if seconds else None


@dataclass(frozen=True, eq=False)
class Panel:
    """A question, its measure, its tasks with their numbers of bits, its lines, the best first, and who is not ranked.

    ``beats`` [lines, lines] is the share of the resamples in which the line of the row beats that of the column;
    ``n_splits`` is the number of splits of each task; ``tables`` are the tables that have its values.
    """

    name: str
    question: str
    measure: str
    tables: Sequence[str]
    tasks: Mapping[Task, Sequence[int]]
    lines: Sequence[Line]
    beats: Floats
    not_ranked: Mapping[str, str]
    n_splits: Mapping[Task, int]
    not_below: Mapping[Task, Sequence[str]]  # by the paired test, of the tasks whose score of each query is kept

    @property
    def notes(self) -> Iterator[str]:
        """Its tasks, what its ranks rest on, and which methods lack a task, in sentences."""
        tasks = "; ".join(f"{task.title}: {', '.join(map(str, bits))} bits" for task, bits in self.tasks.items())
        yield f"Tasks: {tasks}."
        if self.measure != AP:
            yield f"Score: {self.measure}."
        yield self.rests_on
        for task, methods in self.not_below.items():
            test = "by the paired t-test over splits, corrected by Holm"
            yield f"{task.title}: not significantly below the highest score, {test}: {', '.join(methods)}."
        if self.not_ranked:
            named = "; ".join(f"{method} {why}" for method, why in self.not_ranked.items())
            yield f"Not ranked: {named}."

    @property
    def rests_on(self) -> str:
        """A sentence that says how many data sets and splits the ranks rest on."""
        n_datasets = counted(len({task.dataset for task in self.tasks}), "data set")
        if set(self.n_splits.values()) == {1}:
            return (
                f"This panel rests on {n_datasets} and on ONE split of each task: its repeats are training seeds. "
                "Another split may give other ranks."
            )
        splits = ", ".join(f"{task.title}: {n}" for task, n in self.n_splits.items())
        return f"This panel rests on {n_datasets}; its repeats are splits ({splits})."


def declared() -> dict[str, PanelFile]:
    """The declared panels of all roots by name; of several with one name that of the first root."""
    panels: dict[str, PanelFile] = {}
    for root in reversed(paths.roots()):
        path = root / "experiments" / FILE
        if path.is_file():
            panels |= parse(LeaderboardFile, read_toml(path), str(path)).panels
    return panels


def tables_of(rows: Iterable[Row], store: Store | None = None) -> TableOf:
    """A function that collects a declared table from ``rows``, once; with what ``store`` keeps of each query."""
    stored = Rows(rows)

    @cache
    def table_of(name: str, of_one_split: bool) -> Table:
        table = spec.load(name)
        repeats = "seeds" if of_one_split else table.repeats
        return collect(table.model_copy(update={"repeats": repeats}), stored, store)

    return table_of


def leaderboard(table_of: TableOf, names: Sequence[str] = ()) -> list[Panel]:
    """The panels called ``names``, or all of them, filled from the tables that they name.

    Raises HashbenchError for an unknown panel, table or section, and for cells that are not tuned.
    """
    files = declared()
    for name in names:
        if name not in files:
            raise unknown("panel", name, files)
    return [_panel(name, files[name], table_of) for name in [*names] or files]


def _panel(name: str, file: PanelFile, table_of: TableOf) -> Panel:
    cells_by_label, tasks = _cells_of_panel(name, file, table_of)
    repeats = {task: _repeats_of(task, cells_by_label.values(), file.repeats) for task in tasks}
    not_ranked: dict[str, str] = {}
    for label, cells in cells_by_label.items():
        lacks = [why for task, bits in tasks.items() if (why := _lacks(cells.get(task, {}), task, bits, repeats[task]))]
        if lacks:
            not_ranked[label] = f"lacks {', '.join(lacks)}"
    ranked = {label: cells for label, cells in cells_by_label.items() if label not in not_ranked}
    lines, beats = _ranked(ranked, repeats)
    tables = list(dict.fromkeys(block.table for block in file.blocks))
    n_splits = {task: len(keys) if None in keys else 1 for task, keys in repeats.items()}  # None: the published split
    tests = {task: _not_below_best(lines, task) for task in tasks}
    not_below = {task: methods for task, methods in tests.items() if methods}
    return Panel(name, file.question, file.measure, tables, tasks, lines, beats, not_ranked, n_splits, not_below)


def _not_below_best(lines: Sequence[Line], task: Task) -> list[str]:
    """The method with the highest score on a task, and all that the paired test does not find below it, or none."""
    scores_by_line: dict[Position, dict[str, Queries]] = {}
    for line in lines:
        by_length = [cell.measured.scores for cell in line.cells[task].values() if cell.measured]
        if by_length:
            splits = set.intersection(*(set(scores) for scores in by_length))
            means = {split: np.mean([scores[split] for scores in by_length], axis=0) for split in splits}
            scores_by_line[line.method, ""] = means
    test = against_best(scores_by_line)
    if test is None:
        return []
    return sorted(method for method, _ in test.best)


def _cells_of_panel(name: str, file: PanelFile, table_of: TableOf) -> tuple[dict[str, Cells], dict[Task, list[int]]]:
    """The cells of each row of the tables, by its label, and the tasks in the order of the blocks, with their bits."""
    cells_by_row: dict[str, Cells] = {}
    tasks: dict[Task, list[int]] = {}
    methods: dict[str, str] = {}
    for block in file.blocks:
        cells = _cells_of_block(name, file, block, table_of(block.table, False))
        if any(cell.measured.lacks_splits for cell in cells if cell.measured):  # then all are ranked on one split
            cells = _cells_of_block(name, file, block, table_of(block.table, True))
        for cell in cells:
            keys = cell.declared
            if methods.setdefault(keys.row, keys.method) != keys.method:
                where = f"{keys.row!r} is {methods[keys.row]}, and {keys.method} in table {block.table}"
                raise HashbenchError(f"{FILE}: panel {name}: {where}: a label of one method is expected")
            task = Task(keys.dataset, keys.protocol)
            bits = int(str(keys.settings["bits"]))
            cells_by_row.setdefault(keys.row, {}).setdefault(task, {})[bits] = cell
            tasks[task] = sorted({*tasks.get(task, ()), bits})
    return cells_by_row, tasks


def _cells_of_block(panel: str, file: PanelFile, block: Block, table: Table) -> list[TableCell]:
    """The cells of the section with the panel's measure, of the numbers of bits and the group of methods.

    Raises HashbenchError for a number of bits without any, and for settings that are not tuned.
    """
    where = f"{FILE}: panel {panel}: table {block.table}"
    sections: dict[str, Section] = {section.title: section for section in table.sections}
    if block.section not in sections:
        raise HashbenchError(f"{where}: {unknown('section', block.section, sections)}")
    cells = [cell for cell in sections[block.section].cells.values() if cell.declared.measure == file.measure]
    if other := next((cell for cell in cells if cell.declared.recipe is not None), None):
        raise HashbenchError(
            f"{where}: section {block.section!r}: settings of {other.declared.recipe}; tuned are expected"
        )
    lengths = {cell.declared.settings.get("bits") for cell in cells}
    if missing := next((bits for bits in block.bits if bits not in lengths), None):
        raise HashbenchError(f"{where}: section {block.section!r} has no {file.measure} at {missing} bits")
    cells = [cell for cell in cells if cell.declared.settings.get("bits") in block.bits]
    if file.group is None:
        return cells
    here = [cell for cell in cells if cell.declared.method in METHODS]
    return [cell for cell in here if METHODS.get(cell.declared.method).group == file.group]


def rows_of(cell: TableCell) -> tuple[Row, ...]:
    """The rows of the runs that a cell is the mean of."""
    return () if cell.measured is None else cell.measured.rows


def values_of(cell: TableCell) -> Values:
    """The score of each repeat: of each split, or of each seed where all rows are of one split; maybe FAILED."""
    results = [(row, FAILED) for row in cell.failed]
    if cell.measured is not None:
        results = [*zip(cell.measured.rows, cell.measured.values, strict=True), *results]
    has_splits = len({row.split_seed for row, _ in results}) > 1
    values: dict[int | None, list[float]] = {}
    for row, value in results:
        values.setdefault(row.split_seed if has_splits else row.seed, []).append(value)
    return {repeat: fmean(of_repeat) for repeat, of_repeat in values.items()}


def _repeats_of(task: Task, rows: Iterable[Cells], n: int) -> Sequence[int | None]:
    """The first ``n`` repeats of most of the cells of a task that have so many; empty where none has."""
    n_cells_by_repeats: Counter[tuple[int | None, ...]] = Counter()
    for cells in rows:
        for cell in cells.get(task, {}).values():
            repeats = tuple(values_of(cell))[:n]
            n_cells_by_repeats[repeats] += len(repeats) == n
    [(most, n_cells)] = n_cells_by_repeats.most_common(1)
    return most if n_cells else ()


def _lacks(by_bits: Mapping[int, TableCell], task: Task, bits: Sequence[int], repeats: Sequence[int | None]) -> str:
    """The part of a task that a row does not have; empty where it has all of it."""
    values = {n_bits: values_of(by_bits[n_bits]) for n_bits in bits if n_bits in by_bits}
    if not any(values.values()):
        return task.title
    wanted = {*repeats}
    short = [n_bits for n_bits in bits if not wanted or not wanted <= values.get(n_bits, {}).keys()]
    if not short:
        return ""
    n_there = min(len(wanted & values.get(n_bits, {}).keys()) for n_bits in short)
    named = f"{task.title} ({', '.join(map(str, short))} bits"
    if n_there:
        named += f": {n_there} of {len(wanted)} repeats"
    return f"{named})"


def _ranked(ranked: Mapping[str, Cells], repeats: Mapping[Task, Sequence[int | None]]) -> tuple[list[Line], Floats]:
    """The lines of complete rows, the best first, and the share of resamples in which each beats each."""
    if not ranked:
        return [], np.zeros((0, 0))
    scores = {label: _scores_of(cells, repeats) for label, cells in ranked.items()}
    tasks = [Scores(task.dataset, np.array([scores[label][task] for label in ranked])) for task in repeats]
    ranking = rank(tasks)
    lines = []
    for place, (label, cells) in enumerate(ranked.items()):
        name = next(cell.declared.method for by_bits in cells.values() for cell in by_bits.values())
        low = int(ranking.low[place])
        high = int(ranking.high[place])
        lines.append(Line(label, name, cells, scores[label], float(ranking.points[place]), low, high))
    order = sorted(range(len(lines)), key=lambda place: (-lines[place].points, lines[place].method))
    return [lines[place] for place in order], ranking.beats[np.ix_(order, order)]


def _scores_of(cells: Cells, repeats: Mapping[Task, Sequence[int | None]]) -> dict[Task, Floats]:
    """The mean score over code lengths of each repeat, [repeats], by task."""
    scores = {}
    for task, keys in repeats.items():
        values = [values_of(cell) for cell in cells[task].values()]
        scores[task] = np.array([[of_cell[key] for key in keys] for of_cell in values]).mean(axis=0)
    return scores
