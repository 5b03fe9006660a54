"""What a table needs, as the facts that ``hashbench show`` prints of it."""

from collections.abc import Iterable

from hashbench.foundation.errors import counted
from hashbench.running.datasets.status import readable
from hashbench.running.runs.needs import Need
from hashbench.showing.sheet import Cell, Code
from hashbench.showing.tables.needs import TableNeeds

Spans = tuple[str | Code, ...]


def table_facts(needs: TableNeeds) -> dict[str, Cell]:
    """The facts by their names: what is here, and what is to get with the way to get it."""
    datasets = [need for need in needs.inputs if need.kind == "data set"]
    weights = [need for need in needs.inputs if need.kind == "weights"]
    here: list[Spans] = [(_sized(need),) for need in datasets if need.is_here]
    if n_here := sum(need.is_here for need in weights):
        here.append((f"the weights of {counted(n_here, 'network')}",))
    to_get: list[Spans] = [_dataset(need) for need in datasets if not need.is_here]
    to_get += [_weights(need) for need in weights if not need.is_here]
    return {"here": _joined(here), "to get": _joined(to_get), "disk": _disk(needs)}


def _joined(texts: Iterable[Spans]) -> Cell:
    """The texts with semicolons between them; None without any."""
    spans: list[str | Code] = []
    for text in texts:
        if spans:
            spans.append("; ")
        spans += text
    return tuple(spans) or None


def hours_text(needs: TableNeeds) -> str:
    """The hours on the device that made most of the runs; --json has the others."""
    if not needs.hours:
        return "hours unknown"
    first = needs.hours[0]
    hours = f"{first.hours:.1f}" if first.hours >= 0.05 else "< 0.1"
    if first.n_runs != len(needs.runs):
        return f"{hours} hours for {first.n_runs} of them on {first.device}"
    return f"{hours} hours on {first.device}"


def _sized(need: Need) -> str:
    if need.size_bytes is None:
        return need.name
    return f"{need.name} {readable(need.size_bytes)}"


def _dataset(need: Need) -> Spans:
    if need.is_by_hand:
        return f"{_sized(need)}, by hand: ", Code(f"hashbench show {need.name}")
    return f"{_sized(need)}: ", Code(f"hashbench download {need.name}")


def _weights(need: Need) -> Spans:
    if need.is_automatic:
        return (f"{need.name}: the first run downloads them",)
    if need.is_by_hand:
        return f"{need.name}, by hand: ", Code(f"hashbench show {need.name}")
    return (f"{need.name}: {need.remedy}",)


def _disk(needs: TableNeeds) -> str:
    """The bytes of the inputs and the hashers, and the memory; + where the size of some is unknown."""
    is_more = any(not need.is_here and need.size_bytes is None for need in needs.inputs)
    parts = []
    if needs.input_bytes:
        parts.append(f"{readable(needs.input_bytes)}{'+' * is_more} for the inputs")
    hashers = "hashers of unknown size"
    if needs.hasher_bytes is not None:
        is_more = needs.n_of_known_size < len(needs.runs)
        hashers = f"{readable(needs.hasher_bytes)}{'+' * is_more} for the hashers"
    parts.append(hashers)
    if needs.peak_memory is not None:
        parts.append(f"{readable(needs.peak_memory)} of memory")
    return ", ".join(parts)
