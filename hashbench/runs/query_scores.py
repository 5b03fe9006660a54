"""The AP of each query of the runs of a table of record: one file a table, results/queries/TABLE.npz.xz.

Each AP is rounded to the nearest 1/250, so by .002 at most. This adds 3e-6 to the variance over queries of the
difference of two methods, which is about .01. Float16 would take twice as much, more than a repository should hold.

The file has three arrays for each split, under the checksum of the split's ids: ``runs`` [n], the names; ``order`` [q],
the places of the queries from the hardest to the easiest; and ``ap`` [n, q], uint8 in this order, which compresses to
two thirds of what it takes in the order of the ids.
"""

import lzma
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hashbench import metrics
from hashbench.foundation.errors import DAMAGE, CheckFailed, HashbenchError, retold
from hashbench.foundation.files import locked, write_arrays
from hashbench.foundation.once import once
from hashbench.metrics import Metrics
from hashbench.runs.row import Row
from hashbench.runs.run import Run
from hashbench.runs.store import Store, lines_of

STEPS = 250  # between an AP of 0 and of 1
EMPTY = 255  # of a query without a relevant item
ROUNDING = 0.5 / STEPS + 1e-9  # of an AP, and so of their mean
SUFFIX = ".npz.xz"
MOST_BYTES = 1 << 28  # of an unpacked file; the largest is to have 17 million queries, a byte each
PARTS = ("ap", "order", "runs")

Steps = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Scores:
    """The AP of each query of one run, in steps of 1/250 and in ascending order of the queries' ids."""

    split: str  # the checksum of the ids of its split
    steps: Steps  # [q]

    @property
    def ap(self) -> NDArray[np.float32]:
        """AP [q]; NaN for a query without a relevant item."""
        found: NDArray[np.float32] = np.where(self.steps == EMPTY, np.nan, self.steps / STEPS).astype(np.float32)
        return found

    def misfit(self, row: Row) -> str | None:
        """How the values are not those of the ``row`` of their run; None where they are."""
        stated = row.metrics.get("ap")
        if stated is None or stated.mean is None:
            return "its row has no AP"
        if self.split != row.ids_sha256:
            return "its row is of another split"
        n_empty = int((self.steps == EMPTY).sum())
        if (len(self.steps), n_empty) != (stated.n_queries, stated.n_empty):
            here = f"{len(self.steps)} queries, {n_empty} of them without a relevant item"
            return f"it has {here}, and its row {stated.n_queries} and {stated.n_empty}"
        mean = float(np.nanmean(self.ap, dtype=np.float64))
        is_near = abs(mean - stated.mean) <= ROUNDING
        return None if is_near else f"its mean AP is {mean:.4f}, and that of its row {stated.mean:.4f}"


def load(run: str, store: Store | None = None) -> NDArray[np.float32] | None:
    """AP [q] of each query of a run, in ascending order of query id; None where no table of record keeps it.

    NaN stands for a query without a relevant item. Raises CheckFailed for a damaged file, and for values that are not
    those of the run's row.
    """
    store = store or Store.default()
    for path in sorted(_folder(store).glob(f"*{SUFFIX}")):
        scores = _read(path).get(run)
        row = None if scores is None else _row(run, store)
        if scores is None or row is None:
            continue
        if (misfit := scores.misfit(row)) is not None:
            raise CheckFailed(f"{path}: {run}: {misfit}: hashbench table {_table(path)} --write mends the file")
        return scores.ap
    return None


def keep(table: str, runs: Iterable[Run], store: Store) -> Path | None:
    """Keeps what is known of the ``runs`` of a table; returns the path of its file, None where nothing is new.

    Values in the file stay where they fit the row, whether or not the histogram is still here; others come from the
    histograms of the runs. What is in the file of runs that are not ``runs`` is left out.
    """
    path = _path(table, store)
    with _locked(store):
        known = _read(path)
        kept: dict[str, Scores] = {}
        for run in runs:
            row = store.find(run.name.dataset, run.name.protocol, str(run.name))
            scores = None if row is None else _of_row(row, known.get(str(run.name)), store)
            if scores is not None:
                kept[str(run.name)] = scores
        return _written(path, kept, known)


