"""The footnotes that say how the measured values of a table were made: processors, networks, splits, budgets, code."""

from collections import Counter
from collections.abc import Iterator

from hashbench.contract import PIXELS
from hashbench.runs.row import Row, processor_of
from hashbench.tables.table import Table


def footnotes(table: Table) -> tuple[str, ...]:
    """Processors, networks and features by method, data, splits, budgets, and uncommitted code of what is measured."""
    found = {row.run: row for measured in table.measured for row in measured.rows}
    rows = list(found.values())
    return (processors(table), _networks(rows), _splits(rows), *_uncommitted(rows)) if rows else ()


def processors(table: Table) -> str:
    """The processors of the runs, and how many cells mix runs of several; empty where nothing is measured."""
    runs = {row.run: processor_of(row) for measured in table.measured for row in measured.rows}
    named = [f"{name} ({n:,} of the runs)" for name, n in Counter(runs.values()).most_common()]
    if len(named) < 2:
        return f"Processor: {runs.popitem()[1]}." if runs else ""
    n_mixed = sum(measured.is_mixed for measured in table.measured)
    return f"Processors: {', '.join(named)}; {n_mixed} of {table.n_measured} cells mix rows of several."


def _networks(rows: list[Row]) -> str:
    """The networks and features; of several, the methods that have each, or where that is all, the data sets."""
    found = sorted({network_of(row) for row in rows})
    if len(found) == 1:
        return f"Network or features: {found[0]}."
    for key in ("method", "dataset"):
        of = {name: sorted({getattr(row, key) for row in rows if network_of(row) == name}) for name in found}
        if any(each != of[found[0]] for each in of.values()):
            named = [f"{name} ({', '.join(each)})" for name, each in of.items()]
            return f"Networks and features: {'; '.join(named)}."
    return f"Networks and features: {', '.join(found)}."


def network_of(row: Row) -> str:
    """The network and the features that it is given, or the features of a method without a network."""
    settings = row.config["settings"]
    model, features = settings.get("model"), settings.get("features")
    if model is None:
        return str(features or PIXELS)
    return str(model) if features in (None, PIXELS) else f"{model} on {features}"


def _splits(rows: list[Row]) -> str:
    """The data sets with their protocols, the seeds of other splits than the protocols' own, and the budgets."""
    data = dict.fromkeys(f"{row.dataset} {row.protocol}" for row in rows)
    seeds = sorted({row.split_seed for row in rows if row.split_seed is not None})
    others = f", and those of the seeds {', '.join(map(str, seeds))}" if seeds else ""
    budgets = ", ".join(sorted({row.budget for row in rows}))
    return f"Data: {', '.join(data)}, the split of the protocol{others}. Budget: {budgets}."


def _uncommitted(rows: list[Row]) -> Iterator[str]:
    """How many runs no commit describes; nothing where each has one."""
    if dirty := [row for row in rows if row.code.dirty]:
        commits = ", ".join(sorted({(row.code.commit or "unknown")[:10] for row in dirty}))
        yield f"{len(dirty)} of {len(rows)} runs are of code with changes that are not committed, after {commits}."
    if unknown := sum(row.code.commit is None for row in rows):
        yield f"The commit of the code is not known of {unknown} of {len(rows)} runs."
