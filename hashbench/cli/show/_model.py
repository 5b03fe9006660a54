"""A model: what network it is, and the official weights if it has some."""

from collections.abc import Iterator
from typing import Any

from hashbench.cli.show import _layout
from hashbench.foundation import paths


def describe(name: str) -> dict[str, Any]:
    """What --json prints of the model called ``name``."""
    from hashbench.models import MODELS

    model = MODELS.get(name)
    weights = model.pretrained.weights if model.pretrained else None
    return {
        "name": name,
        "summary": model.summary,
        "weights": weights.url if weights else None,
        "weights_file": str(paths.weights() / weights.file) if weights else None,
        "weights_here": (paths.weights() / weights.file).is_file() if weights else None,
    }


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The same as text."""
    yield from _layout.title(found["name"], "model", found["summary"])
    missing = "" if found["weights_here"] else " (not here)"
    yield from _layout.facts(
        {
            "weights": found["weights"] or "random: it is trained from scratch",
            "file": f"{found['weights_file']}{missing}" if found["weights"] else None,
        }
    )
    command = f"hashbench train METHOD DATASET --protocol PROTOCOL --bits BITS --model {found['name']}"
    features = [f"hashbench features DATASET --model {found['name']}"] if found["weights"] else []
    yield from _layout.commands([command, *features])
