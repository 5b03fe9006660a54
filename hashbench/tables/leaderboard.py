"""The leaderboard: methods down, tasks across, ranked by AP_T, with how sure the ranks are, what it cost and needs."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, median, stdev
from typing import Any

import numpy as np

from hashbench import metrics
from hashbench.foundation.config import Strict
from hashbench.metrics import Metrics
from hashbench.runs.row import Row, processor_of
from hashbench.runs.store import Store
from hashbench.tables import tracks
from hashbench.tables.collect import kept_histogram
from hashbench.tables.resampling import LEVEL, SAMPLES, Floats, rank_intervals, ranks_of, share_above_zero
from hashbench.tables.tracks import BY_HAND, TUNED, Name, Task

FEWEST = 4  # of 3 tasks one sample in 27 has the worst one only: the interval of 95% would be from end to end


@dataclass(frozen=True)
class Result:
    """What was measured of a method on a task, and its rank there; a run that was measured twice counts once."""

    rows: tuple[Row, ...]
    rank: float | None = None  # 1 is the best, equal means share a rank; None where no other line has the task
    n_compared: int = 1  # the lines that have the task

    @cached_property
    def of_seeds(self) -> Mapping[int, float]:
        """The AP_T of each seed."""
        found: dict[int, list[float]] = defaultdict(list)
        for row in self.rows:
            found[row.seed].append(row.metrics["ap"].mean or 0.0)
        return {seed: fmean(found[seed]) for seed in sorted(found)}

    @cached_property
    def mean(self) -> float:
        """The mean over seeds."""
        return fmean(self.of_seeds.values())

    @cached_property
    def std(self) -> float | None:
        """The sample deviation over seeds; None with one."""
        return stdev(self.of_seeds.values()) if len(self.of_seeds) > 1 else None

    @property
    def train_s(self) -> float | None:
        """The median seconds of training; None of codes made elsewhere."""
        return _of(median, (row.seconds.train for row in self.own if row.seconds))

    @property
    def own(self) -> list[Row]:
        """Its rows without those of codes made elsewhere, whose cost is not known."""
        return [row for row in self.rows if not row.is_imported]


@dataclass(frozen=True)
class Line:
    """A method with one source of its settings (its track): the columns before the tasks, and what each task has."""

    columns: dict[str, Any]  # those of _columns, as CSV and JSON have them
    results: Mapping[Task, Result]  # a task without one is a gap

    def __getitem__(self, column: str) -> Any:
        return self.columns[column]


SORTS: dict[str, Callable[[Line], Any]] = {
    "beats": lambda line: (
        line["needs"] == "none",
        line["n_tasks"] < FEWEST,
        line["settings"] == BY_HAND,
        -(line["beaten"] or 0),
    ),
    "rank": lambda line: line["mean_rank"] and (line["needs"] == "none", line["mean_rank"]),
    "method": lambda line: line["method"].lower(),
    "tasks": lambda line: -line["n_tasks"],
    "train": lambda line: line["train_s"],
    "encode": lambda line: None if line["items_per_s"] is None else -line["items_per_s"],
    "memory": lambda line: line["peak_memory"],
}


class Selection(Strict):
    """The tasks and the lines that are shown; empty: all. ``all_tracks``: also beside a tuned method with our defaults."""

    datasets: list[str] = []
    protocols: list[str] = []
    bits: list[int] = []
    features: list[str] = []
    kinds: list[tracks.Kind] = []
    all_tracks: bool = False

    def has(self, task: Task) -> bool:
        """Whether the task is one of them."""
        wanted: tuple[list[Any], ...] = (self.datasets, self.protocols, self.bits, self.features)
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

    def title_of(self, *parts: str) -> str:
        """Those of the ``parts`` of a task that tell it from others; all where none does."""
        return ", ".join([part for part in parts if part not in self.shared] or parts)

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
            "Order: by the share of the other lines that a line beats on its tasks, because to be the first of 4 "
            "is worth less than to be the first of 31. Methods without labels (needs: none) come after the others, and "
            "are compared with one another only. Settings by hand come after the others too, because nobody counted "
            f"their trials; lines with fewer than {FEWEST} tasks are last. Better than: the share of samples of common "
            "tasks and paired seeds in which the mean AP_T is higher than that of the next line with "
            f"{FEWEST} such pairs or more."
        )
        yield "Settings: tuned by a search, our defaults, or by hand; where a method is tuned, only these are shown."
        if self.n_other:
            yield f"Left out: {self.n_other} cells with settings that are neither the tuned nor the published ones."
        rows = (row for line in self.lines for result in line.results.values() for row in result.own)
        if machines := Counter(map(processor_of, rows)):
            named = ", ".join(f"{name} ({n:,} runs)" for name, n in machines.most_common())
            yield f"Medians of seconds, items and memory, comparable on one machine only: {named}."

    def sorted_by(self, column: str) -> "Leaderboard":
        """The lines by a column of ``SORTS``, those without a value last."""
        lines = sorted(self.lines, key=lambda line: ((value := SORTS[column](line)) is None, value))
        return replace(self, lines=tuple(lines))


EVERYTHING = Selection()


def leaderboard(rows: Iterable[Row], chosen: Selection = EVERYTHING, store: Store | None = None) -> Leaderboard:
    """The leaderboard of the successful ``rows``; with ``store``, queries are resampled too where it has histograms."""
    found, n_other = _results(rows, chosen)
    tasks = sorted({t for of in found.values() for t in of}, key=lambda t: (*t[:2], t.features, t.bits))
    found = {name: {task: of[task] for task in tasks if task in of} for name, of in found.items()}
    labels, lines = _labels(found), []
    for is_without in (False, True):  # a method that has not seen labels is no rival of one that has
        group = {name: of for name, of in found.items() if is_without == _is_without_labels(of)}
        lines += _ranked(group, labels, tasks, store)
    return Leaderboard(tuple(tasks), tuple(lines), n_other)


def _is_without_labels(results: Mapping[Task, Result]) -> bool:
    return next(tracks.needs_of(row) == "none" for of in results.values() for row in of.rows)


def _ranked(
    found: dict[Name, dict[Task, Result]], labels: Mapping[Name, str], tasks: Sequence[Task], store: Store | None
) -> list[Line]:
    """The lines of ``found``, compared with one another, the best first."""
    for task in tasks:
        having = [of for of in found.values() if task in of]
        if len(having) > 1:  # alone, a line would be the first for nothing
            ranks = ranks_of(np.array([[of[task].mean for of in having]]))[0].tolist()
            for of, rank in zip(having, ranks, strict=True):
                of[task] = replace(of[task], rank=rank, n_compared=len(having))
    lines = [Line(_columns(labels[name], name, of), of) for name, of in found.items()]
    lines.sort(key=lambda line: (SORTS["beats"](line), line["method"]))
    all_seeds = [[_seeds(line.results.get(task)) for line in lines] for task in tasks]
    shared = [of_task for of_task in all_seeds if sum(of is not None for of in of_task) > 1]
    for line, (low, high) in zip(lines, rank_intervals(shared).tolist() if shared else [], strict=False):
        line.columns.update({} if line["why_no_interval"] else {"rank_low": low, "rank_high": high})
    for n, line in enumerate(lines, 1):
        line.columns.update({"place": n if line["n_tasks"] else None, **_better(line, lines[n:], store)})
    return lines


def _seeds(result: Result | None) -> Floats | None:
    return None if result is None else np.array([*result.of_seeds.values()])


def _results(rows: Iterable[Row], chosen: Selection) -> tuple[dict[Name, dict[Task, Result]], int]:
    """The results of each line, and the number of cells without one; of two cells of one place that with more seeds."""
    cells: dict[tuple[str, Task], list[Row]] = defaultdict(list)
    for row in rows:
        if (task := tracks.task_of(row)) is not None and chosen.has(task):
            cells[row.cell_hash, task].append(row)
    best: dict[Name, dict[Task, list[Row]]] = defaultdict(dict)
    n_other = 0
    for (_, task), cell in sorted(cells.items()):
        if not set(chosen.kinds) <= tracks.kinds_of(cell[0]):
            continue
        if (name := tracks.name_of(cell[0])) is None:
            n_other += 1
        elif len(cell) > len(best[name].get(task, ())):
            best[name][task] = cell
    tuned = {} if chosen.all_tracks else {name: of.keys() for name, of in best.items() if name.track == TUNED}
    found: dict[Name, dict[Task, Result]] = defaultdict(dict)
    for name in sorted(best, key=str):
        for task, cell in best[name].items():
            if name in tuned or task not in tuned.get(name._replace(track=TUNED), ()):
                found[name][task] = Result(tuple(sorted(cell, key=lambda row: row.run)))
    return found, n_other


def _labels(names: Iterable[Name]) -> dict[Name, str]:
    """The title of each method with the settings, and the track, that tell its lines apart."""
    names, labels = list(names), {}
    for name in names:
        alike = [other for other in names if other.method == name.method]
        parts = [f"{key} {value}" for key, value in name.form if any((key, value) not in of.form for of in alike)]
        parts += [name.track] if sum(of.form == name.form for of in alike) > 1 else []
        labels[name] = tracks.title_of(name.method) + (f" ({', '.join(parts)})" if parts else "")
    return labels


def _columns(label: str, name: Name, results: Mapping[Task, Result]) -> dict[str, Any]:
    """The columns before the tasks; None where a value is not known, or would say nothing."""
    own = [row for of in results.values() for row in of.own]
    first, *_ = rows = [row for of in results.values() for row in of.rows]
    pretrained = {tracks.is_pretrained(row) for row in rows}
    ranked = [of for of in results.values() if of.rank is not None]
    few = "" if any(len(of.of_seeds) > 1 for of in ranked) else "one seed"
    return {
        "method": label,
        "place": None,  # among those that need labels, or among those that need none
        "name": name.method,
        "settings": name.track,
        "needs": tracks.needs_of(first),  # of the training items: none, classes, pairs
        # whether its input is of a pre-trained network, on all, some or none of its tasks
        "pretrained": {None: "unknown", True: "yes", False: "no"}[pretrained.pop()] if len(pretrained) == 1 else "some",
        "mean_rank": _of(fmean, (of.rank for of in ranked)),
        **dict.fromkeys(("rank_low", "rank_high")),  # its interval
        "why_no_interval": few if len(ranked) >= FEWEST else f"{len(ranked)} of {FEWEST} tasks",
        "n_tasks": len(ranked),
        "n_compared": _of(fmean, (of.n_compared for of in ranked)),
        # the share of the other lines of a task that it beats, on average; an equal one counts half
        "beaten": _of(fmean, (1 - (of.rank - 1) / (of.n_compared - 1) for of in ranked if of.rank is not None)),
        # the probability that it is better than the next line that it can be compared with, and what was resampled
        **{"better": None, "better_than": "", "better_over": ""},
        "train_s": _of(median, (row.seconds.train for row in own if row.seconds)),
        "items_per_s": _of(median, map(_items_per_s, own)),
        "peak_memory": _of(median, (row.peak_memory for row in own)),  # of the process, in bytes
        "hasher_bytes": _of(median, (row.hasher_bytes for row in own)),
    }


def _items_per_s(row: Row) -> float | None:
    n_database = getattr(tracks.protocol_of(row), "n_database", None)
    if n_database is None or row.seconds is None or row.seconds.encode <= 0:
        return None
    return float((n_database + row.metrics["ap"].n_queries) / row.seconds.encode)


def _of(average: Callable[[list[float]], float], values: Iterable[float | None]) -> float | None:
    """The mean or the median of the values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return float(average(known)) if known else None


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
    return {"better": share_above_zero(pairs), "better_than": other["method"], "better_over": over}


def _paired(a: Result, b: Result, store: Store | None) -> Floats:
    """AP_T of a minus AP_T of b, [seeds that both have, 1]; [seeds, queries] where the histograms of all are stored."""
    seeds = [seed for seed in a.of_seeds if seed in b.of_seeds]
    if store is not None and seeds:
        values = [_of_queries(of, seed, store) for of in (a, b) for seed in seeds]
        known = [each for each in values if each is not None]
        if len(known) == len(values) and len({each.shape for each in known}) == 1:
            paired = np.stack(known[: len(seeds)]) - np.stack(known[len(seeds) :])
            return paired[:, np.isfinite(paired).all(axis=0)]  # without queries that have no relevant item
    return np.array([[a.of_seeds[seed] - b.of_seeds[seed]] for seed in seeds]).reshape(len(seeds), 1)


def _of_queries(result: Result, seed: int, store: Store) -> Floats | None:
    """The AP_T of each query of a run, [q]; None where its histogram is not kept."""
    row = next(row for row in result.rows if row.seed == seed)
    histogram = kept_histogram(row, store) if "histogram" in row.artefacts else None
    return None if histogram is None else metrics.evaluate(histogram, Metrics.parse(["ap"]))["ap"]
