"""A run: its scores, configuration and provenance, and the commands that make it and use it."""

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hashbench import paths
from hashbench.cli.show import _layout

if TYPE_CHECKING:
    from hashbench.config import Setting
    from hashbench.runs.spec import RunSpec
    from hashbench.runs.store import Row

OPTIONS = {"bits": "--bits", "model": "--model"}  # settings that have an option of their own


def describe(name: str) -> dict[str, Any]:
    """What --json prints of the run called ``name``: its row, and the commands."""
    from hashbench.runs.store import Store

    store = Store.default()
    row = store.named(name)
    folder = store.run_folder(row.run)
    kept = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return {
        **row.model_dump(by_alias=True),
        "row": paths.shown(store.row_path(row.dataset, row.protocol, row.run)),
        "folder": paths.shown(folder),
        "kept": kept,
        "is_current": _is_current(row),
        "commands": _commands(row, kept),
    }


def _given(row: "Row") -> "dict[str, Setting]":
    """The settings that name the run of ``row`` today: its own, and those whose usual values have changed since."""
    from hashbench.errors import HashbenchError
    from hashbench.runs.spec import of_row

    try:
        today, then = _today(row, row.settings).settings.model_dump(), of_row(row).settings.model_dump()
    except HashbenchError:
        return row.settings
    changed = {key: value for key, value in then.items() if value != today.get(key) and value is not None}
    return {**row.settings, **changed}


def _is_current(row: "Row") -> bool:
    """Whether its command makes the run of ``row`` today; not where a card or a base's settings have changed since."""
    from hashbench.errors import HashbenchError

    try:
        return _today(row, _given(row)).run == row.run
    except HashbenchError:
        return False


def _today(row: "Row", settings: "Mapping[str, Setting]") -> "RunSpec":
    from hashbench.runs.spec import resolve

    return resolve(row.dataset, row.protocol, row.method, settings, seed=row.seed, budget=row.budget)


def _commands(row: "Row", kept: list[str]) -> list[str]:
    """Train, encode, search and eval; training again comes first where no hasher is kept."""
    has_hasher = any(name.startswith("hasher.") for name in kept)
    train = train_command(row)
    uses = [f"hashbench encode {row.run} --out codes.npz", f"hashbench search {row.run} --out nearest.png"]
    is_binary = "bits" in row.settings
    return [
        *([train] if row.status == "failed" or has_hasher else [f"{train} --again"]),
        *(uses if row.status == "ok" else []),
        *(["hashbench eval codes.npz"] if row.status == "ok" and is_binary else []),
    ]


def train_command(row: "Row") -> str:
    """The command that makes the run of ``row``."""
    from hashbench.runs import hyperparameters

    words = ["hashbench", "train", row.method, row.dataset, "--protocol", row.protocol]
    for key, value in _given(row).items():
        text = _layout.setting(value)
        words += [OPTIONS[key], text] if key in OPTIONS else ["--set", f"{key}={text}"]
    if row.budget != hyperparameters.load(row.method).budget(None):
        words += ["--budget", row.budget]
    return shlex.join([*words, *(["--seed", str(row.seed)] if row.seed else [])])


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The same as text."""
    yield from _layout.title(found["run"], "run", f"{found['method']} on {found['dataset']} {found['protocol']}")
    code, seconds = found["code"], found["seconds"]
    commit = (code["commit"] or "unknown commit")[:12] + (" with local changes" if code["dirty"] else "")
    yield from _layout.facts(
        {
            "status": found["status"] + (f": {found['reason']}" if found["reason"] else ""),
            "settings": _layout.settings(found["settings"]),
            "budget": found["budget"],
            "seed": found["seed"],
            "made": f"{found['utc']} by hashbench {code['version']}, {commit}",
            "machine": ", ".join(f"{key} {value}" for key, value in found["hardware"].items() if value is not None),
            "versions": ", ".join(f"{key} {value}" for key, value in found["versions"].items() if value is not None),
            "seconds": ", ".join(f"{key} {value:,.1f}" for key, value in seconds.items()) if seconds else "unknown",
            "row": found["row"],
            "today": None
            if found["is_current"]
            else "this command makes another run: what decides it has changed since",
            "kept": f"{found['folder']}: {', '.join(found['kept'])}" if found["kept"] else "no codes and no hasher",
        }
    )
    searches = (("", "metrics"), ("weighted: ", "metrics_weighted"), ("among the queries: ", "metrics_of_test"))
    for heading, key in searches:
        yield from _layout.block(f"{heading}scores", ((name, _score(value)) for name, value in found[key].items()))
    values = {key: value for key, value in found["config"].get("settings", {}).items() if key not in found["settings"]}
    others = ((key, _layout.setting(value)) for key, value in sorted(values.items()))
    yield from _layout.block("other settings that are not the defaults of the code", others)
    checksums = {key: value for key, value in found.items() if key.endswith("_sha256") and value is not None}
    yield from _layout.block("checksums", ((key.removesuffix("_sha256"), value) for key, value in checksums.items()))
    yield from _layout.commands(found["commands"])


def _score(value: dict[str, Any]) -> str:
    if value["mean"] is None:
        return "no mean: no query has a relevant item"
    spread = "" if value["std"] is None else f", standard deviation {value['std']:.4f}"
    empty = f", {value['n_empty']:,} without a relevant item" if value["n_empty"] else ""
    return f"{value['mean']:.4f}{spread} over {value['n_queries']:,} queries{empty}"
