"""What a table of record compares of each query of its runs: one file a table, results/queries/TABLE.npz.xz.

That is AP, or another measure in [0, 1], by its name in the row, such as "asymmetric: recall@40". Each value is rounded
to the nearest 1/200, so by .0025 at most. This adds 4e-6 to the variance over queries of the difference of two methods,
which is about .01. Float16 would take twice as much, more than a repository should hold.

The file has three arrays for each split and measure, under the checksum of the split's ids, followed by a space and the
measure where it is not AP: ``runs`` [n], the names; ``order`` [q], the places of the queries from the hardest to the
easiest; and ``ap`` [n, q], the values, uint8 in this order, which compresses to two thirds of what it takes in the
order of the ids.
"""

import lzma
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from itertools import product
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.errors import DAMAGE, CheckFailed, HashbenchError, retold
from hashbench.foundation.files import locked
from hashbench.foundation.once import once
from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store, lines_of
from hashbench.scoring import metrics
from hashbench.scoring.metrics import Metrics, shown, summarise

QUERIES = "queries.npz"  # in the folder of a run: what tables ask for of each query by distances that are sorted
# behind a measure in that file: the ends of its range over the orders of ties
WORST = " worst"
BEST = " best"
AP = "ap"  # the measure that needs no name in the file
STEPS = 200  # between a value of 0 and of 1
EMPTY = 255  # of a query without a relevant item
ROUNDING = 0.5 / STEPS + 1e-9  # of a value, and so of their mean
SUFFIX = ".npz.xz"
MOST_BYTES = 1 << 28  # of an unpacked file; the largest is to have 17 million queries, a byte each
PARTS = ("ap", "order", "runs")
OF_FLOAT32 = 1e-6  # the rounding of a mean of float32 values

Steps = NDArray[np.uint8]
Key = tuple[str, str]  # the name of a run, and a measure


@dataclass(frozen=True, eq=False)
class Scores:
    """A measure of each query of one run, in steps of 1/200 and in ascending order of the queries' ids."""

    split: str  # the checksum of the ids of its split
    steps: Steps  # [q]
    measure: str = AP

    @property
    def values(self) -> NDArray[np.float32]:
        """The values [q]; NaN for a query without a relevant item."""
        values: NDArray[np.float32] = np.where(self.steps == EMPTY, np.nan, self.steps / STEPS).astype(np.float32)
        return values

    def with_mean_of(self, row: Row) -> NDArray[np.float32]:
        """``values`` moved by less than a step, so that their mean is that of the row.

        Where most values lie between the same two steps, all are rounded to one side.
        """
        rounding = np.nanmean(self.values, dtype=np.float64) - (row.all_metrics()[self.measure].mean or 0.0)
        moved: NDArray[np.float32] = self.values - np.float32(rounding)
        return moved

    def misfit(self, row: Row) -> str | None:
        """How the values are not those of the ``row`` of their run; None where they are."""
        stated = row.all_metrics().get(self.measure)
        if stated is None or stated.mean is None:
            return f"its row has no {shown(self.measure)}"
        if self.split != row.ids_sha256:
            return "its row is of another split"
        n_empty = int((self.steps == EMPTY).sum())
        if (len(self.steps), n_empty) != (stated.n_queries, stated.n_empty):
            here = f"{len(self.steps)} queries, {n_empty} of them without a relevant item"
            return f"it has {here}, and its row {stated.n_queries} and {stated.n_empty}"
        mean = float(np.nanmean(self.values, dtype=np.float64))
        if abs(mean - stated.mean) <= ROUNDING:
            return None
        return f"its mean {shown(self.measure)} is {mean:.4f}, and that of its row {stated.mean:.4f}"


def load(run: str, store: Store | None = None, measure: str = AP) -> NDArray[np.float32] | None:
    """A measure [q] of each query of a run, in ascending order of query id; None where no table of record keeps it.

    NaN stands for a query without a relevant item. Raises CheckFailed for a damaged file, and for values that are not
    those of the run's row.
    """
    store = store or Store.default()
    kept = Kept.of(store)
    row = _row(run, store) if (run, measure) in kept.scores else None
    return None if row is None else kept.values_of(row, measure)


