"""The names that a table's cells use: each is in its catalogue, or said to be still to come."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from hashbench.datasets.card import cards, load_card
from hashbench.errors import HashbenchError, unknown
from hashbench.methods import METHODS
from hashbench.metrics import METRICS
from hashbench.metrics._name import read
from hashbench.models import MODELS

if TYPE_CHECKING:
    from hashbench.tables.spec import Cell, TableSpec

# features that no model makes: the items as they are stored
STORED_FEATURES = "pixels"


def names_of(cell: "Cell") -> Iterator[tuple[str, str]]:
    """The (kind, name) pairs that must exist for the cell to be run and scored.

    A protocol is named with its data set, a metric by the stem of its grammar:
    ``("protocol", "cifar10/s1")``, ``("metric", "ap")`` for ``ap(norm=retrieved)@1000``.
    """
    yield "dataset", cell.dataset
    yield "protocol", f"{cell.dataset}/{cell.protocol}"
    yield "method", cell.method
    yield "metric", read(cell.metric).metric
    for key in ("model", "features"):
        name = cell.settings.get(key, STORED_FEATURES)
        if name != STORED_FEATURES:
            yield "model", str(name)


def awaited(cell: "Cell", to_come: Mapping[str, list[str]]) -> list[str]:
    """What the cell waits for, as ``kind name``; empty when everything it names exists."""
    return [f"{kind} {name}" for kind, name in names_of(cell) if name in to_come[kind]]


def check_names(spec: "TableSpec") -> None:
    """Raises HashbenchError unless each name of a cell is in its catalogue or to come, and not in both.

    A name said to be to come that no cell uses is refused as well. Imports no method, metric or model.
    """
    known = _known({cell.dataset for cell in spec.cells})
    used = {pair for cell in spec.cells for pair in names_of(cell) if _stands_alone(pair, spec)}
    for kind, to_come in spec.to_come.items():
        for name in to_come:
            if name in known[kind]:
                raise HashbenchError(f"table {spec.name}: {kind} {name!r} exists: take it out of {kind}s_to_come")
            if (kind, name) not in used:
                raise HashbenchError(f"table {spec.name}: no cell uses {kind} {name!r} of {kind}s_to_come")
    for kind, name in sorted(used):
        if name not in known[kind] + spec.to_come[kind]:
            complaint = unknown(kind, name, known[kind] + spec.to_come[kind])
            raise HashbenchError(f"table {spec.name}: {complaint}; one still to come goes into {kind}s_to_come")


def _stands_alone(pair: tuple[str, str], spec: "TableSpec") -> bool:
    """False for a protocol whose data set is to come: its card will bring it."""
    kind, name = pair
    return kind != "protocol" or name.partition("/")[0] not in spec.to_come["dataset"]


def _known(datasets: set[str]) -> dict[str, list[str]]:
    """What exists of each kind; protocols only of ``datasets``."""
    carded = cards()
    return {
        "dataset": carded,
        "protocol": [f"{name}/{protocol}" for name in datasets & set(carded) for protocol in load_card(name).protocols],
        "method": METHODS.names,
        "metric": METRICS.names,
        "model": MODELS.names,
    }
