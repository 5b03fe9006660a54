"""A run: its scores, configuration and provenance, and the commands that make it and use it."""

from collections.abc import Iterator
from typing import Any

from hashbench.cli._row_text import distinct_text, split_text
from hashbench.cli._sheet import sheet_of
from hashbench.cli.catalogue import card_of
from hashbench.codes.distinct import DistinctCodes
from hashbench.foundation import paths
from hashbench.foundation.config import all_as_typed, as_typed
from hashbench.foundation.errors import HashbenchError
from hashbench.metrics import shown
from hashbench.runs.command import train_command
from hashbench.runs.row import HEADINGS, IMPORTED, Row
from hashbench.runs.store import Store
from hashbench.showing.sheet import Cell, Grid, Sheet, facts


def run(name: str) -> Sheet:
    store = Store.default()
    row = (line := store.line_named(name)).row()
    folder = store.run_folder(row.run)
    kept = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    commands, why = _commands(row)
    found = {**row.model_dump(by_alias=True), "row": paths.shown(line.path), "folder": paths.shown(folder)}
    found |= {"kept": kept, "commands": commands, "not_again": why}  # why no command trains it today, or null
    title = f"{row.run} (run): {row.method} on {row.dataset} {row.protocol}"
    return sheet_of(title, found, _facts(found), [*_grids(found)], commands)


def _commands(row: Row) -> tuple[list[str], str | None]:
    """The commands that train the run, encode, search and eval, and why it cannot be trained again, if it cannot."""
    why, commands = None, []
    try:
        commands.append(train_command(row, again=row.status == "ok"))  # without it train prints the stored row
    except HashbenchError as error:
        why = str(error)
    if row.is_imported:
        return commands, why
    if row.status == "ok" and "weights" not in row.artefacts:  # a classifier makes weights in place of codes
        commands += [f"hashbench encode {row.run} --out codes.npz"]
        commands += (
            [f"hashbench search {row.run} --out nearest.png"] if row.metrics and _has_images(row.dataset) else []
        )
        commands += ["hashbench eval codes.npz"] if "bits" in row.settings and row.metrics else []
    return commands, why


def _has_images(dataset: str) -> bool:
    """Whether there are images to draw; False if the data set is gone."""
    try:
        return card_of(dataset).kind == "images"
    except HashbenchError:
        return False


def _facts(found: dict[str, Any]) -> dict[str, Cell]:
    code, seconds = found["code"], found["seconds"]
    commit = (code["commit"] or "unknown commit")[:12] + (" with local changes" if code["dirty"] else "")
    made = "elsewhere; imported and scored " if found["budget"] == IMPORTED else ""
    return {
        "status": found["status"] + (f": {found['reason']}" if found["reason"] else ""),
        "settings": all_as_typed(found["settings"]),
        "budget": found["budget"],
        "distinct codes": distinct_text(DistinctCodes(**codes)) if (codes := found["distinct_codes"]) else None,
        "seed": found["seed"],
        "split": split_text(found["split_seed"]),
        "made": f"{made}{found['utc']} by hashbench {code['version']}, {commit}",
        "by": found["maker"],
        "machine": _pairs(found["hardware"]),
        "threads": _pairs(found["threads"] or {}),
        "peak memory": f"{found['peak_memory'] / 2**30:.1f} GiB" if found["peak_memory"] else None,
        "versions": _pairs(found["versions"]),
        "seconds": ", ".join(f"{key} {value:,.1f}" for key, value in seconds.items()) if seconds else "unknown",
        "row": found["row"],
        "again": found["not_again"],
        "kept": f"{found['folder']}: {', '.join(found['kept'])}" if found["kept"] else "no codes and no hasher",
    }


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items() if value is not None)


def _grids(found: dict[str, Any]) -> Iterator[Grid]:
    for search, heading in HEADINGS.items():
        scores = found["searches"].get(search, {})
        yield facts({shown(name): _score(value) for name, value in scores.items()}, f"{heading}scores")
    settings = found["config"].get("settings", {})
    others = {key: as_typed(value) for key, value in sorted(settings.items()) if key not in found["settings"]}
    yield facts(others, "other settings that are not the defaults of the code")
    sources = {key: found[f"{key}_sha256"] for key in ("data", "features", "ids")}
    yield facts({**found["artefacts"], **sources}, "checksums")


def _score(value: dict[str, Any]) -> str:
    if value["mean"] is None:
        return "no mean: no query has a relevant item"
    spread = "" if value["std"] is None else f", standard deviation {value['std']:.4f}"
    empty = f", {value['n_empty']:,} without a relevant item" if value["n_empty"] else ""
    return f"{value['mean']:.4f}{spread} over {value['n_queries']:,} queries{empty}"