@dataclass(frozen=True)
class Kept:
    """The scores in all files of a store, by run and measure; of several files that have one, the first."""

    scores: Mapping[Key, tuple[Path, Scores]]

    @staticmethod
    def of(store: Store) -> "Kept":
        """Those of a store as it is now."""
        scores: dict[Key, tuple[Path, Scores]] = {}
        for path in sorted(_folder(store).glob(f"*{SUFFIX}")):
            for key, of_run in _read(path).items():
                scores.setdefault(key, (path, of_run))
        return Kept(scores)

    def values_of(self, row: Row, measure: str) -> NDArray[np.float32] | None:
        """A measure of each query of the run of a row, as of :func:`load`."""
        kept = self.scores.get((row.run, measure))
        if kept is None:
            return None
        path, scores = kept
        if (misfit := scores.misfit(row)) is not None:
            raise CheckFailed(f"{path}: {row.run}: {misfit}: hashbench table {_table(path)} --write mends the file")
        return scores.with_mean_of(row)


def range_of(row: Row, measure: str, store: Store) -> tuple[float, float] | None:
    """The means of a measure by distances that are sorted in the worst and in the best order of ties; None if unknown.

    They are in the folder of the run.
    """
    if _of_folder(row, measure, store) is None:
        return None
    with np.load(store.run_folder(row.run) / QUERIES, allow_pickle=False) as arrays:
        if measure + WORST not in arrays or measure + BEST not in arrays:
            return None
        worst = arrays[measure + WORST]
        best = arrays[measure + BEST]
    return float(np.nanmean(worst, dtype=np.float64)), float(np.nanmean(best, dtype=np.float64))


def keep(table: str, rows: Iterable[Row], measures: Iterable[str], store: Store) -> Path | None:
    """Keeps what is known of the ``rows`` of a table; returns the path of its file, None where nothing is new.

    Values in the file stay where they fit the row, whether or not the folder of the run is still here; others come from
    there. What is in the file of runs that are not in ``rows`` is left out.
    """
    path = _path(table, store)
    with _locked(store):
        known = _read(path)
        kept: dict[Key, Scores] = {}
        for row, measure in product(rows, measures):
            key = row.run, measure
            scores = _of_row(row, measure, known.get(key), store)
            if scores is not None:
                kept[key] = scores
        return _written(path, kept, known)


def merge(source: Store, into: Store) -> list[Path]:
    """Adds to the files of a store what those of another one have of its rows; returns the files that changed.

    Nothing in them is trusted: what does not fit the row is left out. Raises CheckFailed for a damaged file.
    """
    changed = []
    for path in sorted(_folder(source).glob(f"*{SUFFIX}")):
        kept_at = _path(_table(path), into)
        with _locked(into):
            known = _read(kept_at)
            scores = dict(known)
            for key, new in _read(path).items():
                row = None
                if key not in known:
                    row = _row(key[0], into)
                if row is not None and new.misfit(row) is None:
                    scores[key] = new
            if _written(kept_at, scores, known):
                changed.append(kept_at)
    return changed


def _folder(store: Store) -> Path:
    return store.folder / "queries"


def _path(table: str, store: Store) -> Path:
    return _folder(store) / f"{table}{SUFFIX}"


def _table(path: Path) -> str:
    return path.name.removesuffix(SUFFIX)


def _locked(store: Store) -> AbstractContextManager[None]:
    return locked(_folder(store) / ".lock", wait=True)


def _row(run: str, store: Store) -> Row | None:
    """The successful row of a run, whose name alone is known."""
    for path in store.files():
        line = lines_of(path).get(run)
        if line is not None:
            row = line.row()
            return row if row.status == "ok" else None
    return None


def _of_row(row: Row, measure: str, known: Scores | None, store: Store) -> Scores | None:
    """What is known of a row if it fits, else what the folder of its run gives; None without either."""
    if row.status != "ok" or measure not in row.all_metrics():
        return None
    if known is not None and known.misfit(row) is None:
        return known
    if measure in row.metrics:
        values = _of_histogram(row, measure, store)
    else:
        values = _of_folder(row, measure, store)
    if values is None:
        return None
    steps = np.where(np.isnan(values), EMPTY, np.rint(values * STEPS)).astype(np.uint8)
    return Scores(row.ids_sha256, steps, measure)


def _of_histogram(row: Row, metric: str, store: Store) -> NDArray[np.floating] | None:
    """A metric [q] by Hamming distance, of the histogram if it is kept."""
    try:
        histogram = store.histogram(row)
    except HashbenchError as error:
        DAMAGE.warning("%s", error)
        return None
    if histogram is None:
        return None
    return metrics.evaluate(histogram, Metrics.parse([metric]))[metric]


