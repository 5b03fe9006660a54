"""The leaderboard: methods down, tasks across, ranked by AP_T, with how sure the ranks are, what it cost and needs."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import fmean, median, stdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hashbench import metrics
from hashbench.contract import PIXELS
from hashbench.datasets.card import load_card
from hashbench.features import FEATURES
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.methods import METHODS
from hashbench.metrics import Metrics
from hashbench.models import MODELS, RANDOM_WEIGHTS
from hashbench.runs.row import Row, processor_of
from hashbench.runs.run import Run
from hashbench.runs.settings import method_file
from hashbench.runs.store import Store
from hashbench.tables.collect import kept_histogram
from hashbench.tables.footnotes import search_in

Floats = NDArray[np.float64]
KINDS = ("supervised", "unsupervised", "shallow", "deep")
FORMS = (
    "linear",
    "kernel",
    "mlp",
)  # hash functions of the items; any other model is a network with features of its own
INPUT = (
    "bits",
    "features",
    "normalise",
    "model",
    "width",
    "weights",
    "head",
)  # what a method is given; all else is its own
NEEDS = {"none": "none", "labels": "classes", "relevance": "pairs"}
TUNED, PUBLISHED, BY_HAND, ELSEWHERE = "tuned", "as published", "by hand", "made elsewhere"
SAMPLES, LEVEL = 1000, 0.95  # of the bootstrap; the share of them inside an interval
FEWEST = 4  # of 3 tasks one sample in 27 has the worst one only: the interval of 95% would be from end to end


class Task(NamedTuple):
    """What methods are compared on: equal data, equal codes and equal input; ``features`` or a network of its own."""

    dataset: str
    protocol: str
    bits: int
    features: str

    def __str__(self) -> str:
        return f"{self.dataset} {self.protocol}, {self.bits} bits, {self.features}"


class Name(NamedTuple):
    """What a line is: a method, the settings that name its runs, and whose the others are."""

    method: str
    form: tuple[tuple[str, Setting], ...]
    track: str


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
        found = {_is_pretrained(row) for row in self.rows}
        return "unknown" if None in found else "some" if len(found) > 1 else "yes" if found.pop() else "no"

    @property
    def train_s(self) -> float | None:
        """The median seconds of training."""
        return _median(row.seconds.train if row.seconds else None for row in self._own_runs)

    @property
    def items_per_s(self) -> float | None:
        """The median number of items that are encoded in a second."""
        return _median(map(_items_per_s, self._own_runs))

    @property
    def peak_memory(self) -> float | None:
        """The median of the peak memory of the process, in bytes."""
        return _median(row.peak_memory for row in self._own_runs)

    @property
    def _own_runs(self) -> list[Row]:
        return [row for row in self.rows if not row.is_imported]

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


def leaderboard(
    rows: Iterable[Row], chosen: Selection = EVERYTHING, store: Store | None = None, *, samples: int = SAMPLES
) -> Leaderboard:
    """The leaderboard of the successful ``rows``; with ``store``, queries are resampled too where it has histograms."""
    found, n_other = _results(rows, chosen)
    tasks = tuple(sorted({task for results in found.values() for task in results}))
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
        needs = _needs(next(iter(found[name].values())).rows[0])
        lines.append(Line(label, name.method, name.track, needs, found[name], ranks[name], compared))
    lines.sort(key=lambda line: (len(line.ranks) < FEWEST, -(line.beaten or 0), line.label))
    lines = _with_intervals(lines, shared, samples)
    compared_ = (replace(line, **_better(line, lines[n:], store, samples)) for n, line in enumerate(lines, 1))
    return Leaderboard(tasks, tuple(compared_), n_other)


def ranks_of(values: Floats) -> Floats:
    """The ranks along the last axis, 1 for the greatest; equal values have their mean rank, NaN has none.

    >>> ranks_of(np.array([0.5, 0.7, np.nan, 0.5])).tolist()
    [2.5, 1.0, nan, 2.5]
    """
    above, equal = ((op(values[..., None, :], values[..., :, None])).sum(-1) for op in (np.greater, np.equal))
    return np.where(np.isnan(values), np.nan, above + (equal + 1) / 2)


def _results(rows: Iterable[Row], chosen: Selection) -> tuple[dict[Name, dict[Task, Result]], int]:
    """The results of each line, and the number of cells without one; of two cells of one place that with more seeds."""
    cells: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if (task := task_of(row)) is not None and chosen.has(task):
            cells[row.cell_hash].append(row)
    places: dict[tuple[Any, ...], dict[str, list[Row]]] = defaultdict(dict)
    n_other = 0
    for of_cell in cells.values():
        first = of_cell[0]
        if not set(chosen.kinds) <= _kinds(first):
            continue
        if (name := _name(first)) is None:
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
    return Result({seed: fmean(of_seeds[seed]) for seed in sorted(of_seeds)}, tuple(rows))


def task_of(row: Row) -> Task | None:
    """The task of a row; None without an AP of binary codes, on another split, or where settings were chosen."""
    value, protocol = row.metrics.get("ap"), load_card(row.dataset).protocols.get(row.protocol)
    if row.status != "ok" or row.split_seed is not None or value is None or value.mean is None:
        return None
    if "bits" not in row.config["settings"] or getattr(protocol, "of", None) is not None:
        return None
    return Task(row.dataset, row.protocol, int(row.config["settings"]["bits"]), _input(row))


def _input(row: Row) -> str:
    """The features that it hashes, or the network that it trains."""
    model, features = (row.config["settings"].get(key) for key in ("model", "features"))
    return ELSEWHERE if row.is_imported else str(features or PIXELS) if model in (None, *FORMS) else str(model)


def _name(row: Row) -> Name | None:
    """The line of a row, by what the files of method and recipes give today; None for settings that no track has.

    The form is what must be said beside the input: a loss, or a form of hash functions, but no value of a recipe.
    """
    if row.is_imported:
        return Name(row.method, (), ELSEWHERE)
    if row.method not in METHODS:
        return None
    try:
        return next(filter(None, (_of_track(row, as_published=published) for published in (True, False))), None)
    except HashbenchError:
        return None


def _of_track(row: Row, *, as_published: bool) -> Name | None:
    settings = row.config["settings"]
    given = {key: settings[key] for key in INPUT if key in settings}
    resolve = partial(Run.resolve, row.dataset, row.protocol, row.method, as_published=as_published)
    run = resolve(given)
    sources, usual = run.sources(given), run.settings.model_dump()
    own = {key: row.settings[key] for key in run.method.identity if key in row.settings}
    form = {key: value for key, value in own.items() if usual[key] != value}
    if any(isinstance(value, int | float) and not isinstance(value, bool) for value in form.values()):
        return None  # a rate or a scale that somebody chose
    if any(sources[key].recipe is not None for key in form):
        return None
    given |= form
    run = resolve(given) if form else run
    if run.name.cell_hash != row.cell_hash:
        return None
    form |= {"model": settings["model"]} if settings.get("model") in FORMS else {}
    notes = "\n".join(each.note for each in run.sources(given).values())
    track = PUBLISHED if as_published else TUNED if search_in(notes) else BY_HAND
    return Name(row.method, tuple(sorted(form.items())), track)


def _kinds(row: Row) -> set[str]:
    if row.method not in METHODS or row.is_imported:
        return set()
    return {METHODS.get(row.method).group, "unsupervised" if _needs(row) == "none" else "supervised"}


def _needs(row: Row) -> str:
    if row.method not in METHODS or row.is_imported:
        return "unknown"
    if row.settings.get("supervised") is False:
        return "none"
    return NEEDS[METHODS.get(row.method).supervision]


def _is_pretrained(row: Row) -> bool | None:
    """Whether a network of its input has seen other data; None: not known, of codes made elsewhere."""
    if row.is_imported:
        return None
    settings, given = row.config["settings"], _input(row)
    if given == PIXELS or given in FEATURES.names:
        return False
    if given == settings.get("features"):
        return True
    weights = str(settings.get("weights", ""))
    if weights in ("", RANDOM_WEIGHTS):
        return weights == "" and given in MODELS and MODELS.get(given).pretrained is not None
    return True


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


def _items_per_s(row: Row) -> float | None:
    n_database = getattr(load_card(row.dataset).protocols.get(row.protocol), "n_database", None)
    if n_database is None or row.seconds is None or row.seconds.encode <= 0:
        return None
    return float((n_database + row.metrics["ap"].n_queries) / row.seconds.encode)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(median(known)) if known else None


def _with_intervals(lines: Sequence[Line], tasks: Sequence[Task], samples: int) -> list[Line]:
    """The lines with the intervals of their mean ranks.

    In each sample the seeds of each result are drawn with replacement, line by line in task order; then the tasks.
    """
    if not lines or not tasks:
        return list(lines)
    rng = np.random.default_rng(0)
    ranked = np.empty((samples, len(tasks), len(lines)))
    for t, task in enumerate(tasks):
        means = np.full((samples, len(lines)), np.nan)
        for n, line in enumerate(lines):
            if task in line.results:
                seeds = np.array([*line.results[task].of_seeds.values()])
                means[:, n] = seeds[rng.integers(len(seeds), size=(samples, len(seeds)))].mean(axis=1)
        ranked[:, t] = ranks_of(means)
    drawn = rng.integers(len(tasks), size=(samples, len(tasks)))
    resampled = np.take_along_axis(ranked, drawn[..., None], axis=1)
    tail = (1 - LEVEL) / 2
    found = []
    for n, line in enumerate(lines):
        of_line = resampled[..., n]
        is_known = np.isfinite(of_line).any(axis=1)
        is_sure = len(line.ranks) >= FEWEST and any(len(line.results[task].of_seeds) > 1 for task in line.ranks)
        ends = np.quantile(np.nanmean(of_line[is_known], axis=1), [tail, 1 - tail]).tolist() if is_sure else None
        found.append(line if ends is None else replace(line, interval=(ends[0], ends[1])))
    return found


def _better(line: Line, below: Iterable[Line], store: Store | None, samples: int) -> dict[str, Any]:
    """The probability that ``line`` has a higher mean AP_T than the next line, on common tasks with paired seeds.

    That is the first one ``below`` with ``FEWEST`` pairs of seeds or more. In each sample the pairs of each task are
    drawn with replacement, and the queries that they share; then the tasks.
    """
    for other in below:
        common = [(line.results[task], other.results[task]) for task in line.results if task in other.results]
        if sum(len(a.of_seeds.keys() & b.of_seeds.keys()) for a, b in common) >= FEWEST:
            break
    else:
        return {}
    pairs = [pair for pair in (_paired(a, b, store) for a, b in common) if pair.size]
    rng = np.random.default_rng(0)
    means = np.empty((samples, len(pairs)))
    for t, pair in enumerate(pairs):
        of_seeds, of_queries = (rng.multinomial(n, np.full(n, 1 / n), size=samples) / n for n in pair.shape)
        means[:, t] = ((of_seeds @ pair) * of_queries).sum(axis=1)
    drawn = rng.integers(len(pairs), size=(samples, len(pairs)))
    differences = np.take_along_axis(means, drawn, axis=1).mean(axis=1)
    probability = float((differences > 0).mean() + (differences == 0).mean() / 2)
    over = f"tasks {len(pairs)}, pairs of seeds {sum(map(len, pairs))}"
    if with_queries := sum(pair.shape[1] > 1 for pair in pairs):
        over += f", queries of {with_queries} tasks"
    return {"better": probability, "better_than": other.label, "better_over": over}


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
