"""A metric: what it is, its paper, its cutoffs and parameters, and how it is asked for."""

from collections.abc import Iterator
from typing import Any

from hashbench.cli.show import _layout

CUTOFFS = {"rank": "@100", "radius": "@r2 (Hamming radius 2)", "n_relevant": "@r (rank N+)"}


def describe(name: str) -> dict[str, Any]:
    """What --json prints of the metric called ``name``."""
    from hashbench.metrics import METRICS

    metric = METRICS.get(name)
    return {
        "name": name,
        "summary": metric.summary,
        "paper": metric.paper,
        "of": metric.source.__name__.lower(),
        "cutoffs": list(metric.cutoffs),
        "cutoff_required": metric.cutoff_required,
        "parameters": {key: list(values) for key, values in metric.parameters.items()},
        "maximum": metric.maximum,
    }


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The same as text."""
    examples = [found["name"] + CUTOFFS[kind] for kind in found["cutoffs"]]
    yield from _layout.title(found["name"], "metric", found["summary"])
    yield from _layout.facts(
        {
            "paper": _layout.paper(found["paper"]),
            "computed from": {"histogram": "binary codes", "retrieval": "a search in buckets"}[found["of"]],
            "written": " or ".join([*([] if found["cutoff_required"] else [found["name"]]), *examples]),
            "largest value": found["maximum"] if found["maximum"] != 1 else None,
        }
    )
    parameters = found["parameters"].items()
    yield from _layout.block(
        "parameters, the first value is the default", ((k, ", ".join(values)) for k, values in parameters)
    )
