"""The names that cells use: each one exists in hashbench, or the table's file lists it as still to come."""

from collections.abc import Iterator, Mapping, Sequence

from hashbench.datasets.card import cards, load_card
from hashbench.features import FEATURES, split_checksum
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.methods import METHODS
from hashbench.metrics import METRICS, MetricName
from hashbench.models import MODELS
from hashbench.tables.cell import Cell


def names_of(cell: Cell) -> Iterator[tuple[str, str]]:
    """The (kind, name) pairs that must exist before the cell can be run and scored.

    A protocol is written with its data set, a metric without parameters and cutoff:
    ``("protocol", "cifar10/s1")``, ``("metric", "ap")`` for ``ap(norm=retrieved)@1000``.
    """
    yield "dataset", cell.dataset
    yield "protocol", f"{cell.dataset}/{cell.protocol}"
    yield "method", cell.method
    yield "metric", MetricName.read(cell.metric).metric
    networks = [cell.settings.get("model"), cell.settings.get("features")]
    named = (split_checksum(str(name))[0] for name in networks if name is not None)
    yield from (("model", name) for name in named if name not in FEATURES.names)


def names_to_come(cell: Cell, to_come: Mapping[str, list[str]]) -> list[str]:
    """What does not exist yet of the names that the cell uses, each as ``kind name``."""
    return [f"{kind} {name}" for kind, name in names_of(cell) if name in to_come[kind]]


def check_names(table: str, cells: Sequence[Cell], to_come: Mapping[str, list[str]]) -> None:
    """Raises HashbenchError unless each name that a cell uses exists or is to come, and not both.

    A name to come that no cell uses is refused as well. Imports no method, metric or model.
    """
    known = _known({cell.dataset for cell in cells})
    used = {pair for cell in cells for pair in names_of(cell) if not _comes_with_dataset(pair, to_come)}
    for kind, coming in to_come.items():
        for name in coming:
            if name in known[kind]:
                raise HashbenchError(f"table {table}: {kind} {name!r} exists: take it out of {kind}s_to_come")
            if (kind, name) not in used:
                raise HashbenchError(f"table {table}: no cell uses {kind} {name!r} of {kind}s_to_come")
    for kind, name in sorted(used):
        if name not in known[kind] + to_come[kind]:
            complaint = unknown(kind, name, known[kind] + to_come[kind])
            raise HashbenchError(f"table {table}: {complaint}; one still to come goes into {kind}s_to_come")


def _comes_with_dataset(pair: tuple[str, str], to_come: Mapping[str, list[str]]) -> bool:
    """Whether the pair is a protocol of a data set that is itself to come."""
    kind, name = pair
    return kind == "protocol" and name.partition("/")[0] in to_come["dataset"]


def _known(datasets: set[str]) -> dict[str, list[str]]:
    """The names that exist, by kind; of protocols those of ``datasets``."""
    existing = cards()
    protocols = [f"{name}/{protocol}" for name in datasets & set(existing) for protocol in load_card(name).protocols]
    return {
        "dataset": existing,
        "protocol": protocols,
        "method": METHODS.names,
        "metric": METRICS.names,
        "model": MODELS.names,
    }
