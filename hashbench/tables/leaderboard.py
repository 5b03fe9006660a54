"""The leaderboard: methods down, tasks across, ranked by AP_T, with how sure the ranks are, what it cost and needs."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, median, stdev
from typing import Any

import numpy as np

from hashbench import metrics
from hashbench.foundation.errors import unknown
from hashbench.methods import METHODS
from hashbench.metrics import Metrics
from hashbench.runs.row import Row, processor_of
from hashbench.runs.settings import method_file
from hashbench.runs.store import Store
from hashbench.tables.collect import kept_histogram
from hashbench.tables.resampling import LEVEL, SAMPLES, Floats, rank_intervals, ranks_of, share_above_zero
from hashbench.tables.tracks import TUNED, Name, Task, is_pretrained, kinds_of, name_of, needs_of, protocol_of, task_of

FEWEST = 4  # of 3 tasks one sample in 27 has the worst one only: the interval of 95% would be from end to end


@dataclass(frozen=True)
class Result:
    """What was measured of a method on a task: the AP_T of each seed, and the rows."""

    of_seeds: Mapping[int, float]
    rows: tuple[Row, ...]

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return fmean(self.of_seeds.values())

    @property
    def std(self) -> float | None:
        """The sample deviation over seeds; None with one."""
        return stdev(self.of_seeds.values()) if len(self.of_seeds) > 1 else None

    @property
    def train_s(self) -> float | None:
        """The median seconds of training; None of codes made elsewhere."""
        return _median(map(_train_s, self.rows))


@dataclass(frozen=True)
class Line:
    """A method with one source of its settings (its track); a task without a result is a gap."""

    label: str
    method: str
    track: str
    needs: str  # of the training items: none, classes, pairs
    results: Mapping[Task, Result]
    ranks: Mapping[Task, float]  # on the tasks that another line has too, 1 is the best; equal means share a rank
    n_compared: Mapping[Task, int]  # the lines on each of these tasks
    interval: tuple[float, float] | None = None  # of the mean rank; None where it would say nothing
    better: float | None = None  # the probability that it is better than the next line that it can be compared with
    better_than: str = ""  # that line
    better_over: str = ""  # what was resampled for it

    @property
    def rank(self) -> float | None:
        """The mean rank."""
        return fmean(self.ranks.values()) if self.ranks else None

    @property
    def beaten(self) -> float | None:
        """The share of the other lines of a task that it beats, on average; an equal one counts half."""
        shares = [1 - (rank - 1) / (self.n_compared[task] - 1) for task, rank in self.ranks.items()]
        return fmean(shares) if shares else None

    @property
    def too_few(self) -> str:
        """Why there is no interval."""
        if self.interval is None:
            return f"{len(self.ranks)} of {FEWEST} tasks" if len(self.ranks) < FEWEST else "one seed"
        return ""

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of all tasks."""
        return [row for result in self.results.values() for row in result.rows]

    @property
    def pretrained(self) -> str:
        """Whether its input is of a pre-trained network, on all, some or none of its tasks."""
        found = {is_pretrained(row) for row in self.rows}
        return "unknown" if None in found else "some" if len(found) > 1 else "yes" if found.pop() else "no"

    @property
    def train_s(self) -> float | None:
        """The median seconds of training."""
        return _median(map(_train_s, self.rows))

    @property
    def items_per_s(self) -> float | None:
        """The median number of items that are encoded in a second."""
        return _median(map(_items_per_s, self.rows))

    @property
    def peak_memory(self) -> float | None:
        """The median of the peak memory of the process, in bytes."""
        return _median(None if row.is_imported else row.peak_memory for row in self.rows)

    def values(self) -> dict[str, Any]:
        """The columns before the tasks, as CSV and JSON have them."""
        low, high = self.interval or (None, None)
        named = {"method": self.label, "name": self.method, "settings": self.track, "needs": self.needs}
        of_rank = {"mean_rank": self.rank, "rank_low": low, "rank_high": high, "why_no_interval": self.too_few}
        n_compared = fmean(self.n_compared.values()) if self.ranks else None
        of_rank |= {"n_tasks": len(self.ranks), "n_compared": n_compared, "beaten": self.beaten}
        of_next = {key: getattr(self, key) for key in ("better", "better_than", "better_over")}
        cost = {key: getattr(self, key) for key in ("train_s", "items_per_s", "peak_memory")}
        return {**named, "pretrained": self.pretrained, **of_rank, **of_next, **cost}


SORTS: dict[str, Callable[[Line], Any]] = {
    "beats": lambda line: None if len(line.ranks) < FEWEST else -(line.beaten or 0),
    "rank": lambda line: line.rank,
    "method": lambda line: line.label.lower(),
    "tasks": lambda line: -len(line.ranks),
    "train": lambda line: line.train_s,
    "encode": lambda line: None if line.items_per_s is None else -line.items_per_s,
    "memory": lambda line: line.peak_memory,
}


