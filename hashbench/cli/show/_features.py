"""Features: what they are, and the command that extracts them."""

from collections.abc import Iterator
from typing import Any

from hashbench.cli.show import _layout


def describe(name: str) -> dict[str, Any]:
    """What --json prints of the features called ``name``."""
    from hashbench.features import FEATURES

    return {"name": name, "summary": FEATURES.get(name).summary}


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The same as text."""
    yield from _layout.title(found["name"], "features", found["summary"])
    yield from _layout.commands(
        [
            f"hashbench features DATASET --model {found['name']}",
            f"hashbench train METHOD DATASET --protocol PROTOCOL --bits BITS --set features={found['name']}",
        ]
    )
