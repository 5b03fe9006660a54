"""The runs that the cells of a table need, those of them that a user selects, and those that are missing."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.paths import read_once
from hashbench.foundation.registry import canonical
from hashbench.running.datasets.protocol import N_SPLITS, nth_seed
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.showing.tables.cell import Cell
from hashbench.showing.tables.spec import TableSpec, why_not_here

NAMES = ("dataset", "protocol", "method", "seed")  # what a run has beside its settings


def run_of(cell: Cell, split_seed: int | None = None) -> Run:
    """The run with seed 0 that the cell needs, on another split than the protocol's own if ``split_seed`` is given."""
    # as text: 1, 1.0 and true are one key of a dict, and not one setting
    return _run_of(cell.run_key, split_seed)


@read_once
def _run_of(key: str, split_seed: int | None) -> Run:
    if split_seed is not None:
        return _run_of(key, None).with_split(split_seed)
    dataset, protocol, method, settings, budget, recipe = json.loads(key)
    of_any_bits = json.dumps([dataset, protocol, method, {**settings, "bits": 0}, budget, recipe])
    known = _of_other_bits(of_any_bits)
    if known and (run := known[0].with_bits(settings.get("bits"))) is not None:
        return run
    run = Run.resolve(dataset, protocol, method, settings, budget=budget, recipe=recipe)
    known.append(run)
    return run


@read_once
def _of_other_bits(key: str) -> list[Run]:  # noqa: ARG001  (they are looked up by it)
    """The runs so far that differ from the one of a key in their bits alone."""
    return []


def tuning_of(run_key: str) -> str:
    """The notes on the settings of a cell's run, which name the search that found them, if there was one."""
    return "\n".join(source.note for source in _run_of(run_key, None).sources.values())


def cell_hash(cell: Cell, split_seed: int | None = None) -> str:
    """The digest in the rows that fill the cell, the same for every seed."""
    return run_of(cell, split_seed).name.cell_hash


def repeats_of(cell: Cell, spec: TableSpec, seeds: int) -> list[tuple[int, int | None]]:
    """The seed and the split of each run of the cell, for seeds 0 .. ``seeds`` - 1; split None is the protocol's own.

    Raises HashbenchError for more repeats than there are splits whose queries searches leave out.
    """
    if spec.repeats == "seeds":
        return [(seed, None) for seed in range(seeds)]
    if seeds > N_SPLITS:
        why = f"a repeat of {spec.name} is a split, and searches leave out the queries of {N_SPLITS} splits"
        raise HashbenchError(f"--seeds {seeds}: {why}: {N_SPLITS} at most")
    protocol = cell.card.protocol(cell.protocol)
    numbers = (nth_seed(protocol, repeat) for repeat in range(seeds))
    return list(enumerate(None if number == protocol.seed else number for number in numbers))


@dataclass(frozen=True)
class CellRuns:
    """The runs that a cell needs. Cells that differ in their metric only share them; ``cell`` is the first of these."""

    cell: Cell
    runs: list[Run]  # one for each repeat; none where the cell cannot be run yet
    unavailable: str | None  # why it cannot be run yet


def cell_runs(spec: TableSpec, seeds: int) -> list[CellRuns]:
    """The runs that the cells of a table need for so many ``seeds``, in order of appearance, each once."""
    cells: dict[str, Cell] = {}
    for cell in spec.cells:
        cells.setdefault(cell.run_key, cell)
    metrics: dict[str, list[str]] = defaultdict(list)  # of the rankings that no histogram keeps
    for cell in spec.cells:
        if cell.evaluation == "asymmetric":
            metrics[cell.run_key].append(cell.metric)
    needed = []
    for cell in cells.values():
        why = why_not_here(cell, spec)
        runs: list[Run] = []
        if why is None:
            runs = [run_of(cell, split).with_seed(seed) for seed, split in repeats_of(cell, spec, seeds)]
        if cell.run_key in metrics:
            runs = [run.with_asymmetric().with_metrics(metrics[cell.run_key]) for run in runs]
        needed.append(CellRuns(cell, runs, why))
    return needed


def select(runs: Sequence[Run], wanted: Iterable[tuple[str, Setting]]) -> list[Run]:
    """The ``runs`` that have each key that is ``wanted`` with one of the values given for it, in their order.

    A key is dataset, protocol, method, seed, or a setting. Raises HashbenchError if no run has the key, the value, or
    all of them together.
    """
    properties = [dict(run.settings) | {name: getattr(run.name, name) for name in NAMES} for run in runs]
    known = {name for has in properties for name in has}
    values: dict[str, list[Setting]] = {}
    for key, value in wanted:
        if key not in known:
            raise unknown("key of --only", key, known)
        if not any(_is(has.get(key), value) for has in properties):
            there = {str(has[key]) for has in properties if key in has}
            raise HashbenchError(f"--only {key}={value}: {unknown(key, str(value), there)}")
        values.setdefault(key, []).append(value)
    selected = [
        run
        for run, has in zip(runs, properties, strict=True)
        if all(any(_is(has.get(key), value) for value in allowed) for key, allowed in values.items())
    ]
    if not selected:
        options = " ".join(f"--only {key}={value}" for key, allowed in values.items() for value in allowed)
        raise HashbenchError(f"{options}: no run has all")
    return selected


def _is(value: object, wanted: Setting) -> bool:
    """Whether a run's property is the wanted one; names are compared as they are spelled in rows.

    >>> _is("talr_ap", "TALR-AP"), _is(0.5, 0.5), _is(1, True), _is(None, "none")
    (True, True, False, False)
    """
    if isinstance(value, str) and isinstance(wanted, str):
        return canonical(value) == canonical(wanted)
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted


RunState = Literal["measured", "failed", "missing"]


def state_of(run: Run, row: Row | None) -> RunState:
    """What a stored ``row`` says of its run; a row without the searches that the run asks for is no result."""
    if row is None or (row.status == "ok" and not run.is_filled_by(row)):
        return "missing"
    return "measured" if row.status == "ok" else "failed"


class Sorted(NamedTuple):
    """Runs by what is stored of them: a measurement, a failure, or nothing."""

    measured: list[Run]
    failed: list[Run]
    missing: list[Run]


def sort_out(runs: Iterable[Run], store: Store) -> Sorted:
    """``runs`` by what ``store`` holds of them, each list in their order."""
    by_state: dict[RunState, list[Run]] = {"measured": [], "failed": [], "missing": []}
    for run in runs:
        row = store.find(run.name.dataset, run.name.protocol, str(run.name))
        by_state[state_of(run, row)].append(run)
    return Sorted(by_state["measured"], by_state["failed"], by_state["missing"])
