"""Rows and settings of runs, as ``train``, ``pretrain`` and ``results import`` print them."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from hashbench.cli._command import Answer
from hashbench.foundation import paths
from hashbench.foundation.config import as_typed
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.progress import note
from hashbench.running.runs.diff import diff_rerun
from hashbench.running.runs.needs import Need, lines_of, missing_inputs
from hashbench.running.runs.row import Row, made_by, values_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.settings import Sourced
from hashbench.running.runs.store import Store
from hashbench.scoring.codes.distinct import DistinctCodes
from hashbench.scoring.metrics import MetricValue, shown
from hashbench.showing.sheet import Cell, Code, Grid, Number, Sheet, facts


def answer_of_row(row: Row, stored: Row | None, store: Store, after: Sequence[str] = ()) -> Answer:
    """The row; if it was trained again, beside the ``stored`` one. The command fails if the run has failed."""
    stays = "" if stored is None else " (as it was)"
    place = (Code(paths.shown(store.rows_path(row.dataset, row.protocol))), stays)
    grids = [facts({"run": (Code(row.run),), "row": place})]
    if stored is None:
        grids.append(Grid([(shown(name), _mean(value)) for name, value in row.all_metrics().items()]))
    else:
        grids += _compared(row, stored)
    if row.distinct_codes is not None:
        grids.append(facts({"distinct codes": distinct_text(row.distinct_codes)}))

    def values() -> dict[str, Any]:
        if stored is None:
            return values_of(row)
        named = {"again": row.model_dump(by_alias=True), "stored": stored.model_dump(by_alias=True)}
        return {**named, **asdict(diff_rerun(row, stored))}

    error = None
    if row.status == "failed":
        error = HashbenchError(f"{row.run}: {row.reason}")
    return Answer(Sheet(grids=grids, values=values), after, error)


def sheet_of_settings(run: Run, stored: Row | None, *, own_weights: bool = False) -> Sheet:
    """The run's name, whether it is stored, and all its settings with their sources; notes say what is not here.

    With ``own_weights`` the user named the file of the weights that the network starts from.
    """
    name = run.name
    settings = run.sources
    missing: list[Need] = []
    if stored is None:
        missing = missing_inputs([run], weights=not own_weights)[str(name)]
    names = {"dataset": name.dataset, "protocol": name.protocol, "method": name.method, "budget": name.budget}
    known: dict[str, Cell] = {
        "run": (Code(str(name)),),
        "stored": "no" if stored is None else f"yes, {made_by(stored)}",
    }
    known |= {**names, "seed": str(name.seed), "split": split_text(name.split_seed)}
    rows = [(key, as_typed(setting.value), _source(setting)) for key, setting in settings.items()]

    def values() -> dict[str, Any]:
        seeds = {"seed": name.seed, "split_seed": name.split_seed}
        of_run = {"run": str(name), "stored": stored is not None, **names, **seeds}
        sources = {key: asdict(setting) for key, setting in settings.items()}
        return {**of_run, "missing": [asdict(need) for need in missing], "settings": sources}

    if missing:
        for line in lines_of(missing):
            note(line)
    return Sheet(grids=[facts(known), Grid(rows, ["setting", "value", "source"])], values=values)


def _source(setting: Sourced) -> str:
    if setting.recipe is not None:
        return f"recipe {setting.recipe}"
    if setting.source == "default" and setting.note:
        return f"default: {setting.note}"
    return setting.source


def distinct_text(codes: DistinctCodes) -> str:
    return f"{codes.queries:,} of the queries, {codes.database:,} of the database"


def split_text(seed: int | None) -> str | None:
    """Which split a run is on; None for the protocol's own."""
    if seed is None:
        return None
    return f"drawn with seed {seed}, not the protocol's own"


def _compared(row: Row, stored: Row) -> Iterator[Grid]:
    """The artefacts of a run that was trained again, and its scores beside the stored ones."""
    compared = diff_rerun(row, stored)
    before = stored.all_metrics()
    known: dict[str, Cell] = {}
    for artefact, is_equal in compared.equal.items():
        known[artefact] = "equal" if is_equal else "not equal to the stored one"
    if compared.likely_cause is not None:
        known["likely cause"] = printable(compared.likely_cause, 300)
    yield facts(known)
    rows: list[tuple[Cell, ...]] = []
    for name, value in row.all_metrics().items():
        text = "not in the stored row"
        if name in before:
            text = "equal"
            if (difference := compared.differences[name]) is None:
                text = "one of them has no mean"
            elif difference:
                text = f"stored {before[name].mean:.4f}, differs by {difference:+.2g}"
        rows.append((shown(name), _mean(value), text))
    yield Grid(rows)


def _mean(value: MetricValue) -> Number | None:
    return None if value.mean is None else Number(value.mean)
