"""New rows beside the reference rows of the same task, as Markdown that can be posted as a comment."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from hashbench.foundation.errors import counted
from hashbench.runs.row import Row, processor_of
from hashbench.tables.render_markdown import escape

REFERENCES = ("itq", "random_ranking", "classifier_codes")


def markdown(rows: Sequence[Row], stored: Iterable[Row]) -> str:
    """A line for each of the ``rows``, its first metric, and how much that is above the ``stored`` references'."""
    known = [row for row in stored if row.method in REFERENCES and row.status == "ok"]
    lines = [
        "| run | by | on | metric | new | " + " | ".join(f"new - {name}" for name in REFERENCES) + " |",
        "| --- | --- | --- | --- | ---: | " + " | ".join("---" for _ in REFERENCES) + " |",
    ]
    return "\n".join([*lines, *(_line(row, known) for row in rows)])


def _line(row: Row, known: Sequence[Row]) -> str:
    metric, new = next(((name, value.mean) for name, value in row.metrics.items()), ("none", None))
    cells = [row.run, row.maker or "unknown", processor_of(row), metric, "none" if new is None else f"{new:.4f}"]
    cells += ["; ".join(_differences(row, metric, new, name, known)) for name in REFERENCES]
    return f"| {' | '.join(_text(cell) for cell in cells)} |"


def _differences(row: Row, metric: str, new: float | None, method: str, known: Sequence[Row]) -> Iterator[str]:
    """A text for each kind of features of the reference; codes made elsewhere do not say which are theirs."""
    found: dict[str, list[float]] = {}
    for each in known:
        value = each.metrics.get(metric)
        if each.method == method and _task(each) == _task(row) and value is not None and value.mean is not None:
            found.setdefault(_features(each), []).append(value.mean)
    for features, means in sorted(found.items()):
        if new is not None and (row.is_imported or features == _features(row)):
            seeds = counted(len(means), "row")
            yield f"{new - fmean(means):+.4f} ({fmean(means):.4f}, {seeds}, {features})"


def _task(row: Row) -> tuple[object, ...]:
    return row.dataset, row.protocol, row.split_seed, row.config["settings"].get("bits")


def _features(row: Row) -> str:
    return str(row.config["settings"].get("features", "pixels"))


def _text(cell: str) -> str:
    """A cell in which nobody is addressed and nothing is a link."""
    return escape(cell).replace("@", "&#64;").replace("://", "&#58;//").replace("[", r"\[")
