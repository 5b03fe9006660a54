"""What a table needs, as the facts that ``hashbench show`` prints of it."""

from hashbench.cli._terminal import kept
from hashbench.datasets.status import readable
from hashbench.foundation.errors import counted
from hashbench.runs.needs import Need
from hashbench.tables.needs import TableNeeds


def table_facts(needs: TableNeeds) -> dict[str, str]:
    """The facts by their names; what is not here comes with the way to get it. Empty where a table needs none."""
    return {
        "hours": _hours(needs),
        "data sets": "; ".join(_dataset(need) for need in needs.inputs if need.kind == "data set"),
        "weights": "; ".join(_weights(need) for need in needs.inputs if need.kind == "weights"),
        "disk": _disk(needs),
        "memory": "" if needs.peak_memory is None else f"{readable(needs.peak_memory)}, the most of a past run",
    }


def _hours(needs: TableNeeds) -> str:
    if not needs.hours:
        return ""
    parts = [f"{_shown(each.hours)} on {each.device} ({counted(each.n_runs, 'run')})" for each in needs.hours]
    untold = f"; no row tells of {counted(len(needs.unknown), 'run')}" if needs.unknown else ""
    return f"by past rows {', '.join(parts)}{untold}"


def _shown(hours: float) -> str:
    return f"{hours:.1f}" if hours >= 0.05 else "< 0.1"


def _dataset(need: Need) -> str:
    size = "" if need.size_bytes is None else f" {readable(need.size_bytes)}"
    if need.is_here:
        return f"{need.name}{size}, here"
    if need.is_by_hand:
        return f"{need.name}{size}, by hand: {kept(f'hashbench show {need.name}')}"
    return f"{need.name}{size}: {kept(need.remedy)}"


def _weights(need: Need) -> str:
    if need.is_here:
        return f"{need.name}, here"
    if need.is_automatic:
        return f"{need.name}: the first run downloads them"
    if need.is_by_hand:
        checksum = f" ({need.checksum})" if need.checksum else ""
        return f"{need.name}: {need.url}{checksum}: {kept(f'hashbench show {need.name}')}"
    return f"{need.name}: {need.remedy}"


def _disk(needs: TableNeeds) -> str:
    has_features = any(need.kind == "features" for need in needs.inputs)
    what = "data and features" if has_features else "data"
    unsized = [need.name for need in needs.inputs if not need.is_here and need.size_bytes is None]
    parts = [f"{readable(needs.input_bytes)} for {what}"] if needs.input_bytes else []
    if needs.hasher_bytes is None:
        unsized.append("hashers")
    else:
        n_runs = len(needs.runs)
        told = "" if needs.n_of_known_size == n_runs else f" of {needs.n_of_known_size} of {counted(n_runs, 'run')}"
        parts.append(f"{readable(needs.hasher_bytes)} for the hashers{told}")
    return ", ".join([*parts, *([f"{' and '.join(unsized)} of unknown size"] if unsized else [])])
