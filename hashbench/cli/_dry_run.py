"""What ``hashbench train --dry-run`` prints: the settings of a run with their sources."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from hashbench.cli._row_text import split_text
from hashbench.foundation.config import Setting, canonical_json
from hashbench.runs.row import made_by

if TYPE_CHECKING:
    from hashbench.runs.row import Row
    from hashbench.runs.run import Run


def describe(spec: "Run", given: dict[str, Setting], stored: "Row | None", *, as_json: bool) -> None:
    """Prints the run's name, whether it is stored, and all its settings with their sources."""
    settings = spec.sources(given)
    names = {"dataset": spec.name.dataset, "protocol": spec.name.protocol, "method": spec.name.method}
    names |= {"budget": spec.name.budget}
    seeds = {"seed": spec.name.seed, "split_seed": spec.name.split_seed}
    if as_json:
        listed = {key: asdict(found) for key, found in settings.items()}
        typer.echo(
            canonical_json({"run": str(spec.name), "stored": stored is not None, **names, **seeds, "settings": listed})
        )
        return
    is_stored = "no" if stored is None else f"yes, {made_by(stored)}"
    width = max(map(len, settings))
    other_split = {} if spec.name.split_seed is None else {"split": split_text(spec.name.split_seed)}
    for key, text in {
        "run": str(spec.name),
        "stored": is_stored,
        **names,
        "seed": spec.name.seed,
        **other_split,
    }.items():
        typer.echo(f"{key:{width}}  {text}")
    for key, found in settings.items():
        source = found.source if found.recipe is None else f"recipe {found.recipe}"
        typer.echo(f"{key:{width}}  {_text(found.value):14}  {source}")


def _text(value: Setting | None) -> str:
    if value in (None, ""):
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)