def _of_folder(row: Row, measure: str, store: Store) -> NDArray[np.floating] | None:
    """A measure [q] by distances that are sorted, from the folder of the run; None where it is not whole, or another's.

    The folder may hold a later run of the same name, whose values differ from the row's.
    """
    try:
        with np.load(store.run_folder(row.run) / QUERIES, allow_pickle=False) as arrays:
            values: NDArray[np.floating] = arrays[measure]
    except (OSError, ValueError, KeyError, BadZipFile):
        return None
    stated = row.all_metrics()[measure]
    is_its = values.shape == (stated.n_queries,) and summarise(values.astype(np.float64)).n_empty == stated.n_empty
    is_near = is_its and abs(float(np.nanmean(values, dtype=np.float64)) - (stated.mean or 0.0)) < OF_FLOAT32
    return values if is_near else None


def _written(path: Path, scores: Mapping[Key, Scores], before: Mapping[Key, Scores]) -> Path | None:
    """Writes the file, unless it holds the same."""
    if scores.keys() == before.keys() and all(scores[key] is before[key] for key in scores):
        return None
    runs_of_blocks: dict[str, list[str]] = defaultdict(list)
    for run, measure in sorted(scores):
        split = scores[run, measure].split
        block = split
        if measure != AP:
            block = f"{split} {measure}"
        runs_of_blocks[block].append(run)
    arrays: dict[str, NDArray[np.generic]] = {}
    for block, runs in sorted(runs_of_blocks.items()):
        values = np.stack([scores[run, _measure_of(block)].steps for run in runs])
        order = np.argsort(values.mean(axis=0), kind="stable").astype(np.uint32)
        arrays |= {f"{block}/runs": np.array(runs), f"{block}/order": order, f"{block}/ap": values[:, order]}
    write_arrays(path, arrays)
    return path


def _measure_of(block: str) -> str:
    """The measure of a block of the file: what follows the checksum of the split."""
    return block.partition(" ")[2] or AP


def _read(path: Path) -> dict[Key, Scores]:
    """The scores in a file by run and measure, read once for as long as it stays as it is; none where it is missing."""
    scores: dict[Key, Scores] = once(f"query scores {path}", path, None, lambda: _unpacked(path))
    return scores


def _unpacked(path: Path) -> dict[Key, Scores]:
    if not path.is_file():
        return {}
    remedy = "restore it from git, or remove it: hashbench run makes it of the histograms that are here"
    with retold(
        lambda cause: f"{path}: not a readable file of the scores of queries ({cause}): {remedy}", by=CheckFailed
    ):
        with lzma.open(path) as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES >> 20} MiB unpacked")
        with NpzFile(BytesIO(content), allow_pickle=False) as arrays:
            return _by_run({name: arrays[name] for name in arrays.files})


def _by_run(arrays: Mapping[str, NDArray[np.generic]]) -> dict[Key, Scores]:
    """The scores in the arrays of a file; raises ValueError for arrays that no file of these has."""
    blocks = {name.rpartition("/")[0] for name in arrays}
    if arrays.keys() != {f"{block}/{part}" for block, part in product(blocks, PARTS)}:
        raise ValueError(f"each split has {', '.join(PARTS)}")
    scores: dict[Key, Scores] = {}
    for block in sorted(blocks):
        ap, order, runs = (arrays[f"{block}/{part}"] for part in PARTS)
        n_queries = len(order)
        are_types = (ap.dtype.str, order.dtype.str, runs.dtype.kind) == ("|u1", "<u4", "U")
        are_shapes = ap.shape == (len(runs), n_queries)
        if not are_types or not are_shapes or not np.array_equal(np.sort(order), np.arange(n_queries)):
            raise ValueError("its arrays do not fit together, or hold other types of numbers")
        steps_of_runs = ap.astype(np.uint8)[:, np.argsort(order)]
        if ((steps_of_runs > STEPS) & (steps_of_runs != EMPTY)).any():
            raise ValueError("a value is above 1")
        measure = _measure_of(block)
        for run, steps in zip(runs.tolist(), steps_of_runs, strict=True):
            if (run, measure) in scores:
                raise ValueError(f"{run} is there twice")
            scores[run, measure] = Scores(block.partition(" ")[0], steps, measure)
    return scores