@dataclass(frozen=True)
class Selection:
    """The tasks and the lines that are shown; empty: all. ``all_tracks``: also beside a tuned method as published."""

    datasets: Sequence[str] = ()
    protocols: Sequence[str] = ()
    bits: Sequence[int] = ()
    features: Sequence[str] = ()
    kinds: Sequence[str] = ()
    all_tracks: bool = False

    def has(self, task: Task) -> bool:
        """Whether the task is one of them."""
        wanted = (self.datasets, self.protocols, self.bits, self.features)
        return all(not some or part in some for part, some in zip(task, wanted, strict=True))


@dataclass(frozen=True)
class Leaderboard:
    """The lines, the best first, the tasks, and the number of cells that no track has."""

    tasks: tuple[Task, ...]
    lines: tuple[Line, ...]
    n_other: int = 0

    @property
    def shared(self) -> list[str]:
        """The parts that all tasks have."""
        return [of.pop() for of in map(set, zip(*(task.parts for task in self.tasks), strict=True)) if len(of) == 1]

    def title_of(self, task: Task) -> str:
        """The parts of a task that tell it from others; all where it is the only one."""
        return ", ".join(part for part in task.parts if part not in self.shared) or ", ".join(task.parts)

    @property
    def notes(self) -> Iterator[str]:
        """What the numbers are, in sentences."""
        yield (
            "AP_T of each task: mean ± standard deviation over seeds, on the protocol's own split; - is not measured. "
            "Mean rank: over the tasks that the line shares with others, of so many lines; its interval: "
            f"{LEVEL:.0%} of {SAMPLES:,} bootstrap samples of tasks and seeds. With fewer than {FEWEST} tasks, or one "
            "seed, there is none. Code lengths of one data set count as tasks, though they are alike."
        )
        yield (
            "Order: by the share of the other lines that a line beats on its tasks, because the first of 4 and the "
            f"first of 31 are no equals; lines with fewer than {FEWEST} tasks are last. Better than: the share of "
            "samples of common tasks and paired seeds in which the mean AP_T is higher than that of the next line with "
            f"{FEWEST} such pairs or more."
        )
        yield "Settings: tuned by a search, as published, or by hand; where a method is tuned, only these are shown."
        if self.n_other:
            yield f"Left out: {self.n_other} cells with settings that are neither the tuned nor the published ones."
        machines = Counter(processor_of(row) for line in self.lines for row in line.rows if not row.is_imported)
        if machines:
            named = ", ".join(f"{name} ({n:,} runs)" for name, n in machines.most_common())
            yield f"Medians of seconds, items and memory, comparable on one machine only: {named}."

    def sorted_by(self, column: str) -> "Leaderboard":
        """The lines in another order, those without a value last; HashbenchError for an unknown column."""
        if column not in SORTS:
            raise unknown("column of --sort", column, SORTS)
        values = {id(line): SORTS[column](line) for line in self.lines}
        known = sorted((line for line in self.lines if values[id(line)] is not None), key=lambda each: values[id(each)])
        return replace(self, lines=(*known, *(line for line in self.lines if values[id(line)] is None)))


EVERYTHING = Selection()


def leaderboard(rows: Iterable[Row], chosen: Selection = EVERYTHING, store: Store | None = None) -> Leaderboard:
    """The leaderboard of the successful ``rows``; with ``store``, queries are resampled too where it has histograms."""
    found, n_other = _results(rows, chosen)
    tasks = tuple(
        sorted(
            {task for results in found.values() for task in results},
            key=lambda task: (*task[:2], task.features, task.bits),
        )
    )
    found = {name: {task: results[task] for task in tasks if task in results} for name, results in found.items()}
    having = {task: [name for name, results in found.items() if task in results] for task in tasks}
    shared = [task for task in tasks if len(having[task]) > 1]  # alone, a line would be the first for nothing
    ranks: dict[Name, dict[Task, float]] = {name: {} for name in found}
    for task in shared:
        means = np.array([found[name][task].mean for name in having[task]])
        for name, rank in zip(having[task], ranks_of(means).tolist(), strict=True):
            ranks[name][task] = rank
    lines = []
    for name, label in _labels(found).items():
        compared = {task: len(having[task]) for task in ranks[name]}
        needs = needs_of(next(iter(found[name].values())).rows[0])
        lines.append(Line(label, name.method, name.track, needs, found[name], ranks[name], compared))
    lines.sort(key=lambda line: (len(line.ranks) < FEWEST, -(line.beaten or 0), line.label))
    of_seeds = {task: [_seeds_of(line.results.get(task)) for line in lines] for task in shared}
    intervals = rank_intervals([*of_seeds.values()]) if shared else []
    lines = [
        replace(line, interval=of if _is_sure(line) else None) for line, of in zip(lines, intervals, strict=False)
    ] or lines
    compared_ = (replace(line, **_better(line, lines[n:], store)) for n, line in enumerate(lines, 1))
    return Leaderboard(tasks, tuple(compared_), n_other)


def _seeds_of(result: Result | None) -> Floats | None:
    return None if result is None else np.array([*result.of_seeds.values()])


