"""A run: its scores, configuration and provenance, and the commands that make it and use it."""

from collections.abc import Iterator, Mapping
from typing import Any

from hashbench.cli._row_text import distinct_text, split_text
from hashbench.cli._sheet import sheet_of
from hashbench.foundation import paths
from hashbench.foundation.config import all_as_typed, as_typed
from hashbench.foundation.errors import HashbenchError
from hashbench.running.runs.command import train_command
from hashbench.running.runs.row import HEADINGS, Row
from hashbench.running.runs.store import Store
from hashbench.scoring.metrics import MetricValue, shown
from hashbench.showing.sheet import Cell, Grid, Sheet, facts


def run(name: str) -> Sheet:
    store = Store.default()
    line = store.line_named(name)
    row = line.row()
    folder = store.run_folder(row.run)
    kept = []
    if folder.is_dir():
        kept = sorted(path.name for path in folder.iterdir())
    commands, why = _commands(row)
    values = {**row.model_dump(by_alias=True), "row": paths.shown(line.path), "folder": paths.shown(folder)}
    values |= {"kept": kept, "commands": commands, "not_again": why}  # why no command trains it today, or null
    title = f"{row.run} (run): {row.method} on {row.dataset} {row.protocol}"
    return sheet_of(title, values, _facts(row, values), [*_grids(row)], commands)


def _commands(row: Row) -> tuple[list[str], str | None]:
    """The commands that train the run, encode, search and eval, and why it cannot be trained again, if it cannot."""
    why = None
    commands = []
    try:
        commands.append(train_command(row, again=row.status == "ok"))  # without it train prints the stored row
    except HashbenchError as error:
        why = str(error)
    if row.is_imported:
        return commands, why
    if row.status == "ok" and "weights" not in row.artefacts:  # a classifier makes weights in place of codes
        commands += [f"hashbench encode {row.run} --out codes.npz"]
        if row.metrics and "bits" in row.settings:
            commands += [f"hashbench search {row.run}", "hashbench eval codes.npz"]
    return commands, why


def _facts(row: Row, values: dict[str, Any]) -> dict[str, Cell]:
    """The facts of the row; ``values`` has those of its place and its folder too."""
    seconds: dict[str, float] = values["seconds"] or {}
    known: dict[str, Cell] = {
        "status": ": ".join(filter(None, [row.status, row.reason])),
        "settings": all_as_typed(row.settings),
        "budget": row.budget,
        "distinct codes": None,
        "seed": row.seed,
        "split": split_text(row.split_seed),
        "made": f"{row.utc} by hashbench {row.code.version}, {(row.code.commit or 'unknown commit')[:12]}",
        "by": row.maker,
        "machine": _pairs(row.hardware),
        "threads": _pairs(row.threads or {}),
        "peak memory": None,
        "versions": _pairs(row.versions),
        "seconds": ", ".join(f"{key} {value:,.1f}" for key, value in seconds.items()) or "unknown",
        "row": values["row"],
        "again": values["not_again"],
        "kept": "no codes and no hasher",
    }
    if row.code.dirty:
        known["made"] = f"{known['made']} with local changes"
    if row.is_imported:
        known["made"] = f"elsewhere; imported and scored {known['made']}"
    if row.distinct_codes is not None:
        known["distinct codes"] = distinct_text(row.distinct_codes)
    if row.peak_memory:
        known["peak memory"] = f"{row.peak_memory / 2**30:.1f} GiB"
    if values["kept"]:
        known["kept"] = f"{values['folder']}: {', '.join(values['kept'])}"
    return known


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items() if value is not None)


def _grids(row: Row) -> Iterator[Grid]:
    for search, heading in HEADINGS.items():
        scores = row.searches.get(search, {})
        yield facts({shown(name): _score(score) for name, score in scores.items()}, f"{heading}scores")
    settings = row.config.get("settings", {})
    others = {key: as_typed(value) for key, value in sorted(settings.items()) if key not in row.settings}
    yield facts(others, "other settings that are not the defaults of the code")
    checksums: dict[str, Cell] = dict(row.artefacts.items())
    checksums |= {"data": row.data_sha256, "features": row.features_sha256, "ids": row.ids_sha256}
    yield facts(checksums, "checksums")


def _score(value: MetricValue) -> str:
    if value.mean is None:
        return "no mean: no query has a relevant item"
    text = f"{value.mean:.4f}"
    if value.std is not None:
        text += f", standard deviation {value.std:.4f}"
    text += f" over {value.n_queries:,} queries"
    if value.n_empty:
        text += f", {value.n_empty:,} without a relevant item"
    return text