def merge(source: Store, into: Store) -> list[Path]:
    """Adds to the files of a store what those of another one have of its rows; returns the files that changed.

    Nothing in them is trusted: what does not fit the row is left out. Raises CheckFailed for a damaged file.
    """
    changed = []
    for path in sorted(_folder(source).glob(f"*{SUFFIX}")):
        own = _path(_table(path), into)
        with _locked(into):
            known = _read(own)
            new = {run: scores for run, scores in _read(path).items() if run not in known and _fits(run, scores, into)}
            changed += [own] if _written(own, {**known, **new}, known) else []
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


def _fits(run: str, scores: Scores, store: Store) -> bool:
    row = _row(run, store)
    return row is not None and scores.misfit(row) is None


def _of_row(row: Row, known: Scores | None, store: Store) -> Scores | None:
    """What is known of a row if it fits, else what its histogram gives; None without either."""
    if row.status != "ok" or "ap" not in row.metrics:
        return None
    if known is not None and known.misfit(row) is None:
        return known
    try:
        histogram = store.histogram(row)
    except HashbenchError as error:
        DAMAGE.warning("%s", error)
        return None
    if histogram is None:
        return None
    ap = metrics.evaluate(histogram, Metrics.parse(["ap"]))["ap"]
    steps = np.where(np.isnan(ap), EMPTY, np.rint(ap * STEPS)).astype(np.uint8)
    return Scores(row.ids_sha256, steps)


def _written(path: Path, scores: Mapping[str, Scores], before: Mapping[str, Scores]) -> Path | None:
    """Writes the file, unless it holds the same."""
    is_same = scores.keys() == before.keys() and all(scores[run] is before[run] for run in scores)
    if is_same:
        return None
    runs_of_splits: dict[str, list[str]] = defaultdict(list)
    for run in sorted(scores):
        runs_of_splits[scores[run].split].append(run)
    arrays: dict[str, NDArray[np.generic]] = {}
    for split, runs in sorted(runs_of_splits.items()):
        ap = np.stack([scores[run].steps for run in runs])
        order = np.argsort(ap.mean(axis=0), kind="stable").astype(np.uint32)
        arrays |= {f"{split}/runs": np.array(runs), f"{split}/order": order, f"{split}/ap": ap[:, order]}
    write_arrays(path, **arrays)
    return path


def _read(path: Path) -> dict[str, Scores]:
    """The scores in a file by run, read once for as long as the file stays as it is; none where there is no file."""
    found: dict[str, Scores] = once(f"query scores {path}", path, None, lambda: _unpacked(path))
    return found


def _unpacked(path: Path) -> dict[str, Scores]:
    if not path.is_file():
        return {}
    remedy = "restore it from git, or remove it: hashbench run makes it of the histograms that are here"
    with retold(lambda cause: f"{path}: not a readable file of the AP of queries ({cause}): {remedy}", by=CheckFailed):
        with lzma.open(path) as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES >> 20} MiB unpacked")
        with np.load(BytesIO(content), allow_pickle=False) as arrays:
            return _by_run({name: arrays[name] for name in arrays.files})


def _by_run(arrays: Mapping[str, NDArray[np.generic]]) -> dict[str, Scores]:
    """The scores in the arrays of a file; raises ValueError for arrays that no file of these has."""
    splits = {name.partition("/")[0] for name in arrays}
    if arrays.keys() != {f"{split}/{part}" for split in splits for part in PARTS}:
        raise ValueError(f"each split has {', '.join(PARTS)}")
    found: dict[str, Scores] = {}
    for split in sorted(splits):
        ap, order, runs = (arrays[f"{split}/{part}"] for part in PARTS)
        n_queries = len(order)
        if (ap.dtype.str, order.dtype.str, runs.dtype.kind) != ("|u1", "<u4", "U"):
            raise ValueError("other types of numbers")
        if ap.shape != (len(runs), n_queries) or not np.array_equal(np.sort(order), np.arange(n_queries)):
            raise ValueError("its arrays do not fit together")
        steps_of_runs = ap.astype(np.uint8)[:, np.argsort(order)]
        if ((steps_of_runs > STEPS) & (steps_of_runs != EMPTY)).any():
            raise ValueError("an AP is above 1")
        for run, steps in zip(runs.tolist(), steps_of_runs, strict=True):
            if run in found:
                raise ValueError(f"{run} is there twice")
            found[run] = Scores(split, steps)
    return found