def _is_sure(line: Line) -> bool:
    """Whether an interval of its mean rank says something: it has enough tasks, and seeds."""
    return len(line.ranks) >= FEWEST and any(len(line.results[task].of_seeds) > 1 for task in line.ranks)


def _results(rows: Iterable[Row], chosen: Selection) -> tuple[dict[Name, dict[Task, Result]], int]:
    """The results of each line, and the number of cells without one; of two cells of one place that with more seeds."""
    cells: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if (task := task_of(row)) is not None and chosen.has(task):
            cells[row.cell_hash].append(row)
    places: dict[tuple[Any, ...], dict[str, list[Row]]] = defaultdict(dict)
    n_other = 0
    for _, of_cell in sorted(cells.items()):
        first = of_cell[0]
        if not set(chosen.kinds) <= kinds_of(first):
            continue
        if (name := name_of(first)) is None:
            n_other += 1
            continue
        tracks = places[task_of(first), name.method, name.form]
        if len(of_cell) > len(tracks.get(name.track, ())):
            tracks[name.track] = of_cell
    found: dict[Name, dict[Task, Result]] = defaultdict(dict)
    for (task, method, form), tracks in places.items():
        for track, of_cell in tracks.items():
            if chosen.all_tracks or TUNED not in tracks or track == TUNED:
                found[Name(method, form, track)][task] = _result(of_cell)
    return {name: found[name] for name in sorted(found, key=str)}, n_other


def _result(rows: list[Row]) -> Result:
    """A run that was measured twice counts once, with the mean of both."""
    of_seeds: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        of_seeds[row.seed].append(row.metrics["ap"].mean or 0.0)
    return Result(
        {seed: fmean(of_seeds[seed]) for seed in sorted(of_seeds)}, tuple(sorted(rows, key=lambda row: row.run))
    )


def _labels(names: Iterable[Name]) -> dict[Name, str]:
    """The title of each method with the settings, and the track, that tell its lines apart."""
    of_method: dict[str, list[Name]] = defaultdict(list)
    for name in names:
        of_method[name.method].append(name)
    labels = {}
    for method, alike in of_method.items():
        title = method_file(method).title if method in METHODS else method
        for name in alike:
            parts = [f"{key} {value}" for key, value in name.form if any((key, value) not in of.form for of in alike)]
            parts += [name.track] if sum(of.form == name.form for of in alike) > 1 else []
            labels[name] = f"{title} ({', '.join(parts)})" if parts else title
    return labels


def _train_s(row: Row) -> float | None:
    return None if row.is_imported or row.seconds is None else row.seconds.train


def _items_per_s(row: Row) -> float | None:
    n_database = getattr(protocol_of(row), "n_database", None)
    if n_database is None or row.is_imported or row.seconds is None or row.seconds.encode <= 0:
        return None
    return float((n_database + row.metrics["ap"].n_queries) / row.seconds.encode)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(median(known)) if known else None


def _better(line: Line, below: Iterable[Line], store: Store | None) -> dict[str, Any]:
    """The probability that ``line`` has a higher mean AP_T than the next line, on common tasks with paired seeds.

    That is the first one ``below`` with ``FEWEST`` pairs of seeds or more.
    """
    for other in below:
        common = [(line.results[task], other.results[task]) for task in line.results if task in other.results]
        if sum(len(a.of_seeds.keys() & b.of_seeds.keys()) for a, b in common) >= FEWEST:
            break
    else:
        return {}
    pairs = [pair for pair in (_paired(a, b, store) for a, b in common) if pair.size]
    over = f"tasks {len(pairs)}, pairs of seeds {sum(map(len, pairs))}"
    if with_queries := sum(pair.shape[1] > 1 for pair in pairs):
        over += f", queries of {with_queries} tasks"
    return {"better": share_above_zero(pairs), "better_than": other.label, "better_over": over}


def _paired(a: Result, b: Result, store: Store | None) -> Floats:
    """AP_T of a minus AP_T of b, [seeds that both have, 1]; [seeds, queries] where the histograms of all are stored."""
    seeds = [seed for seed in a.of_seeds if seed in b.of_seeds]
    if store is not None and seeds:
        values = [[_of_queries(of, seed, store) for of in (a, b)] for seed in seeds]
        known = [(one, other) for one, other in values if one is not None and other is not None]
        if len(known) == len(seeds) and len({each.shape for pair in known for each in pair}) == 1:
            paired = np.stack([one - other for one, other in known])
            return paired[:, np.isfinite(paired).all(axis=0)]  # without queries that have no relevant item
    return np.array([[a.of_seeds[seed] - b.of_seeds[seed]] for seed in seeds]).reshape(len(seeds), 1)


def _of_queries(result: Result, seed: int, store: Store) -> Floats | None:
    """The AP_T of each query of a run, [q]; None where its histogram is not kept."""
    row = next(row for row in result.rows if row.seed == seed)
    histogram = kept_histogram(row, store) if "histogram" in row.artefacts else None
    return None if histogram is None else metrics.evaluate(histogram, Metrics.parse(["ap"]))["ap"]
